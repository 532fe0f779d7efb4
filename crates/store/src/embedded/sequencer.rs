//! The one thread that applies: it takes what callers hand in, stamps it with one reading of the
//! clocks, applies it to the tables and hands the record to the log.
//!
//! Lives here: the loop and its batches. While one batch is being synced the next is applied; no
//! answer leaves before what it shows is durable. Not here: what commands do (`apply/`), writing
//! and syncing (`log/`).

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, atomic::AtomicBool, atomic::Ordering};
use std::time::Duration;

use naven_core::planted::{Bug, has};
use naven_core::{LeaseTime, Now};
use tokio::sync::oneshot;

use super::apply::{Context, apply_telling, has_ends};
use super::cold::Applied;
use super::command::{Command, Recorded};
use super::inbox::{AllGone, Inbox};
use super::layered::{Layered, unless_unreadable};
use super::log::{Batch, BatchKind, Commit, Committed, Lsn, Then};
use super::pace::Checkpoints;
use super::prepare::Preparer;
use super::record;
use super::request::{Answer, Outlet, Request, only_claims, refuse_request};
use super::storage_error::StorageError;
use super::tables::Journaled;
use crate::clock::{Clock, Random};
use crate::engine::{Hint, Tended};
use crate::read::{Page, Read};
use crate::reply::{OpError, OpReply, Refused, TxnReply};
use crate::token::TokenKey;
use crate::txn::Txn;
use naven_api::limits::TXN_BYTES_MAX;

/// How often the lease clock is made durable while leases live, in ms: after a crash a lease may
/// last longer by so much, never shorter.
const TICK_MS: i64 = 1_000;
/// A batch closes at so many bytes, or at a quarter of a segment.
pub(super) const BATCH_BYTES_MAX: usize = 1024 * 1024;
/// A batch closes at so many transactions.
const BATCH_TXNS_MAX: usize = 1_024;

/// Reads both clocks. The lease clock goes on from the last durable reading.
pub(super) struct Clocks {
    pub(super) clock: Arc<dyn Clock>,
    /// The lease clock's reading at the start.
    pub(super) lease_base: LeaseTime,
    /// The monotonic clock's reading at the start.
    pub(super) started_ms: i64,
}

impl Clocks {
    /// The clocks of a store whose lease clock last stood at `lease`.
    pub(super) fn resumed(clock: Arc<dyn Clock>, lease: Option<LeaseTime>) -> Self {
        let started_ms = clock.monotonic_ms();
        Self { clock, lease_base: lease.unwrap_or_default(), started_ms }
    }

    fn now(&self) -> Now {
        let elapsed = self.clock.monotonic_ms().saturating_sub(self.started_ms).max(0);
        Now { wall: self.clock.wall(), lease: self.lease_base.plus_ms(elapsed) }
    }
}

/// Everything that the sequencer's thread owns.
pub(super) struct Sequencer {
    pub(super) inbox: Inbox,
    pub(super) tables: Journaled<Layered>,
    pub(super) clocks: Clocks,
    pub(super) random: Arc<dyn Random>,
    pub(super) tokens: TokenKey,
    pub(super) commit: Commit,
    pub(super) outlet: Outlet,
    /// Set by whoever learns first that a write failed.
    pub(super) failed: Arc<AtomicBool>,
    /// The number that the next batch begins with.
    pub(super) next: Lsn,
    /// The clocks' reading in the last batch.
    pub(super) stamped: Now,
    /// Bytes that the last start cut off a torn tail.
    pub(super) cut_bytes: u64,
    /// A batch closes at so many bytes: it should fit into a segment.
    pub(super) batch_bytes: usize,
    /// When what changed goes to the cold store.
    pub(super) checkpoints: Checkpoints,
}

/// What is applied under one stamp and not handed to the log yet.
#[derive(Default)]
struct Open {
    payload: Vec<u8>,
    count: u32,
    answers: Vec<Answer>,
}

impl Sequencer {
    /// Serves requests until told to close, or until nobody can send any more.
    pub(super) fn run(mut self) {
        let served = catch_unwind(AssertUnwindSafe(|| self.serve()));
        let closing = served.unwrap_or_else(|_| {
            self.commit.alarm().raise("the thread that applies panicked".to_owned());
            None
        });
        self.close(closing);
    }

    /// Ends the other parts. Whoever asked for it is told.
    pub(super) fn close(mut self, closing: Option<oneshot::Sender<()>>) {
        // Whoever still waits came too late.
        while self.inbox.take_in(BATCH_TXNS_MAX).is_ok()
            && let Some(request) = self.inbox.next()
        {
            refuse_request(request);
        }
        self.checkpoints.stop();
        let now = self.clocks.now();
        // A failure was told to whoever watches the engine's health.
        drop(self.commit.close(now.wall, now.lease));
        if let Some(reply) = closing {
            // Whoever asked may have gone meanwhile.
            let _ = reply.send(());
        }
    }

