//! Every call that the whole engine makes to the disk fails once, and for good: nothing succeeds
//! after a failed sync, nothing panics, and the next start has all that was answered.
//!
//! Lives here: the sweep over every call of every site, checkpoints and starts among them. Not here:
//! what power cuts leave (`images.rs`), backups and checks (`copies.rs`), and whether every site is reached
//! (`sites.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use naven_api::EventId;
use naven_core::View;
use naven_store::conformance::bench::{append, claim, create, redrive};
use naven_store::conformance::{Bench, Fresh, ManualClock, SeededRandom};
use naven_store::embedded::disk::{Fault, Flaw, Lasts, MemDisk, Site};
use naven_store::embedded::storage_error::StorageError;
use naven_store::embedded::{Embedded, Options, Pace};
use naven_store::queue::QueueSettings;
use naven_store::read::{Page, Read};
use naven_store::reply::{OpError, OpReply};
use naven_store::txn::{Due, OpKind, SettleStep, Txn};

/// Rounds of work between a start and the next.
const ROUNDS: u32 = 6;

/// What was answered.
#[derive(Default)]
struct Books {
    published: BTreeSet<EventId>,
    acked: BTreeSet<EventId>,
    /// Events of a call whose outcome is not known.
    doubtful: BTreeSet<EventId>,
}

/// Opens the store; checkpoints only when they are asked for.
fn open(disk: &Arc<MemDisk>) -> Result<(Bench, Arc<Embedded>), StorageError> {
    let clock = Arc::new(ManualClock::default());
    let options = Options { segment_bytes: Some(64 << 10), checkpoint: Some(Pace::NEVER) };
    let random = Arc::new(SeededRandom::new(11));
    let engine = Arc::new(Embedded::open(Arc::clone(disk) as _, options, clock.clone(), random)?);
    let fresh = Fresh { engine: engine.clone(), guard: Box::new(()) };
    Ok((Bench::of(fresh, clock), engine))
}

/// Two lives of a store: work, checkpoints, a clean stop, a start that replays, more work.
fn live(disk: &Arc<MemDisk>, books: &mut Books) -> Result<(), String> {
    for life in 0..2 {
        let (bench, engine) = open(disk).map_err(|error| error.to_string())?;
        let made = bench.ask(create("mail", QueueSettings::default()));
        let is_there = made == Err(OpError::Refused(naven_store::reply::Refused::NameTaken));
        if !is_there {
            made.map_err(|error| format!("creating: {error}"))?;
        }
        for round in 0..ROUNDS {
            work(&bench, round, books)?;
            if round % 2 == 1 {
                engine.make_checkpoint().map_err(|error| format!("life {life}: {error}"))?;
            }
        }
        bench.block_on(bench.engine.close());
    }
    Ok(())
}

/// Publishes a batch that rolls segments over, and acks some of what is due.
fn work(bench: &Bench, round: u32, books: &mut Books) -> Result<(), String> {
    let payload = format!("{{\"round\":{round},\"x\":\"{}\"}}", "y".repeat(6_000));
    let answers = bench.submit(Txn::all((0..4).map(|_| append("mail", &payload, Due::Now))));
    for answer in answers {
        match answer {
            Ok(OpReply::Event(view)) => books.published.insert(view.id),
            other => return Err(format!("publishing: {other:?}")),
        };
    }
    let Ok(OpReply::Claimed(claimed)) = bench.ask(OpKind::Claim(claim("mail", 2, 30))) else {
        return Err("claiming".to_owned());
    };
    for grant in claimed.leases {
        match bench.say(&grant, SettleStep::Ack) {
            Ok(_) => books.acked.insert(grant.event),
            Err(error) => {
                books.doubtful.insert(grant.event);
                return Err(format!("acking: {error}"));
            }
        };
    }
    bench.read(Read::System).map_err(|error| format!("reading: {error}"))?;
    // A refusal is an answer too: nothing is dead here.
    let refused = bench.ask(redrive(*books.published.first().ok_or("nothing was published")?));
    if matches!(refused, Err(OpError::Unknown | OpError::Unavailable)) {
        return Err(format!("redriving: {refused:?}"));
    }
    Ok(())
}

/// The next start, on a mended disk, has all that was answered.
fn audit(disk: &Arc<MemDisk>, books: &Books) -> Result<(), String> {
    disk.mend();
    let (bench, _) = open(disk).map_err(|error| format!("the next start: {error}"))?;
    for &event in &books.published {
        let Ok(Page::Event(view)) = bench.read(Read::Event { event, payload: false }) else {
            return Err(format!("{event} is lost"));
        };
        let is_done = view.deliveries[0].state == View::Done;
        let was_acked = books.acked.contains(&event);
        if is_done != was_acked && !books.doubtful.contains(&event) {
            return Err(format!("{event} is done: {is_done}, acked: {was_acked}"));
        }
    }
    Ok(())
}

fn run_with(fault: Fault) -> Result<bool, String> {
    let disk = Arc::new(MemDisk::new());
    disk.fail(fault);
    let mut books = Books::default();
    let went = catch_unwind(AssertUnwindSafe(|| live(&disk, &mut books))).map_err(|_| "it panicked")?;
    audit(&disk, &books)?;
    Ok(went.is_err())
}

/// How often each site is called where nothing fails.
pub(crate) fn calls() -> BTreeMap<Site, u64> {
    let clean = Arc::new(MemDisk::new());
    live(&clean, &mut Books::default()).expect("a disk without faults");
    clean.sites()
}

#[test]
fn after_a_fault_of_any_call_the_next_start_has_all_that_was_answered() {
    let sites = calls();
    let (mut runs, mut told, mut wrong) = (0, BTreeMap::<Site, u64>::new(), Vec::new());
    for (&site, &calls) in &sites {
        for nth in 1..=calls {
            let lasts = if nth % 2 == 0 { Lasts::Once } else { Lasts::ForGood };
            let flaw = if nth % 3 == 0 { Flaw::Short } else { Flaw::Io };
            let fault = Fault { site, nth, lasts, flaw };
            runs += 1;
            match run_with(fault) {
                Ok(is_told) => *told.entry(site).or_default() += u64::from(is_told),
                Err(why) => wrong.push(format!("{fault:?}: {why}")),
            }
        }
    }
    println!("{runs} runs, one for each call (calls, and how many failures were told):");
    for (site, calls) in &sites {
        println!("  {site}: {calls}, {}", told.get(site).copied().unwrap_or(0));
    }
    assert!(wrong.is_empty(), "{} of {runs} runs are wrong: {wrong:#?}", wrong.len());
}
