//! How far a queue has come, over restarts and crashes.
//!
//! Lives here: that it never goes back (redis/redis#7105), and that what was acked does not come again.
//! Not here: everything else that a crash may leave (`images.rs`).

use std::sync::Arc;

use naven_api::EventId;
use naven_core::View;
use naven_store::conformance::streams::to_stream;
use naven_store::conformance::{Bench, ManualClock, SeededRandom};
use naven_store::embedded::disk::{Loss, MemDisk, Replay};
use naven_store::txn::{From, OpKind, Place, SettleStep, Txn};

use crate::script::open;

const EVENTS: u32 = 300;
const CRASHES: usize = 20;

/// How far the queue was once an answer had been given.
struct Answered {
    disk_ops: usize,
    last: Place,
    acked: usize,
    claimed: Option<EventId>,
}

fn fill(bench: &Bench) {
    bench.queue_on("mail", "orders", From::Start);
    bench.queue_on("bill", "orders", From::Start);
    let publish = |n: u32| OpKind::Append(to_stream("orders", &format!("{{\"n\":{n}}}")));
    assert!(bench.submit(Txn::each((0..EVENTS).map(publish))).iter().all(Result::is_ok));
}

fn position(bench: &Bench) -> (Place, u64, u64) {
    let group = bench.groups("orders").remove(0);
    (group.last_delivered, group.pending, group.lag)
}

#[test]
fn a_clean_stop_leaves_every_queue_where_it_was() {
    let (disk, clock) = (Arc::new(MemDisk::new()), Arc::new(ManualClock::default()));
    let bench = open(&disk, &clock);
    fill(&bench);
    (0..EVENTS).for_each(|_| drop(bench.finish("mail")));
    let before = position(&bench);
    assert_eq!((before.1, before.2), (0, 0));
    bench.block_on(bench.engine.close());
    drop(bench);
    let bench = open(&disk, &clock);
    assert_eq!(position(&bench), before);
    assert_eq!(bench.try_claim("mail"), None);
    assert_eq!(bench.view("bill").counts.of(View::Ready), u64::from(EVENTS));
}

#[test]
fn a_crash_takes_no_queue_back() {
    let (disk, clock) = (Arc::new(MemDisk::recorded()), Arc::new(ManualClock::default()));
    let bench = open(&disk, &clock);
    fill(&bench);
    let (mut points, mut acked) = (Vec::new(), Vec::new());
    for _ in 0..EVENTS {
        let grant = bench.claim("mail");
        let last = position(&bench).0;
        points.push(Answered { disk_ops: disk.ops(), last, acked: acked.len(), claimed: Some(grant.event) });
        bench.must(&grant, SettleStep::Ack);
        acked.push(grant.event);
        points.push(Answered { disk_ops: disk.ops(), last, acked: acked.len(), claimed: None });
    }
    let recording = disk.recording();
    let random = SeededRandom::new(11);
    let mut at: Vec<usize> = (0..CRASHES).map(|_| random.below(points.len() as u32) as usize).collect();
    at.sort_unstable();
    let mut walk = Replay::new(&recording);
    for point in at.into_iter().map(|at| &points[at]) {
        while walk.at() < point.disk_ops {
            assert!(walk.advance(), "the recording goes on");
        }
        check(&walk.image(Loss::All), point, &acked);
    }
}

fn check(image: &Arc<MemDisk>, point: &Answered, acked: &[EventId]) {
    let bench = open(image, &Arc::new(ManualClock::default()));
    let (last, pending, lag) = position(&bench);
    assert!(last >= point.last, "{last} is before {}", point.last);
    assert_eq!(pending, u64::from(point.claimed.is_some()));
    assert_eq!(lag + pending + point.acked as u64, u64::from(EVENTS));
    let next = bench.try_claim("mail").map(|grant| grant.event);
    assert!(next.is_none_or(|event| !acked[..point.acked].contains(&event) && Some(event) != point.claimed));
}
