//! Sides that are not alike in the end.
//!
//! Lives here: what counting finds, with targets that do less than they say. Not here: what is refused before
//! anything is written (`refused.rs`).

use crate::scene::{Scene, Side, report};
use crate::support::{Pass, between};

fn fill(scene: &Scene) {
    for command in [
        "XADD s 1-0 f a",
        "XADD s 2-0 f b",
        "XADD s 3-0 f c",
        "XDEL s 3-0",
        "XGROUP CREATE s g 0",
        "XREADGROUP GROUP g one COUNT 2 STREAMS s >",
    ] {
        scene.source.done(command);
    }
}

/// The problems that an import by way of a go-between tells.
fn problems(
    scene: &Scene,
    sent: impl FnMut(&[u8]) -> Pass + Send + 'static,
    answered: fn(&mut [u8]),
) -> Vec<String> {
    let target = between(&scene.target.place(), sent, answered);
    let ended = scene.import_by(&scene.source.place(), &target, &[]);
    let said = report(&ended, 1, "s");
    assert_eq!(said["state"], "differs");
    let problems = said["problems"].as_array().expect("a list of problems");
    let problems: Vec<String> = problems.iter().map(|why| why.as_str().expect("a text").to_owned()).collect();
    assert!(problems.iter().all(|why| ended.stderr.contains(why)), "{ended:?}");
    problems
}

/// Answers OK to commands with this word, and does nothing.
fn without(word: &'static str) -> impl FnMut(&[u8]) -> Pass + Send + 'static {
    move |sent| {
        let has_it = sent.windows(word.len()).any(|part| part == word.as_bytes());
        if has_it { Pass::Instead(b"+OK\r\n".to_vec()) } else { Pass::On }
    }
}

#[test]
fn another_number_of_entries_is_told() {
    let scene = Scene::start();
    fill(&scene);
    let miscounts = |answer: &mut [u8]| {
        let before = b"length\r\n:";
        if let Some(at) = answer.windows(before.len()).position(|part| part == before) {
            answer[at + before.len()] = b'9';
        }
    };
    assert_eq!(problems(&scene, |_| Pass::On, miscounts), ["9 entries on the target, 2 on the source"]);
}

#[test]
fn another_last_id_is_told() {
    let scene = Scene::start();
    fill(&scene);
    let found = problems(&scene, without("XSETID"), |_| {});
    assert_eq!(found, ["the last id is 2-0 on the target, 3-0 on the source"]);
}

#[test]
fn a_line_that_somebody_took_over_on_the_target_stays_theirs_and_is_told() {
    let scene = Scene::start();
    fill(&scene);
    scene.whole("s");
    scene.target.done("XCLAIM s g two 0 2-0");
    let found = problems(&scene, |_| Pass::On, |_| {});
    let wanted = [
        "group g: consumer one has 1 pending on the target, not 2 of the source's 2",
        "group g: consumer two has 1 pending on the target, not 0 of the source's 0",
    ];
    assert_eq!(found, wanted);
}

#[test]
fn a_group_at_another_place_is_told() {
    let scene = Scene::start();
    fill(&scene);
    scene.whole("s");
    for command in ["XADD s 4-0 f d", "XREADGROUP GROUP g one NOACK STREAMS s >"] {
        scene.source.done(command);
    }
    let set_id = |sent: &[u8]| {
        let has_it =
            sent.windows(5).any(|part| part == b"SETID") && sent.windows(5).any(|part| part == b"MULTI");
        if has_it { Pass::Instead(b"+OK\r\n+QUEUED\r\n+QUEUED\r\n*0\r\n".to_vec()) } else { Pass::On }
    };
    let found = problems(&scene, set_id, |_| {});
    assert_eq!(found, ["group g: it was delivered through 2-0 on the target, 4-0 on the source"]);
}
