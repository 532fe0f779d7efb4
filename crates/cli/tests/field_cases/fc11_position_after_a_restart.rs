//! FC-11: a group whose position went back over a restart.
//!
//! Lives here: reading and acking one by one, a clean stop, and `kill -9` in the middle. Not here: every other operation
//! under `kill -9` (`tests/kill`).

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::json;

use crate::clock::{millis, now, seconds, sleep};
use crate::random::Random;
use crate::scene::Scene;
use crate::support::{Reply, Resp, key};

const ENTRIES: u64 = 5_000;
const KILLS: usize = 20;
/// Each kill comes within this time of the first read.
const KILL_WITHIN: Duration = seconds(2);

#[test]
fn fc11_a_clean_restart_keeps_the_position() {
    let scene = Scene::with_queue(json!({}));
    let mut redis = scene.redis();
    fill(&mut redis, "s");
    let began = now();
    let read = read_and_ack(&mut redis, "s");
    assert_eq!((read.answered, read.acked), (ENTRIES, ENTRIES));
    println!("fc11: {ENTRIES} reads and acks took {:?}", began.elapsed());
    let before = redis.done("XINFO GROUPS s");
    assert_eq!(before.list()[0].field("last-delivered-id").text(), format!("{ENTRIES}-0"));
    let scene = scene.stopped_and_restarted();
    let mut redis = scene.redis();
    let after = redis.done("XINFO GROUPS s");
    for name in ["last-delivered-id", "pending", "entries-read", "lag"] {
        assert_eq!(after.list()[0].field(name), before.list()[0].field(name), "{name}");
    }
    assert_eq!(after.list()[0].field("pending"), &Reply::Number(0));
    assert_eq!(redis.done("XREADGROUP GROUP g c BLOCK 500 STREAMS s >"), Reply::Nil);
}

#[test]
fn fc11_twenty_kills_lose_no_ack_and_no_position() {
    let mut scene = Scene::with_queue(json!({}));
    let mut random = Random::fresh("fc11");
    for round in 0..KILLS {
        let stream = format!("s{round}");
        fill(&mut scene.redis(), &stream);
        let (address, name) = (scene.naven.redis().to_owned(), stream.clone());
        let reader = std::thread::spawn(move || read_and_ack(&mut Resp::open(&address, key()), &name));
        sleep(random.time(millis(5), KILL_WITHIN));
        scene = scene.killed_and_restarted();
        let read = reader.join().expect("the reader does not fail");
        println!("fc11: killed after {read:?}");
        judge(&mut scene.redis(), &stream, read);
    }
}

/// How far a reader came: it reads one entry, acks it, and reads the next.
#[derive(Debug, Clone, Copy)]
struct Progress {
    /// Reads that were answered.
    answered: u64,
    /// Acks that were answered: as many, or one less.
    acked: u64,
}

/// Entries `1-0` and so on.
fn fill(redis: &mut Resp, stream: &str) {
    let adds: Vec<String> = (1..=ENTRIES).map(|n| format!("XADD {stream} {n}-0 n {n}")).collect();
    redis.all(&adds);
    redis.done(&format!("XGROUP CREATE {stream} g 0"));
}

/// Reads and acks one by one, to the end or until the server is gone.
fn read_and_ack(redis: &mut Resp, stream: &str) -> Progress {
    let mut progress = Progress { answered: 0, acked: 0 };
    while progress.acked < ENTRIES {
        let next = progress.answered + 1;
        let Ok(reply) = redis.try_run(&format!("XREADGROUP GROUP g c COUNT 1 STREAMS {stream} >")) else {
            break;
        };
        assert_eq!(ids(&reply.list()[0].list()[1]), [next], "in order");
        progress.answered = next;
        let Ok(reply) = redis.try_run(&format!("XACK {stream} g {next}-0")) else { break };
        assert_eq!(reply, Reply::Number(1));
        progress.acked = next;
    }
    progress
}

/// What must hold after a kill: one call at most was under way, and it may have been done.
fn judge(redis: &mut Resp, stream: &str, read: Progress) {
    let group = redis.done(&format!("XINFO GROUPS {stream}"));
    let last = group.list()[0].field("last-delivered-id").text();
    let last: u64 = last.split('-').next().expect("an id has a dash").parse().expect("our ids are numbers");
    let latest = if read.acked == read.answered { read.answered + 1 } else { read.answered };
    assert!((read.answered..=latest).contains(&last), "last-delivered-id is of {last}: {read:?}");
    let pending: BTreeSet<u64> = match redis.done(&format!("XREADGROUP GROUP g c STREAMS {stream} 0")) {
        Reply::Nil => BTreeSet::new(),
        reply => ids(&reply.list()[0].list()[1]).into_iter().collect(),
    };
    // Without the ack that was under way, if it was one.
    let not_acked: BTreeSet<u64> = (read.acked + 1..=last).collect();
    let is_right = pending == not_acked || (pending.is_empty() && read.acked < read.answered);
    assert!(is_right, "pending {pending:?}, {last} delivered, {read:?}");
    assert_eq!(group.list()[0].field("pending").number(), pending.len() as i64);
    let rest = redis.done(&format!("XREADGROUP GROUP g c COUNT {ENTRIES} STREAMS {stream} >"));
    let rest = if rest == Reply::Nil { Vec::new() } else { ids(&rest.list()[0].list()[1]) };
    assert_eq!(rest, (last + 1..=ENTRIES).collect::<Vec<_>>(), "each of the rest comes once");
}

/// The numbers of entries in a list of them.
fn ids(entries: &Reply) -> Vec<u64> {
    let id = |entry: &Reply| entry.list()[0].text();
    let number = |id: String| id.strip_suffix("-0").expect("our ids end in -0").parse().expect("a number");
    entries.list().iter().map(id).map(number).collect()
}
