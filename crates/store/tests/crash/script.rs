//! A seeded script of two hundred operations, one after the other, and what each left behind.
//!
//! Lives here: the script and its record. Not here: what a crash makes of it (`images.rs`).

use std::sync::Arc;

use naven_api::{EventId, Timestamp};
use naven_store::conformance::bench::{
    append, beat, claim, create, delete, fail_in, fatal, redrive, release,
};
use naven_store::conformance::streams::{create_on, once, reset, to_stream, trim_to};
use naven_store::conformance::{Bench, Fresh, ManualClock, SeededRandom, telling};
use naven_store::embedded::disk::MemDisk;
use naven_store::embedded::storage_error::StorageError;
use naven_store::embedded::{Embedded, Options, Pace};
use naven_store::queue::QueueSettings;
use naven_store::reply::{Grant, OpError, OpReply};
use naven_store::txn::{Append, DedupeKey, DedupeSpace, Due, From, OpKind, SettleStep, Txn};
use naven_store::{Clock, Random};

use crate::audit::{State, state};

/// The first has a stream of its own, the others share one.
const QUEUES: [&str; 3] = ["mail", "import", "bill"];
const SHARED: &str = "orders";

/// How everything stood once an operation was answered.
pub(crate) struct Point {
    /// Operations of the disk that were done by then.
    pub(crate) disk_ops: usize,
    /// The clock.
    pub(crate) wall: Timestamp,
    /// Events that were published by then: the first so many of [`Played::ids`].
    pub(crate) published: usize,
    /// Everything that can be seen.
    pub(crate) state: State,
    /// Leases that live.
    pub(crate) leases: Vec<Grant>,
}

/// One played script.
pub(crate) struct Played {
    pub(crate) disk: Arc<MemDisk>,
    /// In order; the first is the empty store.
    pub(crate) points: Vec<Point>,
    /// Every event, in the order of publishing.
    pub(crate) ids: Vec<EventId>,
}

/// The engine on `disk`, with small segments so that they roll.
pub(crate) fn open(disk: &Arc<MemDisk>, clock: &Arc<ManualClock>) -> Bench {
    open_with_engine(disk, clock).0
}

fn open_with_engine(disk: &Arc<MemDisk>, clock: &Arc<ManualClock>) -> (Bench, Arc<Embedded>) {
    // Checkpoints are made where the script says so, never by themselves.
    open_with(disk, clock, Pace::NEVER)
}

/// The same with checkpoints at this pace.
pub(crate) fn open_with(
    disk: &Arc<MemDisk>,
    clock: &Arc<ManualClock>,
    checkpoint: Pace,
) -> (Bench, Arc<Embedded>) {
    try_open(disk, clock, checkpoint).expect("the store opens")
}

/// The same, which may be refused.
pub(crate) fn try_open(
    disk: &Arc<MemDisk>,
    clock: &Arc<ManualClock>,
    checkpoint: Pace,
) -> Result<(Bench, Arc<Embedded>), StorageError> {
    let options = Options { segment_bytes: Some(64 << 10), checkpoint: Some(checkpoint) };
    let (disk, time): (Arc<MemDisk>, Arc<dyn Clock>) = (Arc::clone(disk), clock.clone());
    let random: Arc<dyn Random> = Arc::new(SeededRandom::new(11));
    let engine = Arc::new(Embedded::open(disk, options, time, random)?);
    let fresh = Fresh { engine: engine.clone(), guard: Box::new(()) };
    Ok((Bench::of(fresh, Arc::clone(clock)), engine))
}

/// Plays `steps` operations on `disk`.
pub(crate) fn play(disk: Arc<MemDisk>, seed: u64, steps: usize) -> Played {
    let clock = Arc::new(ManualClock::default());
    let (bench, engine) = open_with_engine(&disk, &clock);
    let mut player =
        Player { bench, engine, random: SeededRandom::new(seed), leases: Vec::new(), ids: Vec::new() };
    let mut points = vec![player.point(&disk)];
    for _ in 0..steps {
        player.step();
        points.push(player.point(&disk));
    }
    let ids = std::mem::take(&mut player.ids);
    Played { disk, points, ids }
}

struct Player {
    bench: Bench,
    engine: Arc<Embedded>,
    random: SeededRandom,
    ids: Vec<EventId>,
    leases: Vec<Grant>,
}

impl Player {
    fn point(&self, disk: &MemDisk) -> Point {
        // The reads of the state write nothing, so the count is that of the answer before them.
        let disk_ops = disk.ops();
        Point {
            disk_ops,
            wall: self.bench.wall(),
            published: self.ids.len(),
            state: state(&self.bench, &self.ids),
            leases: self.leases.clone(),
        }
    }

