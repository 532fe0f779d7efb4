//! Streams that are copied whole.
//!
//! Lives here: entries, gaps, groups, pending lists, and which streams are meant. Not here: importing more than
//! once (`again.rs`).

use crate::scene::{Scene, Side, of_group, picture, report};
use crate::support::{Pass, Reply, between};

/// A stream `orders` with entries of all bytes, gaps, and groups at several places.
fn fill<T: Side>(scene: &Scene<T>) {
    let source = &scene.source;
    for id in 1..=9 {
        let words: [&[u8]; 7] =
            [b"XADD", b"orders", &[b'0' + id, b'-', b'1'], b"\x00\xff\r\n", b"", b"twice", &[id, 0x80]];
        let words = [&words[..], &[b"twice", b"\xf0\x9f\x90\xa6"]].concat();
        assert!(matches!(source.words(&words), Reply::Text(_)));
    }
    for command in [
        "XGROUP CREATE orders billing 0",
        "XGROUP CREATE orders late $",
        "XGROUP CREATE orders middle 4-1 ENTRIESREAD 4",
        "XREADGROUP GROUP billing one COUNT 4 STREAMS orders >",
        "XREADGROUP GROUP billing two COUNT 3 STREAMS orders >",
        "XREADGROUP GROUP middle one COUNT 1 STREAMS orders >",
        "XGROUP CREATECONSUMER orders billing idler",
        "XACK orders billing 2-1",
        "XCLAIM orders billing two 0 4-1 IDLE 6030000 RETRYCOUNT 7 JUSTID",
        "XCLAIM orders billing one 0 1-1 IDLE 630000 RETRYCOUNT 2 JUSTID",
        "XDEL orders 3-1 8-1 9-1",
    ] {
        source.done(command);
    }
}

#[test]
fn entries_groups_and_pending_lists_arrive_as_they_are() {
    arrives_as_it_is(&Scene::start());
}

#[test]
fn they_arrive_on_a_redis_too() {
    arrives_as_it_is(&Scene::between_redises());
}