    fn serve(&mut self) -> Option<oneshot::Sender<()>> {
        loop {
            let until_tick = self.until_tick();
            self.inbox.wait(until_tick).ok()?;
            if let ControlFlow::Break(closing) = self.turn() {
                return Some(closing);
            }
        }
    }

    /// Applies what waits, and looks after ticks and checkpoints. Breaks where it is told to close.
    pub(super) fn turn(&mut self) -> ControlFlow<oneshot::Sender<()>> {
        unless_unreadable(|| self.take_turn()).unwrap_or_else(|error| {
            self.cannot_read(&error);
            ControlFlow::Continue(())
        })
    }

    fn cannot_read(&self, error: &StorageError) {
        self.commit.alarm().raise(format!("a row cannot be read: {error}"));
    }

    fn take_turn(&mut self) -> ControlFlow<oneshot::Sender<()>> {
        self.free_log();
        // Who comes after the clocks were read is of the next batch. That nobody can come any more is seen where one waits.
        let _: Result<(), AllGone> = self.inbox.take_in(BATCH_TXNS_MAX);
        let now = self.clocks.now();
        let mut open = Open::default();
        while let Some(request) = self.inbox.next() {
            let request = match request {
                Request::Close { reply } => {
                    self.hand_over(open, now);
                    return ControlFlow::Break(reply);
                }
                Request::Checkpoint { reply } => {
                    self.hand_over(std::mem::take(&mut open), now);
                    // Whoever asked may have gone meanwhile.
                    let _ = reply.send(self.checkpoint_now());
                    break;
                }
                other => other,
            };
            self.take(request, now, &mut open);
            if open.payload.len() >= self.batch_bytes || open.count as usize >= BATCH_TXNS_MAX {
                self.hand_over(std::mem::take(&mut open), now);
                break;
            }
        }
        self.hand_over(open, now);
        self.tick(now);
        self.checkpoint(now);
        ControlFlow::Continue(())
    }

    /// Serves one request. Where a row that it needs cannot be read, nothing that was applied since the
    /// last batch may leave, and the engine stops.
    fn take(&mut self, request: Request, now: Now, open: &mut Open) {
        if self.failed.load(Ordering::Acquire) {
            return refuse_request(request);
        }
        if let Err(error) = unless_unreadable(|| self.serve_one(request, now, open)) {
            self.cannot_read(&error);
        }
    }

    fn serve_one(&mut self, request: Request, now: Now, open: &mut Open) {
        match request {
            Request::Submit { txns, reply, permit } => {
                if reply.is_closed() && txns.iter().all(only_claims) {
                    return;
                }
                let replies = txns.into_iter().map(|txn| self.apply(txn, now, open)).collect();
                open.answers.push(Answer::Txns { reply, replies, permit });
            }
            Request::Read { read, reply, permit } => {
                let page = self.read(&read, now);
                open.answers.push(Answer::Page { reply, page, permit });
            }
            Request::Tend { budget, reply, permit } => {
                let command = Command::Tend { rows: budget.rows as u64 };
                let txn = Recorded { commands: vec![command], all_or_nothing: false };
                let (_, (rows, more)) = self.record(&txn, now, open);
                let tended = Tended { rows: rows as usize, more };
                open.answers.push(Answer::Tended { reply, tended, permit });
            }
            Request::Close { .. } | Request::Checkpoint { .. } => {
                unreachable!("these are seen before anything is taken")
            }
        }
    }

    fn apply(&mut self, txn: Txn, now: Now, open: &mut Open) -> TxnReply {
        let full = self.commit.is_full() || self.checkpoints.is_stuck();
        let preparer = Preparer { random: &*self.random, tokens: &self.tokens, full };
        let txn = preparer.prepare(&self.tables, txn, now.wall);
        let (mut ops, _) = self.record(&txn, now, open);
        for op in &mut ops {
            if let Ok(OpReply::Page(page)) = op {
                self.complete(page);
            }
        }
        TxnReply { version: self.next + u64::from(open.count), ops }
    }

