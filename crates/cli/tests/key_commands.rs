//! `key` and `audit-log` against a running server.
//!
//! Lives here: their arguments, their output and their errors. Not here: what the calls mean.

mod support;

use serde_json::Value;
use support::{Ended, Naven, Start, key, run};

fn command_as(naven: &Naven, key: &str, args: &[&str]) -> Ended {
    run(args, &[("NAVEN_API_URL", &naven.url()), ("NAVEN_API_KEY", key)])
}

fn command(naven: &Naven, args: &[&str]) -> Ended {
    command_as(naven, key(), args)
}

fn json(ended: Ended) -> Value {
    assert_eq!(ended.code, Some(0), "{ended:?}");
    serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("one JSON text: {ended:?}"))
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_else(|| panic!("{field} in {value}"))
}

#[test]
fn a_key_goes_from_its_making_to_its_end() {
    let naven = Start::serve().ready();
    naven.client().post("/v1/event-queues", r#"{"name":"mail"}"#).success();
    let args = [
        "key",
        "create",
        "worker",
        "--scopes",
        "read,admin",
        "--queues",
        "mail,orders.*",
        "--rate-limit",
        "900",
    ];
    let made = json(command(&naven, &args));
    assert_eq!(made["queues"], serde_json::json!(["mail", "orders.*"]));
    let (id, secret) = (text(&made, "id"), text(&made, "secret"));
    assert_eq!(command_as(&naven, secret, &["key", "list"]).stdout.lines().count(), 1, "itself alone");
    assert_eq!(command(&naven, &["key", "list"]).stdout.lines().count(), 2);

    let shown = json(command(&naven, &["key", "show", id]));
    assert!(shown["secret"].is_null() && !shown["lastUsedAt"].is_null(), "{shown}");
    let changed = json(command(&naven, &["key", "patch", id, "--scopes", "read", "--rate-limit", "none"]));
    assert_eq!((&changed["scopes"], &changed["rateLimit"]), (&serde_json::json!(["read"]), &Value::Null));
    let table = command(&naven, &["key", "show", id, "--output", "table"]);
    assert!(
        table.stdout.contains("reaches  mail, orders.*") || table.stdout.contains("mail, orders.*"),
        "{table:?}"
    );
    assert!(!table.stdout.contains("calls a second"), "{table:?}");

    let rotated = json(command(&naven, &["key", "rotate", id, "--overlap-seconds", "0"]));
    let refused = command_as(&naven, secret, &["stream", "list"]);
    assert!(refused.code == Some(1) && refused.stderr.contains("40101"), "{refused:?}");
    assert_eq!(command_as(&naven, text(&rotated, "secret"), &["stream", "list"]).code, Some(0));
    assert_eq!(text(&json(command(&naven, &["key", "revoke", id])), "id"), id);
    let gone = command(&naven, &["key", "show", id]);
    assert!(gone.code == Some(1) && gone.stderr.contains("40405"), "{gone:?}");

    let log = command(&naven, &["audit-log", "--limit", "3"]);
    let actions: Vec<Value> = log
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["action"].clone())
        .collect();
    assert_eq!(actions, ["key.delete", "key.rotate", "key.patch"]);
    let table = command(&naven, &["audit-log", "--limit", "1", "--output", "table"]);
    assert!(table.stdout.contains(&format!("  key.delete  {id}  ")), "{table:?}");
    assert!(table.stderr.contains("older entries"), "{table:?}");
}

#[test]
fn arguments_that_are_none_are_refused_before_anything_is_sent() {
    let nowhere = [("NAVEN_API_URL", "http://127.0.0.1:1"), ("NAVEN_API_KEY", "x")];
    for (args, says) in [
        (&["key", "create", "w"][..], "--scopes"),
        (&["key", "create", "w", "--scopes", "write"], "expected produce, consume, read or admin"),
        (&["key", "create", "No Name", "--scopes", "read"], "1 to 128 characters"),
        (&["key", "show", "key_x"], "not an id"),
        (&["key", "patch", "key_00000000000000000000000000", "--expires-at", "soon"], "or never"),
        (&["key", "patch", "key_00000000000000000000000000", "--rate-limit", "many"], "or none"),
    ] {
        let ended = run(args, &nowhere);
        assert_eq!(ended.code, Some(2), "{args:?}: {ended:?}");
        assert!(ended.stderr.contains(says), "{args:?}: {}", ended.stderr);
    }
}
