//! `naven dead-letter` and `naven operation`.
//!
//! Lives here: what these verbs are shown. Not here: their transcripts (`tests/snapshots`).

use crate::scene::{Scene, args, text};
use crate::verb::Verb;

/// An id that no operation has.
const NO_OPERATION: &str = "op_00000000000000000000000000";

#[test]
fn dead_letters_are_found_brought_back_and_forgotten() {
    let scene = Scene::start();
    let errors = ["no user 1", "no user 2", "timeout", "timeout", "timeout", "timeout"];
    let dead = errors.map(|error| scene.dead("mail", error));
    let mut list = Verb::new(&scene, "dead-letter list");
    list.forms(|_| args(["--queue", "mail", "--error", "no user"]));
    list.run(&["--queue", "mail", "--limit", "1", "--output", "table"]);
    list.run(&["--queue", "nowhere"]);
    list.outside(&["--queue", "mail"]);
    list.check();

    let mut groups = Verb::new(&scene, "dead-letter groups");
    groups.forms(|_| args(["--queue", "mail"]));
    groups.run(&["--queue", "nowhere"]);
    groups.outside(&["--queue", "mail"]);
    groups.check();

    let mut redrive = Verb::new(&scene, "dead-letter redrive");
    redrive.run(&["--queue", "mail", "--all", "--dry-run", "--output", "table"]);
    redrive.forms(|time| args(["--queue", "mail", &dead[time]]));
    redrive.run(&["--queue", "mail", "--error", "no such error", "--output", "table"]);
    let moved = scene.dead("billing", "no such address");
    redrive.run(&["--queue", "billing", &moved, "--target-queue", "nowhere"]);
    redrive.run(&["--queue", "billing", "--all", "--target-queue", "stock", "--keep-attempts"]);
    redrive.run(&["--queue", "billing", "--all", "--target-queue", "stock", "--wait", "--output", "table"]);
    assert_eq!(scene.get("event-queues/stock")["counts"]["ready"], 1);
    redrive.run(&["--queue", "mail"]);
    redrive.run(&["--queue", "nowhere", "--all"]);
    redrive.outside(&["--queue", "mail", "--all"]);
    redrive.check();

    let mut discard = Verb::new(&scene, "dead-letter discard");
    discard.run(&["--queue", "mail", "--all", "--dry-run", "--output", "table"]);
    discard.forms(|time| args(["--queue", "mail", &dead[time + 3]]));
    discard.run(&["--queue", "mail", &dead[5], "--output", "table"]);
    scene.dead("stock", "no such address");
    discard.run(&["--queue", "stock", "--all", "--wait", "--output", "table"]);
    discard.run(&["--queue", "nowhere", "--all"]);
    discard.outside(&["--queue", "mail", "--all"]);
    discard.check();
}

#[test]
fn operations_are_looked_after() {
    let scene = Scene::start();
    for _ in 0..2 {
        scene.dead("mail", "timeout");
    }
    let operation = scene.post("event-queues/mail/dead-letters/redrive", r#"{"all":true}"#);
    let id = text(&operation, "id");
    scene
        .naven
        .wait_until("the operation's end", |_| scene.get(&format!("operations/{id}"))["state"] == "done");

    for verb in ["operation list", "operation show", "operation wait"] {
        let is_list = verb == "operation list";
        let mut verb = Verb::new(&scene, verb);
        verb.forms(|_| if is_list { args([]) } else { args([&id]) });
        if !is_list {
            verb.run(&[NO_OPERATION]);
        }
        verb.outside(if is_list { &[] } else { &[NO_OPERATION] });
        verb.check();
    }

    // Whether one is cancelled before it is over is up to the machine: what is over says so.
    let mut cancel = Verb::new(&scene, "operation cancel");
    cancel.forms(|_| args([&id]));
    cancel.run(&[NO_OPERATION]);
    cancel.outside(&[NO_OPERATION]);
    cancel.check();
}
