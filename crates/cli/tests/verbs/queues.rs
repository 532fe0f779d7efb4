//! `naven queue`.
//!
//! Lives here: what its verbs are shown. Not here: their transcripts (`tests/snapshots`).

use crate::scene::{Scene, args};
use crate::verb::Verb;

#[test]
fn queues_are_listed_and_shown() {
    let scene = Scene::start();
    scene.publish("mail");
    scene.leased("billing");

    let mut list = Verb::new(&scene, "queue list");
    list.forms(|_| args([]));
    list.run(&["--name-prefix", "none-such", "--output", "table"]);
    list.outside(&[]);
    list.check();

    let mut show = Verb::new(&scene, "queue show");
    show.forms(|_| args(["mail"]));
    show.run(&["billing", "--output", "table"]);
    show.run(&["nowhere"]);
    show.outside(&["mail"]);
    show.check();
}

#[test]
fn queues_are_made_and_changed() {
    let scene = Scene::start();
    let mut create = Verb::new(&scene, "queue create");
    create.forms(|time| args([["letters", "parcels", "stamps"][time], "--description", "by post"]));
    let all = "sorted --stream orders --from start --default-lease-seconds 30 --max-lease-seconds 600 \
               --max-attempts 5 --backoff-initial-seconds 1 --backoff-factor 1.5 --backoff-max-seconds 60 \
               --backoff-jitter 0.25 --late-ack-grace-seconds 10 --redis-lease-seconds 300 --keep-done-payload --protect-unread=false \
               --done-retention-seconds 3600 --dead-retention-seconds 7200 --dedupe-window-seconds 60 \
               --stream-retention trim --output json";
    create.run(&all.split_whitespace().collect::<Vec<_>>());
    create.run(&["mail"]);
    create.run(&["No Name"]);
    create.run(&["more", "--from", "start"]);
    create.run(&["more", "--max-attempts", "0"]);
    create.outside(&["more"]);
    create.check();

    let mut set = Verb::new(&scene, "queue set");
    set.run(&[
        "mail",
        "--backoff-max-seconds",
        "60",
        "--max-attempts",
        "3",
        "--dry-run",
        "--output",
        "table",
    ]);
    set.run(&["mail", "--done-retention-seconds", "60", "--dry-run", "--output", "json"]);
    set.forms(|time| args(["mail", "--max-attempts", ["5", "6", "7"][time], "--backoff-factor", "3"]));
    set.run(&["mail", "--redis-lease-seconds", "90", "--output", "table"]);
    set.run(&["mail", "--redis-lease-seconds", "none", "--dry-run", "--output", "json"]);
    set.run(&["mail", "--redis-lease-seconds", "never"]);
    set.run(&["mail", "--max-attempts", "8", "--if-match", "1"]);
    set.run(&["mail"]);
    set.run(&["nowhere", "--max-attempts", "8"]);
    set.outside(&["mail", "--max-attempts", "8"]);
    set.check();
}

#[test]
fn queues_are_paused_and_deleted() {
    let scene = Scene::start();
    let mut pause = Verb::new(&scene, "queue pause");
    pause.forms(|_| args(["mail", "--reason", "the printer burns"]));
    pause.run(&["nowhere"]);
    pause.outside(&["mail"]);
    pause.check();

    let mut resume = Verb::new(&scene, "queue resume");
    resume.forms(|_| args(["mail"]));
    resume.run(&["nowhere"]);
    resume.outside(&["mail"]);
    resume.check();

    scene.dead("mail", "no such address");
    scene.leased("mail");
    scene.post("event-queues/mail/events", r#"{"payload":{},"delaySeconds":3600}"#);
    let mut delete = Verb::new(&scene, "queue delete");
    delete.run(&["mail", "--dry-run", "--output", "table"]);
    delete.run(&["mail", "--dry-run", "--output", "json"]);
    delete.run(&["mail"]);
    delete.run(&["mail", "--force", "--if-match", "1000"]);
    delete.forms(|time| args([["mail", "billing", "stock"][time], "--force"]));
    delete.run(&["mail", "--force"]);
    delete.outside(&["mail"]);
    delete.check();
}
