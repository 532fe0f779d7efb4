//! `naven verify`, `naven salvage` and `naven restore` of a folder that no server uses, as processes.
//!
//! Lives here: exit codes, reports, and that a folder that is only read stays as it was. Not here: what is
//! found where (`crates/store/tests/backup`).

mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use support::{Ended, Naven, Start, run, wait_for_rows};

/// A data folder with some events, and their ids; the server that made it was killed.
fn left() -> (tempfile::TempDir, PathBuf, Vec<String>) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut server = Start::serve().folder(folder.path()).ready();
    let client = server.client();
    client.post("/v1/event-queues", r#"{"name":"mail"}"#).success();
    let publish = |n: usize| {
        let body = format!(r#"{{"payload":{{"x":"{}"}}}}"#, "y".repeat(1_000 + n));
        let event = client.post("/v1/event-queues/mail/events", &body).success();
        event["id"].as_str().expect("an id").to_owned()
    };
    let ids = (0..100).map(publish).collect();
    wait_for_rows(&server, 200);
    server.kill();
    let data = server.data();
    (folder, data, ids)
}

fn text(path: &Path) -> &str {
    path.to_str().expect("paths of tests are UTF-8")
}

fn json(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("one JSON text: {ended:?}"))
}

fn verify(data: &Path) -> Ended {
    run(&["verify", "--data", text(data)], &[])
}

fn salvage(data: &Path, to: Option<&Path>) -> Ended {
    let mut args = vec!["salvage", text(data), "--output", "json"];
    to.into_iter().for_each(|to| args.extend(["--to", text(to)]));
    run(&args, &[])
}

/// Every file of a folder, by name, with its content and the time of its last change.
fn contents(folder: &Path) -> BTreeMap<PathBuf, (Vec<u8>, std::time::SystemTime)> {
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("it is there") {
        let path = entry.expect("it can be listed").path();
        if path.is_dir() {
            all.extend(contents(&path));
        } else {
            let changed = path.metadata().and_then(|about| about.modified()).expect("a time");
            all.insert(path.clone(), (std::fs::read(&path).expect("it can be read"), changed));
        }
    }
    all
}

fn missing(server: &Naven, ids: &[String]) -> usize {
    let client = server.client();
    ids.iter().filter(|id| client.get(&format!("/v1/events/{id}")).status != 200).count()
}

fn serve(data: &Path) -> Naven {
    Start::serve().args(&["--data", text(data)]).ready()
}

/// Changes one byte of a file where `pattern` stands.
fn spoil(file: &Path, pattern: &[u8]) {
    let mut bytes = std::fs::read(file).expect("it is there");
    let place = bytes.windows(pattern.len()).position(|part| part == pattern).expect("it is in there");
    bytes[place] ^= 1;
    std::fs::write(file, bytes).expect("it can be written");
}

#[test]
fn a_killed_servers_folder_passes_and_stays_as_it_was() {
    let (_folder, data, ids) = left();
    let before = contents(&data);
    let ended = verify(&data);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = json(&ended);
    assert_eq!((&report["ok"], &report["findings"]), (&Value::from(true), &Value::from(Vec::<Value>::new())));
    assert!(report["rows"].as_u64() > Some(10) && report["lsn"].as_u64() >= Some(101), "{report}");
    let restored = data.with_file_name("restored");
    let ended = run(&["restore", text(&data), "--data", text(&restored)], &[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(contents(&data) == before, "something was written to the folder");
    assert_eq!(missing(&serve(&restored), &ids), 0, "a folder is a backup too");
}

#[test]
fn a_folder_in_use_is_refused_by_all_that_read_it() {
    let server = Start::serve().ready();
    let (data, to) = (server.data(), server.cwd().join("to"));
    assert_eq!(verify(&data).code, Some(75));
    assert_eq!(run(&["restore", text(&data), "--data", text(&to)], &[]).code, Some(75));
    assert_eq!(salvage(&data, Some(&to)).code, Some(75));
    assert_eq!(salvage(&data, None).code, Some(75));
    let none = server.cwd().join("none");
    assert_eq!(verify(&none).code, Some(74), "nothing is made where nothing is");
    assert!(!none.exists());
    assert_eq!(verify(server.cwd()).code, Some(65), "not ours");
}

#[test]
fn damage_is_named() {
    let (folder, data, _) = left();
    // A clean end, so that nothing is left to an unfinished tail.
    let server = Start::serve().folder(folder.path()).ready();
    server.signal("TERM");
    assert_eq!(server.ended().code, Some(0));
    spoil(&data.join("cold.redb"), format!("\"{}\"", "y".repeat(1_040)).as_bytes());
    let before = contents(&data);
    let ended = verify(&data);
    assert_eq!(ended.code, Some(65), "{ended:?}");
    let report = json(&ended);
    let findings = report["findings"].as_array().expect("a list");
    assert!(
        findings.iter().any(|found| found["table"] == "Body" && found["file"] == "cold.redb"),
        "{report}"
    );
    assert_eq!(report["ok"], false);
    assert!(contents(&data) == before, "the damaged folder was written to");
    let to = data.with_file_name("to");
    let restored = run(&["restore", text(&data), "--data", text(&to)], &[]);
    assert_eq!(restored.code, Some(65), "no store is made of it: {restored:?}");
}

#[test]
fn what_is_left_of_a_damaged_folder_is_saved() {
    let (folder, data, ids) = left();
    let server = Start::serve().folder(folder.path()).ready();
    let leased = server.client().post("/v1/event-queues/mail/claim", "{}").success();
    server.signal("TERM");
    assert_eq!(server.ended().code, Some(0));
    let looked = salvage(&data, None);
    assert_eq!((looked.code, &json(&looked)["ok"]), (Some(0), &Value::from(true)), "{looked:?}");
    spoil(&data.join("cold.redb"), format!("\"{}\"", "y".repeat(1_040)).as_bytes());
    let (before, to) = (contents(&data), data.with_file_name("saved"));
    let looked = salvage(&data, None);
    assert_eq!((looked.code, &json(&looked)["newStore"]), (Some(65), &Value::Null), "{looked:?}");
    assert!(!to.exists(), "a look makes nothing");
    let ended = salvage(&data, Some(&to));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = json(&ended);
    assert_eq!((&report["ok"], &report["streams"][0]["damaged"]), (&Value::from(false), &Value::from(1)));
    let named = |found: &Value| {
        found["table"] == "Body" && found["what"].as_str().is_some_and(|what| what.contains("content"))
    };
    assert!(report["findings"].as_array().expect("a list").iter().any(named), "{report}");
    assert!(contents(&data) == before, "the damaged folder was written to");
    assert_eq!(json(&verify(&to))["ok"], true);
    let again = salvage(&data, Some(&to));
    assert_eq!(again.code, Some(65), "there is a store now: {again:?}");
    let saved = serve(&to);
    assert_eq!(missing(&saved, &ids), 0, "the place of the lost one is left");
    let client = saved.client();
    let id = leased["event"]["id"].as_str().expect("an id");
    let acked = client
        .post(&format!("/v1/events/{id}/ack"), &format!(r#"{{"leaseToken":{}}}"#, leased["leaseToken"]));
    assert_eq!(acked.code, 40_901, "tokens of before mean nothing: {}", acked.body);
    client.post("/v1/event-queues/mail/events", r#"{"payload":{}}"#).success();
}