    /// Applies `txn` and puts its record into the open batch, if it changed anything.
    fn record(
        &mut self,
        txn: &Recorded,
        now: Now,
        open: &mut Open,
    ) -> (Vec<Result<OpReply, OpError>>, (u64, bool)) {
        let bytes = record::encode(txn);
        if bytes.len() > TXN_BYTES_MAX {
            let refused = || Err(OpError::Refused(Refused::TooLarge));
            return (std::iter::repeat_with(refused).take(txn.commands.len()).collect(), (0, false));
        }
        // What is applied has to be written: where there is no room for that, nothing is.
        let changes =
            txn.commands.iter().any(|command| !matches!(command, Command::Read(_) | Command::Refused(_)));
        if changes && !self.commit.has_room_for(open.payload.len() + bytes.len()) {
            let refused = || Err(OpError::Full);
            return (std::iter::repeat_with(refused).take(txn.commands.len()).collect(), (0, false));
        }
        let tells = self.outlet.feed.is_heard();
        let applied = apply_telling(&mut self.tables, txn, now, Some(&self.tokens), tells);
        if applied.changed {
            open.count += 1;
            let length = u32::try_from(bytes.len()).expect("records are far below 4 GiB");
            open.payload.extend_from_slice(&length.to_le_bytes());
            open.payload.extend_from_slice(&bytes);
        }
        open.answers.extend(applied.hints.into_iter().map(Hint::Queue).map(Answer::Hint));
        open.answers.extend(applied.streams.into_iter().map(Hint::Stream).map(Answer::Hint));
        if !applied.changes.is_empty() {
            open.answers.push(Answer::Changes(applied.changes));
        }
        (applied.replies, applied.tended)
    }

    fn read(&mut self, read: &Read, now: Now) -> Result<Page, OpError> {
        let mut page = Context::new(&mut self.tables, now, None).page(read)?;
        self.complete(&mut page);
        Ok(page)
    }

    /// Adds to a page what only this thread knows.
    fn complete(&self, page: &mut Page) {
        if let Page::System(system) = page {
            system.cut_bytes = self.cut_bytes;
        }
    }

    /// Writes what changed to the cold store, where it is time.
    fn checkpoint(&mut self, now: Now) {
        if !self.failed.load(Ordering::Acquire) {
            let at = self.applied();
            self.checkpoints.turn(self.tables.inner_mut(), &self.commit, at, now);
        }
    }

    /// Gives the log room where checkpoints can; nothing is open.
    fn free_log(&mut self) {
        if !self.failed.load(Ordering::Acquire) {
            let at = self.applied();
            self.checkpoints.free_log(self.tables.inner_mut(), &self.commit, at, self.batch_bytes);
        }
    }

    /// Writes everything that changed to the cold store. Answers what that is of; none where it could
    /// not be written.
    fn checkpoint_now(&mut self) -> Option<Lsn> {
        let at = self.applied();
        self.checkpoints.finish(self.tables.inner_mut(), &self.commit, at, &self.failed)
    }

    /// What the tables are of, all batches being handed over.
    fn applied(&self) -> Applied {
        Applied { lsn: self.next - 1, wall: self.stamped.wall, lease: self.stamped.lease }
    }

    /// Hands a batch to the log; its answers leave when it is durable. A batch without a record
    /// waits for what its answers show.
    fn hand_over(&mut self, open: Open, now: Now) {
        if open.count == 0 && open.answers.is_empty() {
            return;
        }
        let outlet = self.outlet.clone();
        let answers = open.answers;
        let then = Box::new(move |committed| match committed {
            Committed::Durable => outlet.deliver(answers),
            Committed::Unknown => Outlet::refuse(answers, &OpError::Unknown),
            Committed::NotWritten => Outlet::refuse(answers, &OpError::Unavailable),
        });
        if open.count == 0 {
            let shown = if has(Bug::UndurableRead) { 0 } else { self.next - 1 };
            return self.commit.when_durable(shown, then);
        }
        self.push(BatchKind::Data, open.count, now, open.payload, then);
    }

    /// How long nobody has to call until the lease clock may have to be made durable. Calls that write nothing put
    /// that off by nothing.
    fn until_tick(&self) -> Duration {
        let since_ms = self.clocks.now().lease.as_ms().saturating_sub(self.stamped.lease.as_ms());
        let left_ms = if (0..TICK_MS).contains(&since_ms) { TICK_MS - since_ms } else { TICK_MS };
        Duration::from_millis(left_ms as u64)
    }

    /// Makes the lease clock durable once a second while leases live.
    fn tick(&mut self, now: Now) {
        let stale = now.lease.as_ms() - self.stamped.lease.as_ms() >= TICK_MS;
        if stale
            && has_ends(&self.tables, now)
            && self.commit.has_room_for(0)
            && !self.failed.load(Ordering::Acquire)
        {
            self.push(BatchKind::Tick, 0, now, Vec::new(), Box::new(|_| {}));
        }
    }

    fn push(&mut self, kind: BatchKind, count: u32, now: Now, payload: Vec<u8>, then: Then) {
        self.stamped = now;
        let lsn = self.next;
        let batch = Batch { kind, lsn, count, wall: now.wall, lease: now.lease, payload };
        self.next = batch.next_lsn();
        self.commit.push(batch, then);
    }
}