fn arrives_as_it_is<T: Side>(scene: &Scene<T>) {
    fill(scene);
    let before = picture(&scene.source, "orders");
    let report = scene.whole("orders");
    assert_eq!(picture(&scene.source, "orders"), before, "nothing changes on the source");
    // The one line whose entry was deleted cannot be made anywhere.
    let is_gone = |line: &String| line.starts_with("group billing 3-1 one");
    assert!(before.iter().any(is_gone));
    let wanted: Vec<String> = before
        .into_iter()
        .filter(|line| !is_gone(line))
        .map(|line| line.replace(r#"group billing ["6""#, r#"group billing ["5""#))
        .map(|line| line.replace("group billing consumer one 2", "group billing consumer one 1"))
        .collect();
    assert_eq!(picture(&scene.target, "orders"), wanted);
    assert!(wanted.iter().any(|line| line == "group billing 4-1 two 100 min 7"), "{wanted:?}");
    assert_eq!((&report["state"], &report["copied"]), (&"whole".into(), &6.into()));
    let count = |name| of_group(&report, name);
    assert_eq!((count("consumers"), count("pending"), count("claimed"), count("gone")), (3, 6, 5, 1));
}

#[test]
fn a_dry_run_changes_nothing() {
    let scene = Scene::start();
    fill(&scene);
    let before = picture(&scene.source, "orders");
    let said = report(&scene.import(&["--dry-run"]), 0, "orders");
    assert_eq!((&said["state"], &said["copied"]), (&"possible".into(), &6.into()));
    assert_eq!((of_group(&said, "claimed"), of_group(&said, "pending")), (6, 6));
    assert_eq!(scene.target.done("DBSIZE"), Reply::Number(0));
    scene.whole("orders");
    let (copied, added) = (picture(&scene.target, "orders"), scene.source.done("XADD orders 20-1 a b"));
    assert_eq!(added.text(), "20-1");
    scene.source.done("XREADGROUP GROUP late one STREAMS orders >");
    let said = report(&scene.import(&["--dry-run"]), 0, "orders");
    assert_eq!((&said["found"], &said["copied"]), (&6.into(), &1.into()));
    assert_eq!(picture(&scene.target, "orders"), copied);
    assert_ne!(picture(&scene.source, "orders"), before);
}

#[test]
fn a_stream_without_entries_keeps_its_last_id_and_its_groups() {
    let scene = Scene::start();
    for command in [
        "XADD emptied 5-5 a b",
        "XDEL emptied 5-5",
        "XGROUP CREATE waiting readers 0 MKSTREAM",
        "XGROUP CREATE bare readers 0 MKSTREAM",
        "XGROUP DESTROY bare readers",
    ] {
        scene.source.done(command);
    }
    for stream in ["emptied", "waiting", "bare"] {
        scene.whole(stream);
        scene.assert_alike(stream);
    }
}

#[test]
fn many_small_and_some_large_entries_arrive() {
    let scene = Scene::start();
    let sizes = (0..1_200_usize).map(|at| if at % 300 == 7 { 255 << 10 } else { at });
    let add = |(at, size): (usize, usize)| {
        [b"XADD".to_vec(), b"s".to_vec(), format!("{}-0", at + 1).into(), b"f".to_vec(), vec![b'x'; size]]
            .to_vec()
    };
    scene.source.all(&sizes.enumerate().map(add).collect::<Vec<_>>());
    let report = scene.whole("s");
    assert_eq!(report["copied"], 1_200);
    for at in 0..12 {
        let range = format!("XRANGE s {}-0 {}-0", at * 100 + 1, at * 100 + 100);
        assert!(scene.target.done(&range) == scene.source.done(&range), "the entries differ: {range}");
    }
}

#[test]
fn only_the_streams_that_are_named_are_copied() {
    let scene = Scene::start();
    for command in ["XADD a:1 1-1 f v", "XADD a:2 1-1 f v", "XADD b:1 1-1 f v", "XADD c 1-1 f v", "SET a:3 v"]
    {
        scene.source.done(command);
    }
    let ended = scene.import(&["--stream", "a:*", "--stream", "c", "--stream", "z*"]);
    report(&ended, 0, "a:1");
    assert!(ended.stderr.contains("no stream is met by z*"), "{ended:?}");
    let mut keys: Vec<String> = scene.target.done("KEYS *").list().iter().map(Reply::text).collect();
    keys.sort();
    assert_eq!(keys, ["a:1", "a:2", "c"]);
    for (name, why) in [("a:3", "a:3 is a string, not a stream"), ("nowhere", "there is no stream nowhere")] {
        let ended = scene.import(&["--stream", name]);
        assert_eq!(ended.code, Some(1));
        assert!(ended.stderr.contains(why), "{ended:?}");
    }
}

/// What servers before 7.0 do not tell has other names in these answers.
fn tells_little(answer: &mut [u8]) {
    for name in ["entries-added", "max-deleted-entry-id", "entries-read", "recorded-first-entry-id"] {
        while let Some(at) = answer.windows(name.len()).position(|part| part == name.as_bytes()) {
            answer[at] = b'x';
        }
    }
}

#[test]
fn an_old_server_tells_less_and_is_copied_all_the_same() {
    let scene = Scene::start();
    fill(&scene);
    scene.source.done("SET other v");
    let old = between(
        &scene.source.place(),
        |sent| {
            let text = String::from_utf8_lossy(sent).to_uppercase();
            let is_new = text.contains("SCAN") && text.contains("TYPE") || text.contains("\r\n(");
            if is_new { Pass::Instead(b"-ERR syntax error\r\n".to_vec()) } else { Pass::On }
        },
        tells_little,
    );
    let said = report(&scene.import_by(&old, &scene.target.place(), &[]), 0, "orders");
    assert_eq!((of_group(&said, "claimed"), of_group(&said, "gone")), (5, 1));
    let told = |picture: Vec<String>| -> Vec<String> {
        let is_told = |line: &String| {
            line.starts_with("last-gen") || line.contains(" min ") || line.starts_with("List")
        };
        picture.into_iter().filter(is_told).filter(|line| !line.contains(" 3-1 ")).collect()
    };
    let found = told(picture(&scene.target, "orders"));
    assert_eq!(found, told(picture(&scene.source, "orders")));
    assert_eq!(found.len(), 13);
}
