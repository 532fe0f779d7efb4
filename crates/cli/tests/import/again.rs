//! Importing more than once.
//!
//! Lives here: going on where an import was interrupted, bringing along what has changed since, and what somebody
//! did on the target meanwhile. Not here: a first import (`whole.rs`).

use std::process::Stdio;
use std::sync::mpsc;

use crate::scene::{Scene, Side, of_group, picture, report};
use crate::support::{Pass, between, naven};

/// So many entries that each is read in several pages.
const ENTRIES: usize = 3_000;

/// A stream `s` of many entries, all of them pending for two consumers.
fn fill<T: Side>(scene: &Scene<T>) {
    let add =
        |at| [b"XADD".to_vec(), b"s".to_vec(), format!("{at}-0").into(), b"f".to_vec(), vec![b'x'; 100]];
    scene.source.all(&(1..=ENTRIES).map(|at| add(at).to_vec()).collect::<Vec<_>>());
    for command in [
        "XGROUP CREATE s g 0",
        "XREADGROUP GROUP g one COUNT 1600 STREAMS s >",
        "XREADGROUP GROUP g two COUNT 1300 STREAMS s >",
    ] {
        scene.source.done(command);
    }
}

/// Cuts a connection behind the `nth` place of `word`.
fn cut_at(word: &'static str, nth: usize) -> impl FnMut(&[u8]) -> Pass + Send + 'static {
    let mut seen = 0;
    move |sent| {
        for (at, part) in sent.windows(word.len()).enumerate() {
            if part == word.as_bytes() {
                seen += 1;
                if seen == nth {
                    return Pass::Cut(at);
                }
            }
        }
        Pass::On
    }
}

/// A count that what was on its way when a connection broke may still change, once it stands still.
fn settled(count: impl Fn() -> i64) -> i64 {
    let mut there = -1;
    loop {
        let now = count();
        if now == there {
            return there;
        }
        there = now;
        std::thread::sleep(std::time::Duration::from_millis(300));
    }
}

#[test]
fn an_import_that_was_cut_goes_on_behind_the_last_entry() {
    let scene = Scene::start();
    fill(&scene);
    let cut = between(&scene.target.place(), cut_at("XADD", 1_000), |_| {});
    let ended = scene.import_by(&scene.source.place(), &cut, &[]);
    assert_eq!(ended.code, Some(1));
    for part in ["stream s", "target 127.0.0.1", "XADD", "run it again"] {
        assert!(ended.stderr.contains(part), "{part}: {ended:?}");
    }
    let there = settled(|| scene.target.done("XLEN s").number());
    assert!((900..1_000).contains(&there), "{there} entries arrived");
    let report = scene.whole("s");
    assert_eq!((&report["found"], &report["copied"]), (&there.into(), &(ENTRIES as i64 - there).into()));
    scene.assert_alike("s");
}

#[test]
fn a_pending_list_that_was_cut_is_made_whole() {
    let scene = Scene::start();
    fill(&scene);
    let cut = between(&scene.target.place(), cut_at("XCLAIM", 1_500), |_| {});
    assert_eq!(scene.import_by(&scene.source.place(), &cut, &[]).code, Some(1));
    let group = |name: &str| scene.target.done("XINFO GROUPS s").list()[0].field(name).clone();
    let there = settled(|| group("pending").number());
    assert!((1_000..1_500).contains(&there), "{there} lines arrived");
    // Nothing comes twice to a consumer that begins too early.
    assert_eq!(group("last-delivered-id").text(), "2900-0");
    let report = scene.whole("s");
    assert_eq!((of_group(&report, "claimed"), of_group(&report, "leftOut")), (2_900 - there as u64, 0));
    scene.assert_alike("s");
}

/// Starts an import, ends its process at the `nth` place of `word`, and looks at what has arrived.
fn killed_at(scene: &Scene, word: &'static str, nth: usize) {
    let (here, reached) = mpsc::channel();
    let (end, ended) = mpsc::channel::<()>();
    let mut cut = cut_at(word, nth);
    let held = between(
        &scene.target.place(),
        move |sent| {
            let pass = cut(sent);
            if matches!(pass, Pass::Cut(_)) {
                // Nothing more passes before the process is gone.
                here.send(()).expect("the test waits for it");
                ended.recv().expect("the test ends it");
            }
            pass
        },
        |_| {},
    );
    let mut import = naven();
    import.args(["import", &scene.source.url(), "--to", &scene.target.address(&held)]);
    let mut import = import.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("naven starts");
    reached.recv().expect("the import comes so far");
    import.kill().expect("it is there to be killed");
    assert_eq!(import.wait().expect("a killed process ends").code(), None);
    end.send(()).expect("the go-between waits for it");
}

#[test]
fn an_import_that_is_killed_among_entries_goes_on_behind_the_last() {
    let scene = Scene::start();
    fill(&scene);
    killed_at(&scene, "XADD", 1_500);
    let there = settled(|| scene.target.done("XLEN s").number());
    assert!((1_200..1_500).contains(&there), "{there} entries arrived");
    let report = scene.whole("s");
    assert_eq!((&report["found"], &report["copied"]), (&there.into(), &(ENTRIES as i64 - there).into()));
    assert_eq!((of_group(&report, "claimed"), of_group(&report, "leftOut")), (2_900, 0));
    scene.assert_alike("s");
}

#[test]
fn an_import_that_is_killed_in_a_pending_list_completes_it() {
    let scene = Scene::start();
    fill(&scene);
    killed_at(&scene, "XCLAIM", 1_500);
    let there = settled(|| scene.target.done("XINFO GROUPS s").list()[0].field("pending").number());
    assert!((1_000..1_500).contains(&there), "{there} lines arrived");
    let report = scene.whole("s");
    assert_eq!((&report["found"], &report["copied"]), (&ENTRIES.into(), &0.into()));
    assert_eq!((of_group(&report, "claimed"), of_group(&report, "leftOut")), (2_900 - there as u64, 0));
    scene.assert_alike("s");
}

#[test]
fn a_second_import_changes_nothing_where_nothing_has_changed() {
    let scene = Scene::start();
    fill(&scene);
    scene.whole("s");
    let before = picture(&scene.target, "s");
    let report = scene.whole("s");
    assert_eq!((&report["found"], &report["copied"]), (&ENTRIES.into(), &0.into()));
    assert_eq!((of_group(&report, "claimed"), of_group(&report, "pending")), (0, 2_900));
    assert_eq!(picture(&scene.target, "s"), before);
}

#[test]
fn what_has_changed_since_is_brought_along() {
    let scene = Scene::start();
    fill(&scene);
    scene.whole("s");
    for command in [
        "XADD s 5000-0 f v",
        "XREADGROUP GROUP g three COUNT 50 STREAMS s >",
        "XACK s g 1-0 2-0 2910-0",
        "XCLAIM s g three 0 7-0",
        "XGROUP CREATE s new 0",
        "XREADGROUP GROUP new one COUNT 1 STREAMS s >",
    ] {
        scene.source.done(command);
    }
    let report = scene.whole("s");
    let count = |name| of_group(&report, name);
    // 49 of those that were read now are still pending, and one has another owner.
    assert_eq!((count("claimed"), count("acknowledged"), count("leftOut")), (50, 2, 0));
    scene.assert_alike("s");
}

#[test]
fn what_was_finished_on_the_target_stays_finished() {
    let scene = Scene::start();
    fill(&scene);
    scene.whole("s");
    scene.target.done("XACK s g 1-0 2-0");
    let report = scene.whole("s");
    assert_eq!((of_group(&report, "claimed"), of_group(&report, "leftOut")), (0, 2));
    let line = scene.target.done("XPENDING s g - + 1");
    assert_eq!(line.list()[0].list()[0].text(), "3-0");
}

#[test]
fn a_group_that_moved_on_is_left_alone_and_told() {
    let scene = Scene::start();
    fill(&scene);
    scene.whole("s");
    scene.target.done("XREADGROUP GROUP g four COUNT 5 STREAMS s >");
    scene.source.done("XACK s g 1-0");
    let before = picture(&scene.target, "s");
    for args in [&["--dry-run"][..], &[]] {
        let said = report(&scene.import(args), 1, "s");
        assert_eq!((&said["state"], &said["groups"][0]["movedOn"]), (&"differs".into(), &true.into()));
        assert!(said["problems"][0].as_str().unwrap().starts_with("group g: the target"), "{said}");
        assert_eq!(picture(&scene.target, "s"), before);
    }
}

#[test]
fn what_came_to_the_source_meanwhile_is_told() {
    let scene = Scene::start();
    fill(&scene);
    let source = scene.source.url();
    let late = scene.source.place();
    let mut is_first = true;
    let busy = between(
        &scene.target.place(),
        move |sent| {
            if is_first && sent.windows(4).any(|part| part == b"XADD") {
                is_first = false;
                publish(&late);
            }
            Pass::On
        },
        |_| {},
    );
    let ended = scene.import_by(source.trim_start_matches("redis://"), &busy, &[]);
    let said = report(&ended, 0, "s");
    assert_eq!(
        (&said["state"], &said["newer"], &said["copied"]),
        (&"whole".into(), &2.into(), &ENTRIES.into())
    );
    assert!(ended.stderr.contains("2 entries came to the source since"), "{ended:?}");
    // All that was there when it began had been read, and both new ones: they are for the next import.
    assert_eq!(of_group(&said, "newer"), 2);
    assert_eq!(said["groups"][0]["lastDeliveredId"], "3000-0");
    let said = scene.whole("s");
    assert_eq!((of_group(&said, "claimed"), &said["copied"]), (2, &2.into()));
    scene.assert_alike("s");
}

/// Adds two entries to the server at `place`, and reads all that there is.
fn publish(place: &str) {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(place).expect("the source listens");
    let commands = "XADD s 7000-0 f v\r\nXADD s 7001-0 f v\r\nXREADGROUP GROUP g one STREAMS s >\r\nQUIT\r\n";
    stream.write_all(commands.as_bytes()).expect("it takes commands");
    stream.read_to_end(&mut Vec::new()).expect("it ends the connection");
}
