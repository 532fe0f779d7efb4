//! FC-10: a reader whose wait began anew when another one won.
//!
//! Lives here: blocked reads of the Redis door, two and a crowd. Not here: claims that wait over HTTP (`naven-server`).

use std::thread::Builder;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::clock::{
    assert_between, assert_within, counted, millis, now, seconds, sleep_until, spread, until,
};
use crate::scene::Scene;
use crate::support::{Reply, Resp, key};

const CROWD: usize = 500;
const EVENTS: usize = 50;
const CROWD_WAIT: Duration = seconds(5);
/// Five hundred threads need little each.
const STACK_BYTES: usize = 256 * 1024;

#[test]
fn fc10_the_reader_that_loses_waits_no_longer_than_it_said() {
    let scene = Scene::with_queue(json!({}));
    let mut redis = scene.redis();
    redis.done("XGROUP CREATE s g 0 MKSTREAM");
    let address = scene.naven.redis().to_owned();
    let winner = {
        let address = address.clone();
        std::thread::spawn(move || read(&address, "c1", 0))
    };
    until_blocked(&mut redis, 1);
    let began = now();
    let loser = std::thread::spawn(move || read(&address, "c2", 10_000));
    until_blocked(&mut redis, 2);
    sleep_until(began + seconds(5));
    let added = now();
    redis.done("XADD s * n 1");
    let (_, at, id) = winner.join().expect("the winner does not fail");
    assert!(id.is_some(), "the first in line has the entry");
    assert_within("fc10: XADD to the winner", at.saturating_duration_since(added), millis(100));
    let (waits_since, at, id) = loser.join().expect("the loser does not fail");
    assert_eq!(id, None, "one entry is one reader's");
    assert_between("fc10: the loser's wait", at - waits_since, counted(seconds(10)), millis(10_500));
}

#[test]
fn fc10_fifty_entries_go_to_fifty_of_five_hundred_blocked_readers() {
    let scene = Scene::with_queue(json!({}));
    let mut redis = scene.redis();
    redis.done("XGROUP CREATE s g 0 MKSTREAM");
    let wait_ms = u64::try_from(CROWD_WAIT.as_millis()).expect("a short wait");
    let crowd: Vec<_> = (0..CROWD)
        .map(|n| {
            let address = scene.naven.redis().to_owned();
            let reader = move || read(&address, &format!("c{n}"), wait_ms);
            Builder::new().stack_size(STACK_BYTES).spawn(reader).expect("a thread starts")
        })
        .collect();
    // At fixed times, however long an add takes: the last one has to come while somebody waits.
    let (began, pause) = (now(), CROWD_WAIT / u32::try_from(EVENTS).expect("a few") - millis(5));
    for n in 0..EVENTS {
        sleep_until(began + pause * u32::try_from(n).expect("a few"));
        redis.done(&format!("XADD s * n {n}"));
    }
    println!("fc10: {EVENTS} entries within {:?}", began.elapsed());
    let mut won = Vec::new();
    let mut lost = Vec::new();
    for reader in crowd {
        let (since, at, id) = reader.join().expect("no reader fails");
        if let Some(id) = id {
            won.push(id)
        } else {
            lost.push(at - since)
        }
        assert!(at - since <= CROWD_WAIT + 3 * millis(500), "a wait of {:?}", at - since);
    }
    println!("fc10: waits of those who got none: {}", spread(lost.clone()));
    assert!(lost.iter().all(|wait| *wait >= counted(CROWD_WAIT)), "nobody is sent away early");
    let pending = redis.done("XPENDING s g").list()[0].number();
    assert_eq!(usize::try_from(pending), Ok(won.len()), "no reader was given an entry and not told");
    won.sort_unstable();
    won.dedup();
    assert_eq!((won.len(), lost.len()), (EVENTS, CROWD - EVENTS), "each entry is one reader's");
    scene.assert_same_process();
}

/// A read of one entry on a connection of its own: when it began and ended, and the entry's id.
fn read(address: &str, consumer: &str, wait_ms: u64) -> (Instant, Instant, Option<String>) {
    let mut redis = Resp::open(address, key());
    let began = now();
    let reply = redis.done(&format!("XREADGROUP GROUP g {consumer} COUNT 1 BLOCK {wait_ms} STREAMS s >"));
    let at = now();
    let id = (reply != Reply::Nil).then(|| reply.list()[0].list()[1].list()[0].list()[0].text());
    (began, at, id)
}

fn until_blocked(redis: &mut Resp, count: usize) {
    let line = format!("blocked_clients:{count}\r\n");
    until(&format!("{count} readers are blocked"), seconds(30), || {
        redis.done("INFO clients").text().contains(&line)
    });
}
