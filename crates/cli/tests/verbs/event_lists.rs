//! `naven event list`.
//!
//! Lives here: what it is shown. Not here: its transcript (`tests/snapshots`).

use crate::scene::{Scene, args, text};
use crate::verb::Verb;

#[test]
fn events_are_found() {
    let scene = Scene::start();
    let user = r#"{"payload":{"user":{"id":7},"note":"by hand"}}"#;
    scene.dead("mail", "mailbox full");
    scene.leased("mail");
    scene.post("event-queues/mail/events", user);
    scene.post("event-queues/mail/events", r#"{"payload":{},"delaySeconds":3600}"#);
    let page = scene.get("event-queues/mail/events?limit=3");
    let cursor = text(&page, "nextCursor");

    let mut list = Verb::new(&scene, "event list");
    list.forms(|_| args(["mail"]));
    list.run(&["mail", "--state", "dead,retrying", "--error", "box", "--output", "table"]);
    list.run(&["mail", "--payload", "user.id=7", "--query", "hand", "--payloads", "--output", "table"]);
    list.run(&["mail", "--limit", "1", "--total", "--output", "table"]);
    list.run(&["mail", "--limit", "1", "--total", "--output", "json"]);
    list.run(&["mail", "--limit", "1", "--total", "--state", "dead", "--output", "jsonl"]);
    list.run(&["mail", "--cursor", &cursor, "--output", "table"]);
    let (long_ago, far_ahead) = ("2001-01-01T00:00:00Z", "2036-01-01T00:00:00Z");
    list.run(&["mail", "--created-after", far_ahead, "--output", "table"]);
    list.run(&["mail", "--created-before", long_ago, "--all", "--output", "table"]);
    list.run(&["mail", "--state", "lost"]);
    list.run(&["mail", "--payload", "user"]);
    list.run(&["mail", "--limit", "1", "--all"]);
    list.run(&["mail", "--cursor", "wrong"]);
    list.run(&["nowhere"]);
    list.outside(&["mail"]);
    list.check();
}

#[test]
fn all_events_are_listed_page_by_page() {
    let scene = Scene::start();
    let item = r#"{"payload":{}}"#;
    for count in [500, 500, 1] {
        let items = vec![item; count].join(",");
        scene.post("event-queues/mail/events/batch", &format!(r#"{{"events":[{items}]}}"#));
    }
    let lines = scene.run(&["event", "list", "mail", "--all", "--output", "jsonl"], "");
    let ids: std::collections::BTreeSet<_> = lines
        .stdout
        .lines()
        .map(|line| text(&serde_json::from_str(line).expect("each line is an event"), "id"))
        .collect();
    assert_eq!((ids.len(), lines.stdout.lines().count(), lines.stderr.as_str()), (1_001, 1_001, ""));
    let whole = scene.run(&["event", "list", "mail", "--all", "--total", "--output", "json"], "");
    let whole: serde_json::Value = serde_json::from_str(&whole.stdout).expect("one JSON text");
    assert_eq!(whole["items"].as_array().map(Vec::len), Some(1_001));
    assert_eq!((&whole["total"]["value"], &whole["nextCursor"]), (&1_001.into(), &serde_json::Value::Null));
}
