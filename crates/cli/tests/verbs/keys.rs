//! `naven key` and `naven audit-log`.
//!
//! Lives here: what these verbs are shown. Not here: their transcripts (`tests/snapshots`).

use crate::scene::{Scene, args, text};
use crate::verb::Verb;

/// An id that no key has.
const NO_KEY: &str = "key_00000000000000000000000000";

#[test]
fn keys_are_made_changed_and_revoked() {
    let scene = Scene::start();
    let mut generate = Verb::new(&scene, "key generate");
    generate.run(&[]);
    generate.run(&["more"]);
    generate.check();

    let mut create = Verb::new(&scene, "key create");
    let names = ["web", "worker", "cron"];
    create.forms(|time| {
        args([names[time], "--scopes", "produce,read", "--queues", "mail,orders*", "--rate-limit", "900"])
    });
    create.run(&["web", "--scopes", "read"]);
    create.run(&["more", "--scopes", "write"]);
    create.outside(&["more", "--scopes", "read"]);
    create.check();

    let mut list = Verb::new(&scene, "key list");
    list.forms(|_| args([]));
    list.outside(&[]);
    list.check();

    let keys = scene.get("keys");
    let ids: Vec<String> = names
        .iter()
        .filter_map(|name| keys["items"].as_array()?.iter().find(|key| key["name"] == *name))
        .map(|key| text(key, "id"))
        .collect();
    let mut show = Verb::new(&scene, "key show");
    show.forms(|_| args([&ids[0]]));
    show.run(&[NO_KEY]);
    show.outside(&[&ids[0]]);
    show.check();

    let mut patch = Verb::new(&scene, "key patch");
    patch.forms(|time| {
        args([&ids[time], "--scopes", "read", "--rate-limit", "none", "--expires-at", "never"])
    });
    patch.run(&[NO_KEY, "--scopes", "read"]);
    patch.run(&[NO_KEY, "--rate-limit", "many"]);
    patch.outside(&[NO_KEY, "--scopes", "read"]);
    patch.check();

    let mut rotate = Verb::new(&scene, "key rotate");
    rotate.forms(|time| args([&ids[time], "--overlap-seconds", "60"]));
    rotate.run(&[NO_KEY]);
    rotate.outside(&[NO_KEY]);
    rotate.check();

    let mut revoke = Verb::new(&scene, "key revoke");
    revoke.forms(|time| args([&ids[time]]));
    revoke.run(&[NO_KEY]);
    revoke.outside(&[NO_KEY]);
    revoke.check();

    let mut log = Verb::new(&scene, "audit-log");
    log.forms(|_| args(["--limit", "2"]));
    log.outside(&[]);
    log.check();
}
