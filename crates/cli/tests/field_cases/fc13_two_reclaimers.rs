//! FC-13: reclaimers that got the same entry.
//!
//! Lives here: many connections that reclaim at the same time. Not here: what else XAUTOCLAIM answers (`naven-server`).

use std::collections::BTreeMap;
use std::sync::Barrier;

use serde_json::json;

use crate::clock::{millis, seconds, sleep, until};
use crate::scene::Scene;
use crate::support::{Reply, Resp};

const PENDING: usize = 200;
const RECLAIMERS: usize = 32;
const ROUNDS: usize = 50;

#[test]
fn fc13_each_entry_goes_to_one_of_many_reclaimers() {
    let scene = Scene::with_queue(json!({}));
    let mut redis = scene.redis();
    redis.done("XGROUP CREATE s g 0 MKSTREAM");
    redis.all(&(1..=PENDING).map(|n| format!("XADD s {n}-0 n {n}")).collect::<Vec<_>>());
    redis.done(&format!("XREADGROUP GROUP g w COUNT {PENDING} STREAMS s >"));
    let mut reclaimers: Vec<Resp> = (0..RECLAIMERS).map(|_| scene.redis()).collect();
    let mut most_winners = 0;
    for round in 1..=ROUNDS {
        sleep(millis(200));
        until("everything is idle", seconds(10), || {
            redis.done(&format!("XPENDING s g IDLE 201 - + {PENDING}")).list().len() == PENDING
        });
        let replies = reclaim(&mut reclaimers);
        let mut owners = BTreeMap::new();
        for (reclaimer, ids) in replies.iter().enumerate() {
            for id in ids {
                assert_eq!(owners.insert(id.clone(), format!("w{reclaimer}")), None, "{id} was given twice");
            }
        }
        assert_eq!(owners.len(), PENDING, "round {round}: all are covered");
        most_winners = most_winners.max(replies.iter().filter(|ids| !ids.is_empty()).count());
        assert_owned(&mut redis, &owners, round);
    }
    println!("fc13: up to {most_winners} reclaimers got entries in one round");
    scene.assert_same_process();
}

/// What each reclaimer gets when all ask together.
fn reclaim(reclaimers: &mut [Resp]) -> Vec<Vec<String>> {
    let together = Barrier::new(reclaimers.len());
    let one = |n: usize, redis: &mut Resp| {
        together.wait();
        let reply = redis.done(&format!("XAUTOCLAIM s g w{n} 200 0 COUNT 50"));
        reply.list()[1].list().iter().map(|entry| entry.list()[0].text()).collect::<Vec<_>>()
    };
    let one = &one;
    std::thread::scope(|scope| {
        let spawned = reclaimers.iter_mut().enumerate().map(|(n, redis)| scope.spawn(move || one(n, redis)));
        let threads: Vec<_> = spawned.collect();
        threads.into_iter().map(|thread| thread.join().expect("no reclaimer fails")).collect()
    })
}

/// The pending list says the same, and counts one delivery more for each.
fn assert_owned(redis: &mut Resp, owners: &BTreeMap<String, String>, round: usize) {
    let listed = redis.done(&format!("XPENDING s g - + {PENDING}"));
    for row in listed.list() {
        let row = row.list();
        assert_eq!(Some(&row[1].text()), owners.get(&row[0].text()), "round {round}: the owner of {row:?}");
        assert_eq!(row[3], Reply::Number(1 + i64::try_from(round).expect("few rounds")), "{row:?}");
    }
    assert_eq!(listed.list().len(), PENDING);
    let summary = redis.done("XPENDING s g");
    let held: i64 = summary.list()[3].list().iter().map(|of| count(&of.list()[1].text())).sum();
    assert_eq!(
        (summary.list()[0].number(), held),
        (count(&PENDING.to_string()), count(&PENDING.to_string()))
    );
}

fn count(text: &str) -> i64 {
    let count = text.parse().expect("a count");
    assert!(count >= 0, "no consumer has less than nothing");
    count
}
