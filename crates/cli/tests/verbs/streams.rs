//! `naven stream`.
//!
//! Lives here: what its verbs are shown. Not here: their transcripts (`tests/snapshots`).

use crate::scene::{Scene, args, text};
use crate::verb::Verb;

#[test]
fn streams_are_looked_at() {
    let scene = Scene::start();
    for n in 0..2 {
        scene.post("streams/orders/events", &format!(r#"{{"payload":{{"n":{n}}}}}"#));
    }
    let mut list = Verb::new(&scene, "stream list");
    list.forms(|_| args([]));
    list.outside(&[]);
    list.check();

    let mut show = Verb::new(&scene, "stream show");
    show.forms(|_| args(["orders"]));
    show.run(&["nowhere"]);
    show.outside(&["orders"]);
    show.check();

    let mut entries = Verb::new(&scene, "stream entries");
    entries.forms(|_| args(["orders"]));
    entries.run(&["orders", "--limit", "1", "--reverse", "--output", "table"]);
    entries.run(&["orders", "--start", "soon"]);
    entries.run(&["nowhere"]);
    entries.outside(&["orders"]);
    entries.check();
}

#[test]
fn what_is_pending_is_shown() {
    let scene = Scene::start();
    for n in 0..3 {
        scene.post("streams/orders/events", &format!(r#"{{"payload":{{"n":{n}}}}}"#));
    }
    let claim = r#"{"waitSeconds":5,"leaseSeconds":900}"#;
    for _ in 0..2 {
        scene.post("event-queues/stock/claim", claim);
    }
    let failed = scene.post("event-queues/stock/claim", claim);
    let nack = format!(r#"{{"leaseToken":"{}","retryDelaySeconds":3600}}"#, text(&failed, "leaseToken"));
    scene.post(&format!("events/{}/nack", text(&failed["event"], "id")), &nack);

    let mut pending = Verb::new(&scene, "stream pending");
    pending.forms(|_| args(["orders", "stock"]));
    pending.run(&["orders", "stock", "--consumer", "", "--output", "table"]);
    pending.run(&["orders", "stock", "--consumer", "@http", "--limit", "1", "--output", "table"]);
    pending.run(&["orders", "stock", "--min-idle-seconds", "3000", "--output", "table"]);
    let page = scene.get("streams/orders/groups/stock/pending?limit=2");
    let cursor = text(&page, "nextCursor");
    pending.run(&["orders", "stock", "--cursor", &cursor, "--output", "table"]);
    pending.run(&["orders", "stock", "--start", "soon"]);
    pending.run(&["orders", "nowhere"]);
    pending.outside(&["orders", "stock"]);
    pending.check();
}

#[test]
fn streams_are_changed() {
    let scene = Scene::start();
    let places =
        [(); 4].map(|()| text(&scene.post("streams/orders/events", r#"{"payload":{}}"#), "streamId"));
    let mut reset = Verb::new(&scene, "stream reset");
    reset.forms(|time| args(["orders", "--queue", "stock", "--id", &places[time]]));
    reset.run(&["orders", "--queue", "nowhere", "--id", "0-0"]);
    reset.run(&["orders", "--queue", "stock"]);
    reset.outside(&["orders", "--queue", "stock", "--id", "0-0"]);
    reset.check();

    let mut trim = Verb::new(&scene, "stream trim");
    trim.forms(|time| args(["orders", "--max-length", ["3", "2", "2"][time]]));
    trim.run(&["nowhere", "--max-length", "1"]);
    trim.run(&["orders"]);
    trim.outside(&["orders", "--max-length", "1"]);
    trim.check();

    for name in ["two", "three"] {
        scene.post("event-queues", &format!(r#"{{"name":"{name}"}}"#));
    }
    let mut delete = Verb::new(&scene, "stream delete");
    delete.run(&["orders"]);
    delete.forms(|time| args([["orders", "two", "three"][time], "--force"]));
    delete.run(&["nowhere"]);
    delete.outside(&["orders"]);
    delete.check();
}
