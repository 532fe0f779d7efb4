//! `naven event`, and what producers and consumers do: `publish`, `claim`, `heartbeat`, `ack`, `nack`.
//!
//! Lives here: what these verbs are shown. Not here: their transcripts (`tests/snapshots`).

use crate::scene::{Scene, args, text};
use crate::verb::Verb;

/// An id that no event has.
const NO_EVENT: &str = "evt_00000000000000000000000000";

#[test]
fn events_are_looked_at() {
    let scene = Scene::start();
    let (event, token) = scene.leased("mail");
    let progress = r#"{"percent":40,"note":"page 2 of 5"}"#;
    let body = format!(r#"{{"leaseToken":"{token}","progress":{progress}}}"#);
    scene.post(&format!("events/{event}/heartbeat"), &body);
    let (done, done_token) = scene.leased("mail");
    let body = format!(r#"{{"leaseToken":"{done_token}","result":{{"delivered":3}}}}"#);
    scene.post(&format!("events/{done}/ack"), &body);
    let shared = scene.post("streams/orders/events", r#"{"payload":{"n":1},"headers":{"k":"v"}}"#);
    let shared = shared["id"].as_str().expect("an id");

    let mut show = Verb::new(&scene, "event show");
    show.forms(|_| args([&event]));
    show.run(&[shared, "--output", "table"]);
    show.run(&[&done, "--output", "table"]);
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
    let elsewhere = scene.dead("billing", "no such address");
    redrive.run(&[&elsewhere, "--target-queue", "nowhere"]);
    redrive.run(&[&elsewhere, "--target-queue", "mail", "--keep-attempts"]);
    redrive.run(&[&elsewhere, "--queue", "billing", "--target-queue", "mail", "--output", "table"]);
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
    for _ in 0..3 {
        scene.publish_traced("mail");
    }
    for _ in 0..2 {
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
    let (event, token) = scene.leased("mail");
    ack.run(&[&event, "--token", "-", "--result", "-"]);
    ack.run(&[&event, "--token", &token, "--result", "{delivered"]);
    ack.run_with(&[&event, "--token", &token, "--result", "-", "--output", "table"], r#"{"delivered": 3}"#);
    assert!(scene.naven.client().get(&format!("/v1/events/{event}")).body.contains(r#"{"delivered": 3}"#));
    let (event, token) = scene.leased("mail");
    ack.run(&[&event, "--token", &token, "--result", "-0.10", "--output", "table"]);
    assert!(scene.naven.client().get(&format!("/v1/events/{event}")).body.contains(r#""result":-0.10"#));
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

#[test]
fn holders_say_that_they_go_on() {
    let scene = Scene::start();
    let (event, token) = scene.leased("mail");
    let mut beat = Verb::new(&scene, "heartbeat");
    let progress = ["--percent", "40", "--note", "-page 2 of 5", "--lease-seconds", "90"];
    beat.forms(|_| [args([&event, "--token", &token]), args(progress)].concat());
    let shown = scene.get(&format!("events/{event}"));
    assert_eq!(
        (&shown["progress"]["percent"], &shown["progress"]["note"]),
        (&40.into(), &"-page 2 of 5".into())
    );
    scene.post(&format!("events/{event}/cancel"), r#"{"reason":"sold out"}"#);
    beat.run_with(&[&event, "--token", "-", "--output", "table"], &token);
    beat.run(&[&event, "--token", &token, "--percent", "101"]);
    beat.run(&[&event, "--token", &token, "--percent", "half"]);
    beat.run(&[&event, "--token", "wrong"]);
    beat.run(&[NO_EVENT, "--token", "wrong"]);
    beat.outside(&[NO_EVENT, "--token", "wrong"]);
    beat.check();
}

#[test]
fn events_are_put_off_and_brought_forward() {
    let scene = Scene::start();
    let later = r#"{"payload":{},"delaySeconds":3600,"maxAttempts":9}"#;
    let waiting = [(); 3].map(|()| scene.post("event-queues/mail/events", later));
    let waiting = waiting.map(|event| text(&event, "id"));
    let (held, _) = scene.leased("mail");
    let mut set = Verb::new(&scene, "event set");
    set.run(&[&waiting[0], "--max-attempts", "1000", "--output", "table"]);
    set.forms(|time| match time {
        0 => args([&waiting[0], "--scheduled-at", "2036-01-01T00:00:00+01:00", "--max-attempts", "queue"]),
        1 => args([&waiting[1], "--now"]),
        _ => args([&waiting[2], "--queue", "mail", "--max-attempts", "2"]),
    });
    set.run(&[&waiting[0]]);
    set.run(&[&waiting[0], "--now", "--scheduled-at", "2036-01-01T00:00:00Z"]);
    set.run(&[&waiting[0], "--max-attempts", "many"]);
    set.run(&[&waiting[0], "--max-attempts", "1001"]);
    set.run(&[&held, "--now"]);
    set.run(&[NO_EVENT, "--now"]);
    set.outside(&[NO_EVENT, "--now"]);
    set.check();

    let mut run_now = Verb::new(&scene, "event run-now");
    let waiting = [(); 3].map(|()| text(&scene.post("event-queues/mail/events", later), "id"));
    run_now.forms(|time| args([&waiting[time]]));
    run_now.run(&[&held, "--queue", "mail"]);
    run_now.run(&[NO_EVENT]);
    run_now.outside(&[NO_EVENT]);
    run_now.check();
}
