//! `naven event`, and what producers and consumers do: `publish`, `claim`, `ack`, `nack`.
//!
//! Lives here: what these verbs are shown. Not here: their transcripts (`tests/snapshots`).

use crate::scene::{Scene, args};
use crate::verb::Verb;

/// An id that no event has.
const NO_EVENT: &str = "evt_00000000000000000000000000";

#[test]
fn events_are_looked_at() {
    let scene = Scene::start();
    let (event, token) = scene.leased("mail");
    scene.post(&format!("events/{event}/heartbeat"), &format!(r#"{{"leaseToken":"{token}"}}"#));
    let shared = scene.post("streams/orders/events", r#"{"payload":{"n":1},"headers":{"k":"v"}}"#);
    let shared = shared["id"].as_str().expect("an id");

    let mut show = Verb::new(&scene, "event show");
    show.forms(|_| args([&event]));
    show.run(&[shared, "--output", "table"]);
    show.run(&[NO_EVENT]);
    show.run(&["7"]);
    show.outside(&[NO_EVENT]);
    show.check();

    let body = format!(r#"{{"leaseToken":"{token}","mode":"fail","error":"mailbox full"}}"#);
    scene.post(&format!("events/{event}/nack"), &body);
    let mut timeline = Verb::new(&scene, "event timeline");
    timeline.forms(|_| args([&event]));
    timeline.run(&[shared]);
    timeline.run(&[NO_EVENT]);
    timeline.outside(&[NO_EVENT]);
    timeline.check();
}

#[test]
fn events_are_called_off_and_brought_back() {
    let scene = Scene::start();
    let waiting = [(); 3].map(|()| scene.publish("stock"));
    let (held, _) = scene.leased("mail");
    let mut cancel = Verb::new(&scene, "event cancel");
    cancel.forms(|time| args([&waiting[time], "--reason", "sold out"]));
    cancel.run(&[&held, "--queue", "mail", "--output", "table"]);
    cancel.run(&[&held, "--queue", "nowhere"]);
    cancel.run(&[NO_EVENT]);
    cancel.outside(&[NO_EVENT]);
    cancel.check();

    let dead = [(); 3].map(|()| scene.dead("billing", "no such address"));
    let mut redrive = Verb::new(&scene, "event redrive");
    redrive.forms(|time| args([&dead[time], "--keep-attempts"]));
    redrive.run(&[&dead[0]]);
    redrive.run(&[NO_EVENT]);
    redrive.outside(&[NO_EVENT]);
    redrive.check();
}

#[test]
fn events_are_published() {
    let scene = Scene::start();
    let mut publish = Verb::new(&scene, "publish");
    publish.forms(|_| args(["--queue", "mail", r#"{"to":"a@example.org"}"#, "--header", "source=web"]));
    publish.run_with(&["--queue", "mail", "-"], r#"{"from":"stdin"}"#);
    publish.run(&["--stream", "orders", "{}", "--dedupe-key", "order 7", "--output", "table"]);
    publish.run(&["--stream", "orders", "{}", "--dedupe-key", "order 7", "--output", "table"]);
    publish.run(&["--queue", "nowhere", "{}"]);
    publish.run(&["{}"]);
    publish.run(&["--queue", "mail", "[1]"]);
    publish.outside(&["--queue", "mail", "{}"]);
    publish.check();
}

#[test]
fn events_are_claimed() {
    let scene = Scene::start();
    for _ in 0..5 {
        scene.publish("mail");
    }
    let mut claim = Verb::new(&scene, "claim");
    claim.forms(|_| args(["--queue", "mail", "--consumer-id", "worker-1"]));
    claim.run(&["--queue", "mail", "--max-events", "2", "--output", "table"]);
    claim.run(&["--queue", "mail", "--wait-seconds", "0", "--output", "table"]);
    claim.run(&["--queue", "mail", "--wait-seconds", "0", "--output", "json"]);
    claim.run(&["--queue", "mail", "--wait-seconds", "61"]);
    claim.run(&["--queue", "nowhere"]);
    claim.outside(&["--queue", "mail"]);
    claim.check();
}

#[test]
fn events_are_settled() {
    let scene = Scene::start();
    let held = [(); 3].map(|()| scene.leased("mail"));
    let mut ack = Verb::new(&scene, "ack");
    ack.forms(|time| args([&held[time].0, "--token", &held[time].1]));
    ack.run_with(&[&held[0].0, "--token", "-", "--output", "table"], &held[0].1);
    ack.run(&[&held[0].0, "--token", "wrong"]);
    ack.run(&[NO_EVENT]);
    ack.outside(&[NO_EVENT, "--token", "wrong"]);
    ack.check();

    let held = [(); 3].map(|()| scene.leased("mail"));
    let mut nack = Verb::new(&scene, "nack");
    let mode = ["fail", "fatal", "release"];
    nack.forms(|time| {
        args([&held[time].0, "--token", &held[time].1, "--mode", mode[time], "--error", "-1 left"])
    });
    nack.run(&[&held[0].0, "--token", "wrong"]);
    nack.outside(&[NO_EVENT, "--token", "wrong"]);
    nack.check();
}