    fn step(&mut self) {
        let queue = self.random.one_of(&QUEUES);
        match self.random.below(20) {
            0 => self.make(queue),
            1..=3 => self.publish(queue),
            4..=5 => self.spread(),
            6..=7 => self.publish_batch(queue),
            8..=11 => self.claim(queue),
            12..=17 => self.settle(),
            18 if self.random.once_in(2) => {
                self.engine.make_checkpoint().expect("the disk is well");
            }
            18 => self.redrive_or_delete(queue),
            _ => {
                self.bench.after_ms(i64::from(self.random.below(20_000)));
                self.bench.tend();
                let alive = |grant: &Grant| grant.lease_expires_at.is_some_and(|at| at > self.bench.wall());
                self.leases.retain(alive);
            }
        }
    }

    fn make(&mut self, queue: &str) {
        let settings = QueueSettings { max_attempts: Some(2), ..QueueSettings::default() };
        let made = if queue == QUEUES[0] {
            create(queue, settings)
        } else {
            create_on(queue, SHARED, self.from(), settings)
        };
        // Mostly there already: a refusal is an answer too.
        let _ = self.bench.ask(made);
    }

    fn from(&self) -> From {
        match self.random.below(3) {
            0 => From::New,
            1 => From::Time(self.bench.wall().plus_ms(-5_000)),
            _ => From::Start,
        }
    }

    /// To all queues of the shared stream, under keys that now and then come again.
    fn spread(&mut self) {
        let key = DedupeKey { space: DedupeSpace::Http, key: vec![self.random.below(250) as u8].into() };
        let append = Append {
            dedupe: self.random.once_in(2).then_some(key),
            expires_at: self.random.once_in(4).then(|| self.bench.wall().plus_ms(9_000)),
            trace: self.random.once_in(2).then(|| Box::new(telling::trace(None))),
            ..to_stream(SHARED, &self.payload())
        };
        let key = self.random.below(250).to_string();
        let answer = self.bench.ask_once(once(&key, OpKind::Append(append)));
        self.note(answer);
    }

    fn payload(&self) -> String {
        format!("{{\"x\":\"{}\"}}", "y".repeat(self.random.below(3_000) as usize))
    }

    fn publish(&mut self, queue: &str) {
        let due = match self.random.below(3) {
            0 => Due::In(self.random.below(30).try_into().expect("30 s is a delay")),
            _ => Due::Now,
        };
        let answer = self.bench.ask(append(queue, &self.payload(), due));
        self.note(answer);
    }

    fn publish_batch(&mut self, queue: &str) {
        let ops: Vec<OpKind> = (0..5).map(|_| append(queue, &self.payload(), Due::Now)).collect();
        for answer in self.bench.submit(Txn::all(ops)) {
            self.note(answer);
        }
    }

    fn note(&mut self, answer: Result<OpReply, OpError>) {
        if let Ok(OpReply::Event(view)) = answer {
            self.ids.push(view.id);
        }
    }

    fn claim(&mut self, queue: &str) {
        let seconds = 1 + self.random.below(30);
        if let Ok(OpReply::Claimed(claimed)) = self.bench.ask(OpKind::Claim(claim(queue, 2, seconds))) {
            self.leases.extend(claimed.leases);
        }
    }

    fn settle(&mut self) {
        if self.leases.is_empty() {
            return;
        }
        let at = self.random.below(self.leases.len() as u32) as usize;
        let grant = self.leases[at].clone();
        let step = match self.random.below(8) {
            0..=2 => SettleStep::Ack,
            3 => SettleStep::AckWith(telling::result("[3]")),
            4 => fail_in("no", self.random.below(5)),
            5 => fatal(),
            6 => release(),
            _ => beat(10),
        };
        if !matches!(step, SettleStep::Extend(_)) {
            self.leases.remove(at);
        }
        let answer = self.bench.say(&grant, step);
        if let (Ok(settled), Some(lease)) =
            (answer, self.leases.iter_mut().find(|held| held.event == grant.event))
        {
            lease.lease_expires_at = settled.lease_expires_at;
        }
    }

    fn redrive_or_delete(&mut self, queue: &str) {
        if self.random.once_in(6) {
            let _ = self.bench.ask(delete(queue, true));
            self.leases.retain(|lease| lease.queue_name != queue);
            return;
        }
        if self.random.once_in(3) {
            // One transaction: a crash between two would leave what no step left.
            if self.random.once_in(2) {
                let _ = self.bench.ask(trim_to(SHARED, self.random.below(9).into()));
                return;
            }
            let _ = self.bench.ask(reset(queue, self.from()));
            self.leases.retain(|lease| lease.queue_name != queue);
            return;
        }
        let dead = crate::audit::dead_letters(&self.bench, queue);
        if let Some(event) = dead.first() {
            let _ = self.bench.ask(redrive(event.id));
        }
    }
}
