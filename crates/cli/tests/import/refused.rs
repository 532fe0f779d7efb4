//! What the target has and the source has not.
//!
//! Lives here: streams that are refused by name, and left alone. Not here: servers that cannot be spoken to
//! (`servers.rs`).

use crate::scene::{Scene, Side, picture, report};
use crate::support::Reply;

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
    ] {
        let scene = Scene::start();
        for command in a_few.iter().chain(&["XGROUP CREATE s g 0", "XADD other 1-0 f v"]) {
            scene.source.done(command);
        }
        for command in on_target {
            scene.target.done(command);
        }
        let looks = || picture(&scene.target, "s");
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
fn a_key_of_another_type_on_a_redis_is_refused_by_name() {
    let scene = Scene::between_redises();
    scene.source.done("XADD s 1-0 f a");
    scene.target.done("SET s v");
    let said = report(&scene.import(&[]), 1, "s");
    let problem = said["problems"][0].as_str().unwrap();
    assert!(problem.starts_with("target 127.0.0.1:") && problem.contains("s is a string, not a stream"));
    assert_eq!(scene.target.done("GET s"), Reply::Text(b"v".to_vec()));
}

#[test]
fn a_refusal_names_the_side_and_the_command() {
    let scene = Scene::start();
    scene.source.done("XADD s 1-0 f a");
    let large = [b"XADD".to_vec(), b"s".to_vec(), b"2-0".to_vec(), b"f".to_vec(), vec![b'x'; 300 << 10]];
    scene.source.all(&[large.to_vec()]);
    scene.source.done("XADD other 1-0 f v");
    let said = report(&scene.import(&[]), 1, "s");
    let problem = said["problems"][0].as_str().unwrap();
    let wanted = format!("target {}: XADD 2-0: ERR ", scene.target.place());
    assert!(problem.starts_with(&wanted) && problem.contains("262144"), "{problem}");
    // What came before it stays, and the others are copied all the same.
    assert_eq!(scene.target.done("XLEN s"), Reply::Number(1));
    scene.assert_alike("other");
}
