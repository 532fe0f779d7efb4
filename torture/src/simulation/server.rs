//! The server of a simulation: the engine on a disk that can lose what was not synced.
//!
//! Lives here: its start, its turns, its requests and its end. Not here: when those come (`world.rs`).

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use naven_api::Timestamp;
use naven_store::conformance::clock::WALL_START_MS;
use naven_store::conformance::{ManualClock, SeededRandom};
use naven_store::embedded::disk::{Disk, Fault, Flaw, Lasts, Loss, MemDisk, Replay, Site};
use naven_store::embedded::stepped::{Part, Stepped, Turn};
use naven_store::embedded::{Embedded, Options, Pace};
use naven_store::read::{Page, Read};
use naven_store::reply::{OpError, TxnReply};
use naven_store::txn::Txn;
use naven_store::{Budget, Engine, Health};

use super::dice::Dice;

const ROOMY: u64 = 1 << 40;
const SEGMENT_BYTES: u64 = 64 << 10;

type Waiting<T> = Pin<Box<dyn Future<Output = T>>>;

/// How a process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Kill,
    PowerCut,
}

/// The server's machine; the process on it may be down.
pub(crate) struct Server {
    disk: Arc<MemDisk>,
    clock: Arc<ManualClock>,
    pace: Pace,
    /// Starts so far.
    lives: u32,
    running: Option<Running>,
}

struct Running {
    engine: Arc<Embedded>,
    parts: Stepped,
    asked: Vec<(usize, Waiting<Vec<TxnReply>>)>,
    tending: Option<Waiting<()>>,
}

impl Server {
    pub(crate) fn new(pace: Pace) -> Self {
        let (disk, clock) = (Arc::new(MemDisk::recorded()), Arc::new(ManualClock::default()));
        Self { disk, clock, pace, lives: 0, running: None }
    }

    pub(crate) fn is_up(&self) -> bool {
        self.running.is_some()
    }

    /// The engine of the process, where there is one.
    pub(crate) fn engine(&self) -> Option<Arc<Embedded>> {
        self.running.as_ref().map(|running| Arc::clone(&running.engine))
    }

    /// How often it was started.
    pub(crate) fn lives(&self) -> u32 {
        self.lives
    }

    pub(crate) fn clock(&self) -> Arc<ManualClock> {
        Arc::clone(&self.clock)
    }

    /// Starts the process. Errors are in words: where the disk is well, there is no reason for one.
    pub(crate) fn start(&mut self, dice: &Dice) -> Result<(), String> {
        self.lives += 1;
        // Each process has its own beginning of time, and its own randomness.
        self.clock.set(naven_store::Clock::wall(&*self.clock), dice.between(0..=1_000_000));
        let options = Options { segment_bytes: Some(SEGMENT_BYTES), checkpoint: Some(self.pace) };
        let random = Arc::new(SeededRandom::new(dice.draw()));
        let disk: Arc<dyn Disk> = Arc::clone(&self.disk) as _;
        let opened = Stepped::open(disk, options, Arc::clone(&self.clock) as _, random);
        let (engine, parts) = opened.map_err(|error| error.to_string())?;
        self.running = Some(Running { engine: Arc::new(engine), parts, asked: Vec::new(), tending: None });
        Ok(())
    }

    /// The true time goes on to `now_ms`, and the wall clock shows so much more.
    pub(crate) fn pass(&self, by_ms: i64) {
        self.clock.advance_ms(by_ms);
    }

    pub(crate) fn set_wall(&self, now_ms: i64, offset_ms: i64) {
        let wall = Timestamp::from_ms(WALL_START_MS + now_ms + offset_ms);
        self.clock.set(wall, naven_store::Clock::monotonic_ms(&*self.clock));
    }

    /// Takes a request in; false where nobody listens.
    pub(crate) fn ask(&mut self, request: usize, txn: Txn) -> bool {
        let Some(running) = &mut self.running else { return false };
        let engine = Arc::clone(&running.engine);
        let mut waiting: Waiting<Vec<TxnReply>> = Box::pin(async move { engine.submit(vec![txn]).await });
        // The first look hands it to the sequencer.
        assert!(poll(&mut waiting).is_none(), "nothing is answered before a turn");
        running.asked.push((request, waiting));
        true
    }

    /// The caller of this request is known to be gone.
    pub(crate) fn hang_up(&mut self, request: usize) {
        if let Some(running) = &mut self.running {
            running.asked.retain(|(asked, _)| *asked != request);
        }
    }

