//! A sync that fails once, or for good: no success after it, and a clean start from disk.
//!
//! Lives here: the engine's side of failed writes. Not here: the log's own (`log_crash.rs`).

use std::sync::Arc;

use naven_store::Health;
use naven_store::conformance::ManualClock;
use naven_store::conformance::bench::append;
use naven_store::embedded::disk::{Fault, Flaw, Lasts, MemDisk, Site};
use naven_store::read::Read;
use naven_store::reply::{OpError, OpReply};
use naven_store::txn::Due;

use crate::script::open;

fn after_a_failed(site: Site, lasts: Lasts, flaw: Flaw) {
    let disk = Arc::new(MemDisk::new());
    let clock = Arc::new(ManualClock::default());
    let bench = open(&disk, &clock);
    bench.queue("mail");
    let kept = bench.publish("mail", 1);
    let nth = disk.sites().get(&site).copied().unwrap_or(0) + 1;
    disk.fail(Fault { site, nth, lasts, flaw });

    let doubtful = bench.ask(append("mail", "{}", Due::Now));
    assert_eq!(doubtful, Err(OpError::Unknown), "{site} {lasts:?}: the call that met the fault");
    for _ in 0..3 {
        let later = bench.ask(append("mail", "{}", Due::Now));
        assert_eq!(later, Err(OpError::Unavailable), "{site} {lasts:?}: nothing succeeds any more");
        assert_eq!(bench.read(Read::System), Err(OpError::Unavailable), "{site} {lasts:?}: nor a read");
    }
    assert!(matches!(*bench.engine.health().borrow(), Health::Failed { .. }), "{site}: the engine says so");
    drop(bench);

    disk.mend();
    let bench = open(&disk, &clock);
    assert_eq!(bench.claim("mail").event, kept, "{site} {lasts:?}: what was answered is there");
    let again = bench.ask(append("mail", "{}", Due::Now));
    assert!(matches!(again, Ok(OpReply::Event(_))), "{site} {lasts:?}: it serves again");
}

#[test]
fn a_failed_sync_is_never_retried_and_never_answered_with_success() {
    for lasts in [Lasts::Once, Lasts::ForGood] {
        after_a_failed(Site("log.sync"), lasts, Flaw::Io);
    }
}

#[test]
fn a_failed_write_is_never_retried_and_never_answered_with_success() {
    for lasts in [Lasts::Once, Lasts::ForGood] {
        for flaw in [Flaw::Io, Flaw::Short] {
            after_a_failed(Site("log.write"), lasts, flaw);
        }
    }
}
