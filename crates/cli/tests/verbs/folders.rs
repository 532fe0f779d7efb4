//! `naven backup`, `naven restore`, `naven verify` and `naven salvage`.
//!
//! Lives here: what these verbs are shown. Not here: their transcripts (`tests/snapshots`).

use crate::scene::{Scene, args};
use crate::verb::Verb;

#[test]
fn folders_are_copied_and_looked_through() {
    let scene = Scene::start();
    scene.publish("mail");
    let path = |name: &str| scene.path(name);
    let mut backup = Verb::new(&scene, "backup");
    backup.forms(|time| args([&path(["one.bak", "two.bak", "three/"][time])]));
    std::fs::write(path("thesis.txt"), "mine").expect("a file");
    backup.run(&[&path("thesis.txt")]);
    backup.outside(&[&path("more.bak")]);
    backup.check();

    let mut restore = Verb::new(&scene, "restore");
    restore.forms(|time| args([&path("one.bak"), "--data", &path(["a", "b", "c"][time])]));
    restore.run(&[&path("one.bak"), "--data", &path("a")]);
    restore.run(&[&path("thesis.txt"), "--data", &path("d")]);
    restore.run(&[&path("nowhere"), "--data", &path("d")]);
    restore.check();

    let mut verify = Verb::new(&scene, "verify");
    verify.forms(|_| args(["--data", &path("a")]));
    verify.run(&["--data", &path("naven-data")]);
    verify.run(&["--data", &path("nowhere")]);
    verify.check();

    let mut salvage = Verb::new(&scene, "salvage");
    salvage.run(&[&path("a"), "--output", "table"]);
    salvage.forms(|time| args([&path("a"), "--to", &path(["e", "f", "g"][time])]));
    salvage.run(&[&path("a"), "--to", &path("e")]);
    salvage.run(&[&path("naven-data")]);
    salvage.check();
}