    /// Has what is due done, in the background.
    pub(crate) fn tend(&mut self) {
        let Some(running) = &mut self.running else { return };
        if running.tending.is_none() {
            let engine = Arc::clone(&running.engine);
            let mut waiting: Waiting<()> = Box::pin(async move {
                // Where the engine is down nothing is due.
                drop(engine.tend(Budget { rows: 1_000 }).await);
            });
            running.tending = poll(&mut waiting).is_none().then_some(waiting);
        }
    }

    pub(crate) fn turn(&mut self, part: Part) -> Turn {
        self.running.as_mut().map_or(Turn::Over, |running| running.parts.turn(part))
    }

    /// What was answered since the last look.
    pub(crate) fn answered(&mut self) -> Vec<(usize, TxnReply)> {
        let Some(running) = &mut self.running else { return Vec::new() };
        if let Some(tending) = &mut running.tending
            && poll(tending).is_some()
        {
            running.tending = None;
        }
        let mut answered = Vec::new();
        running.asked.retain_mut(|(request, waiting)| match poll(waiting) {
            None => true,
            Some(mut replies) => {
                answered.push((*request, replies.pop().expect("one transaction was asked")));
                false
            }
        });
        answered
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.running.as_ref().is_some_and(|running| *running.engine.health().borrow() != Health::Well)
    }

    /// Reads, with everybody else waiting. None while the server is down.
    pub(crate) fn look(&mut self, read: Read) -> Option<Result<Page, OpError>> {
        let running = self.running.as_mut()?;
        let engine = Arc::clone(&running.engine);
        let mut waiting: Waiting<_> = Box::pin(async move { engine.read(read).await });
        for _ in 0..1_000 {
            if let Some(page) = poll(&mut waiting) {
                return Some(page);
            }
            running.parts.turn(Part::Sequencer);
            running.parts.turn(Part::Log);
        }
        panic!("a read is not answered")
    }

    /// One of the next calls to the disk fails.
    pub(crate) fn fail_disk(&self, dice: &Dice) {
        let sites: Vec<(Site, u64)> = self.disk.sites().into_iter().collect();
        if sites.is_empty() {
            return;
        }
        let (site, calls) = sites[dice.count(0..=sites.len() - 1)];
        let flaw = dice.one_of(&[Flaw::Io, Flaw::NoRoom, Flaw::Short]);
        let nth = calls + u64::try_from(dice.between(1..=3)).expect("it is positive");
        self.disk.fail(Fault { site, nth, lasts: Lasts::Once, flaw });
    }

    /// A new disk of the same content: nothing fails any more.
    pub(crate) fn mend_disk(&self) {
        self.disk.mend();
        self.leave_room(None);
    }

    /// Leaves so many bytes of the disk; none: all there can be.
    pub(crate) fn leave_room(&self, bytes: Option<u64>) {
        match bytes {
            None => self.disk.set_capacity(ROOMY),
            Some(bytes) => self.disk.leave_free(bytes),
        }
    }

    /// The process ends in the middle of what it does. What the disk keeps is decided by `end`.
    pub(crate) fn die(&mut self, end: End, dice: &Dice) {
        let before = self.disk.ops();
        if dice.percent(60) {
            // The last turn happens in part: its answers leave nobody.
            self.turn(dice.one_of(&Part::ALL));
        }
        let target = dice.count(before..=self.disk.ops());
        let recording = self.disk.recording();
        let mut replay = Replay::new(&recording);
        while replay.at() < target && replay.advance() {}
        let loss = match end {
            End::Kill if dice.percent(50) => Loss::None,
            End::Kill => Loss::Cut { bytes: dice.count(0..=replay.next_write().unwrap_or(0)) },
            End::PowerCut if dice.percent(30) => Loss::All,
            End::PowerCut => Loss::Torn { piece: dice.one_of(&[512, 4_096]), seed: dice.draw() },
        };
        let left = replay.image(loss);
        self.running = None;
        self.disk = left;
    }

    /// Stops as an operator stops it. False where it did not come to its end.
    pub(crate) fn stop(&mut self) -> bool {
        let Some(mut running) = self.running.take() else { return true };
        let engine = Arc::clone(&running.engine);
        let mut closing: Waiting<()> = Box::pin(async move { engine.close().await });
        let closed = (0..1_000).any(|_| {
            for part in Part::ALL {
                running.parts.turn(part);
            }
            poll(&mut closing).is_some()
        });
        drop(running);
        self.disk = Arc::new(self.disk.copy());
        closed
    }

    /// A copy of the disk, for whoever looks through it.
    pub(crate) fn disk(&self) -> Arc<dyn Disk> {
        Arc::new(self.disk.copy())
    }
}

fn poll<T>(waiting: &mut Waiting<T>) -> Option<T> {
    match waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}
