//! What the target has and the source has not.
//!
//! Lives here: streams that are refused by name, and left alone. Not here: servers that cannot be spoken to
//! (`servers.rs`).

use crate::scene::{Scene, picture, report};

#[test]
fn a_stream_that_differs_is_refused_by_name_and_left_alone() {
    let a_few = ["XADD s 1-0 f a", "XADD s 3-0 f b", "XADD s 5-0 f c"];
    for (on_target, why) in [
        (&["XADD s 1-0 f a", "XADD s 2-0 f x"][..], "it has an entry 2-0 that the source does not have"),
        (&["XADD s 9-0 f x"], "it goes on through 9-0 without the source's entry 1-0"),
        (&["XADD s 1-0 f a", "XADD s 3-0 f x"], "its entry 3-0 is another one"),
        (&["XADD s 1-0 f a", "XADD s 5-0 f c"], "it goes on through 5-0 without the source's entry 3-0"),
        (
            &["XADD s 1-0 f a", "XADD s 9-0 f x", "XDEL s 9-0"],
            "its last id 9-0 is behind the source's last 5-0",
        ),
        (&["SET s v"], "s is a string, not a stream"),
    ] {
        let scene = Scene::start();
        for command in a_few.iter().chain(&["XGROUP CREATE s g 0", "XADD other 1-0 f v"]) {
            scene.source.done(command);
        }
        for command in on_target {
            scene.target.done(command);
        }
        let looks = || if on_target[0].starts_with("SET") { Vec::new() } else { picture(&scene.target, "s") };
        let before = looks();
        for args in [&["--dry-run"][..], &[]] {
            let ended = scene.import(args);
            let said = report(&ended, 1, "s");
            assert_eq!(said["state"], "failed");
            let problem = said["problems"][0].as_str().unwrap();
            assert!(problem.contains(why) && problem.starts_with("target 127.0.0.1:"), "{problem}");
            assert!(ended.stderr.contains("1 of 2 streams are not whole"), "{ended:?}");
            assert_eq!(looks(), before);
        }
        // The others are copied all the same.
        scene.assert_alike("other");
    }
}

#[test]
fn a_refusal_names_the_side_and_the_command() {
    let scene = Scene::start();
    scene.source.done("XADD s 1-0 f a");
    scene.source.done("XADD s 2-0 f a");
    scene.target.done("CONFIG SET maxmemory 1");
    let said = report(&scene.import(&[]), 1, "s");
    let problem = said["problems"][0].as_str().unwrap();
    let wanted = format!("target {}: XADD 1-0: OOM command not allowed", scene.target.place());
    assert!(problem.starts_with(&wanted), "{problem}");
}
