//! `naven queue purge`, `stats`, `consumers` and `tail`.
//!
//! Lives here: what these verbs are shown. Not here: their transcripts (`tests/snapshots`).

use crate::running::Running;
use crate::scene::{Scene, args, text};
use crate::support::Ended;
use crate::verb::Verb;

#[test]
fn queues_are_emptied() {
    let scene = Scene::start();
    let queues = ["mail", "billing", "stock"];
    for queue in queues {
        scene.publish(queue);
        scene.dead(queue, "no such address");
        scene.post(&format!("event-queues/{queue}/events"), r#"{"payload":{},"delaySeconds":3600}"#);
    }
    let mut purge = Verb::new(&scene, "queue purge");
    purge.run(&["mail", "--dry-run", "--output", "table"]);
    purge.run(&["mail", "--state", "scheduled,dead", "--state", "ready", "--dry-run", "--output", "json"]);
    let long_ago = "2001-01-01T00:00:00Z";
    purge.run(&["mail", "--older-than", long_ago, "--wait", "--output", "table"]);
    purge.forms(|time| args([queues[time], "--state", "scheduled", "--wait"]));
    purge.run(&["mail", "--output", "table"]);
    purge.run(&["mail", "--state", "leased"]);
    purge.run(&["mail", "--dry-run", "--wait"]);
    purge.run(&["nowhere"]);
    purge.outside(&["mail"]);
    purge.check();
    for queue in ["billing", "stock"] {
        let counts = &scene.get(&format!("event-queues/{queue}"))["counts"];
        assert_eq!((&counts["scheduled"], &counts["dead"]), (&0.into(), &1.into()), "{queue}: {counts}");
    }
}

#[test]
fn figures_are_shown() {
    let scene = Scene::start();
    let first = scene.post("event-queues/mail/events", r#"{"payload":{},"delaySeconds":3600}"#);
    scene.dead("mail", "no such address");
    let (event, token) = scene.leased("mail");
    let done = scene.post(&format!("events/{event}/ack"), &format!(r#"{{"leaseToken":"{token}"}}"#));
    // One step, a whole day long.
    let (from, to) = (text(&first, "createdAt"), text(&done, "settledAt"));
    let path = format!("event-queues/mail/stats?from={from}&to={to}&stepSeconds=86400");
    let is_told = |point: &serde_json::Value| point["acked"] == 1 && point["dead"] == 1;
    scene.naven.wait_until("all figures", |_| is_told(&scene.get(&path)["points"][0]));

    let mut stats = Verb::new(&scene, "queue stats");
    stats.forms(|_| args(["mail", "--from", &from, "--to", &to, "--step-seconds", "86400"]));
    stats.run(&["mail", "--step", "7"]);
    stats.run(&["mail", "--from", "yesterday"]);
    stats.run(&["nowhere"]);
    stats.outside(&["mail"]);
    stats.check();
}

#[test]
fn consumers_are_shown() {
    let scene = Scene::start();
    scene.leased("mail");
    scene.post("event-queues/mail/claim", r#"{"waitSeconds":0,"consumerId":"worker-2"}"#);
    let mut consumers = Verb::new(&scene, "queue consumers");
    consumers.forms(|_| args(["mail"]));
    consumers.run(&["billing", "--output", "table"]);
    consumers.run(&["nowhere"]);
    consumers.outside(&["mail"]);
    consumers.check();
}

#[test]
fn changes_are_told_as_they_happen() {
    let scene = Scene::start();
    let mut verb = Verb::new(&scene, "queue tail");
    for (form, end) in [("table", "INT"), ("json", "TERM"), ("jsonl", "the queue's end")] {
        let args = ["mail", "--state", "ready,leased", "--state", "done", "--output", form];
        let running = Running::start(&scene, &[&["queue", "tail"], &args[..]].concat(), usize::MAX);
        running.wait_until_it_says("watching mail");
        let (event, token) = scene.leased("mail");
        let ack = format!(r#"{{"leaseToken":"{token}"}}"#);
        scene.post(&format!("events/{event}/ack"), &ack);
        running.wait_until_it_says("acked");
        if form == "jsonl" {
            scene.naven.client().call("DELETE", "/v1/event-queues/mail?force=true", "").success();
        } else {
            running.signal(end);
        }
        let ended = running.ended();
        verb.note(&format!("naven queue tail {} # until {end}", args.join(" ")), &ended);
    }
    verb.run(&["billing", "--state", "lost"]);
    verb.run(&["billing", "--sample", "1001"]);
    verb.run(&["nowhere"]);
    verb.outside(&["billing"]);
    verb.check();
}

#[test]
fn a_program_is_run_for_each_event() {
    let scene = Scene::start();
    scene.publish("mail");
    let mut verb = Verb::new(&scene, "consume");
    let args = ["mail", "--exec", "sh", "-c", "echo it is here"];
    let running = Running::start(&scene, &[&["consume"], &args[..]].concat(), usize::MAX);
    running.wait_until_it_says("it is here");
    running.signal("TERM");
    verb.note("naven consume mail --exec sh -c 'echo it is here' # until TERM", &running.ended());
    verb.run(&["mail", "--exec", "no-such-program"]);
    verb.run(&["mail", "--concurrency", "0", "--exec", "true"]);
    verb.run(&["mail"]);
    verb.run(&["nowhere", "--exec", "true"]);
    verb.run(&["mail", "--key", "nvk_wrong", "--exec", "true"]);
    verb.check();
}

#[test]
fn a_tail_ends_with_its_terminal_and_with_its_reader() {
    let scene = Scene::start();
    let args = ["queue", "tail", "mail", "--output", "jsonl"];
    let running = Running::start(&scene, &args, usize::MAX);
    running.wait_until_it_says("watching mail");
    running.signal("HUP");
    assert_eq!(running.ended().code, Some(0));

    let running = Running::start(&scene, &args, 1);
    running.wait_until_it_says("watching mail");
    scene.publish("mail");
    running.wait_until_it_says("published");
    scene.publish("mail");
    let Ended { code, stdout, .. } = running.ended();
    assert_eq!((code, stdout.lines().count()), (Some(0), 1));
}
