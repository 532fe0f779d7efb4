//! FC-12: a consumer that was removed with what it held.
//!
//! Lives here: XGROUP DELCONSUMER as Redis' clients see it, and what is kept of it over HTTP. Not here: dead letters in
//! general (`naven-server`).

use std::collections::BTreeSet;

use serde_json::json;

use crate::clock::{millis, now, seconds, sleep};
use crate::scene::{Scene, text};
use crate::support::{Reply, Resp};

const QUEUE: &str = "s%2Fg";

#[test]
fn fc12_what_a_removed_consumer_held_is_kept_as_dead_letters() {
    let scene = Scene::with_queue(json!({}));
    let mut redis = scene.redis();
    redis.done("XGROUP CREATE s g 0 MKSTREAM");
    for n in 1..=10 {
        redis.done(&format!("XADD s {n}-0 n {n}"));
    }
    redis.done("XREADGROUP GROUP g c1 COUNT 10 STREAMS s >");
    redis.done("XCLAIM s g c2 0 1-0");
    assert_eq!(redis.done("XGROUP DELCONSUMER s g c1").number(), 9);
    let began = now();
    while began.elapsed() < seconds(5) {
        assert_eq!(redis.done("XREADGROUP GROUP g c2 STREAMS s >"), Reply::Nil, "as in Redis, they are gone");
        let claimed = redis.done("XAUTOCLAIM s g c2 0 0 COUNT 100");
        assert_eq!(entries(&claimed.list()[1]), BTreeSet::from(["1-0".to_owned()]), "its own alone");
        sleep(millis(20));
    }
    assert_eq!(redis.done("XPENDING s g").list()[0], Reply::Number(1));

    let dead = scene.dead_letters(QUEUE);
    assert_eq!(dead.len(), 9, "{dead:?}");
    assert!(dead.iter().all(|letter| letter["reason"] == "consumer_deleted"), "{dead:?}");
    let ids: Vec<String> = dead.iter().map(|letter| text(&letter["id"])).collect();
    let path = format!("/v1/event-queues/{QUEUE}/dead-letters/redrive");
    scene.http.post(&path, &json!({ "ids": ids }).to_string()).success();
    assert_eq!(again(&mut redis), (2..=10).map(|n| format!("{n}-0")).collect(), "each is delivered again");
    assert_eq!(scene.dead_letters(QUEUE), Vec::<serde_json::Value>::new());
    scene.assert_same_process();
}

/// What a consumer that reads and reclaims gets within some seconds and did not have before.
fn again(redis: &mut Resp) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let began = now();
    while found.len() < 9 && began.elapsed() < seconds(10) {
        let read = redis.done("XREADGROUP GROUP g c2 COUNT 100 STREAMS s >");
        if read != Reply::Nil {
            found.extend(entries(&read.list()[0].list()[1]));
        }
        let claimed = redis.done("XAUTOCLAIM s g c2 0 1-1 COUNT 100");
        found.extend(entries(&claimed.list()[1]));
    }
    found
}

fn entries(list: &Reply) -> BTreeSet<String> {
    list.list().iter().map(|entry| entry.list()[0].text()).collect()
}
