//! Waiting for events: the only place that blocks, for every door.
//!
//! Lives here: one claim from its arrival to its answer, hints, and what ends all waits at once. Not
//! here: the order of waiters (`wait/line.rs`), looking on their behalf (`wait/look.rs`), and leases
//! on their way to a client (`wait/undelivered.rs`).
//!
//! A claim tries by itself while nobody waits on its queue; else it queues up behind those who do,
//! first come, first served. One task for each queue with waiters looks for all of them: when a hint
//! says so, when the engine said that something is due, and once in a while in any case.

mod line;
mod look;
mod reader;
#[cfg(all(test, shuttle))]
mod schedules;
mod sync;
#[cfg(test)]
pub(crate) mod tests;
mod undelivered;

use std::sync::Arc;
use std::time::Duration;

use naven_api::limits::CLAIM_BYTES_MAX;
use naven_api::system::WaitersReply;
use naven_api::{ConsumerId, ErrorCode, KeyId, LeaseSeconds, QueueId};
use naven_core::planted::{Bug, has};
use naven_store::queue::QueueRef;
use naven_store::reply::{Claimed, OpError, OpReply, Refused, TxnReply};
use naven_store::txn::{Claim, ClaimHold, IdempotencySlot, Op, OpKind, Txn};
use naven_store::{Engine, Hint, WaitSet};
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::failure::Failure;
use crate::node::Answered;
use line::{Lines, Turn, Waiter};

use reader::Readers;
pub(crate) use reader::{Look, Seat, WaitsFor};
use sync::{Mutex, MutexGuard, PoisonError, Tasks, now, sleep_until};
use undelivered::GiveBack;
pub(crate) use undelivered::Undelivered;

/// What a claim asks for.
#[derive(Debug, Clone)]
pub(crate) struct Want {
    /// From which queue.
    pub(crate) queue: QueueRef,
    /// For how long; none: the queue's default.
    pub(crate) lease: Option<LeaseSeconds>,
    /// Most events.
    pub(crate) max: u32,
    /// Who claims, as it names itself.
    pub(crate) consumer: Option<ConsumerId>,
    /// Where its leases are kept for a repetition.
    pub(crate) slot: Option<IdempotencySlot>,
}

impl Want {
    fn txn(&self, queue: QueueRef) -> Txn {
        let claim = Claim {
            queue,
            hold: ClaimHold::Lease(self.lease),
            max: self.max,
            max_bytes: CLAIM_BYTES_MAX,
            consumer: self.consumer.clone(),
        };
        let op = Op { idempotency: self.slot.clone(), ..Op::plain(OpKind::Claim(claim)) };
        Txn { ops: vec![op], ..Txn::each([]) }
    }
}

/// How a claim ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// With leases.
    Leased(Undelivered),
    /// Nothing came in time.
    Nothing,
    /// The server shuts down: nothing came, and the connection should close.
    Closing,
}

/// How many claims may wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WaitLimits {
    /// On this node.
    pub(crate) per_node: usize,
    /// Under one key.
    pub(crate) per_key: usize,
}

/// Everyone who waits.
pub(crate) struct Waits {
    engine: Arc<dyn Engine>,
    lines: Mutex<Lines>,
    readers: Readers,
    give_back: Arc<GiveBack>,
    tasks: Arc<Tasks>,
    limits: WaitLimits,
    look_every: Duration,
}

impl Waits {
    /// Nobody waits yet. `tasks` owns every task that is started here.
    pub(crate) fn new(engine: Arc<dyn Engine>, tasks: TaskTracker, limits: WaitLimits) -> Arc<Self> {
        let look_every = engine.caps().look_every;
        let tasks = Arc::new(Tasks::of(tasks));
        let give_back = Arc::new(GiveBack::new(Arc::clone(&engine), Arc::clone(&tasks)));
        Arc::new(Self {
            engine,
            lines: Mutex::default(),
            readers: Readers::default(),
            give_back,
            tasks,
            limits,
            look_every,
        })
    }

    /// Leases due events for `want`, waiting up to `wait`; the deadline is fixed now.
    ///
    /// Dropped while it waits, it leases nothing; dropped while the engine works, the engine gives
    /// its leases back.
    ///
    /// # Errors
    /// 40401, 42902, 50302, and what the engine refuses.
    pub(crate) async fn claim(
        self: &Arc<Self>,
        want: Want,
        wait: Duration,
        key: KeyId,
    ) -> Result<Ended, Failure> {
        let deadline = now() + wait;
        loop {
            let (joined, since) = self.enter(&want, (wait, deadline), key)?;
            let turn = match joined {
                Some(ticket) => ticket.turn(deadline).await,
                None => match self.attempt(&want).await? {
                    Attempt::Leased(leases) => return Ok(Ended::Leased(leases)),
                    Attempt::Empty(_) if wait.is_zero() => return Ok(Ended::Nothing),
                    Attempt::Empty(found) => match self.join(&want, found, since, deadline, key)? {
                        Some(ticket) => ticket.turn(deadline).await,
                        None => Turn::Closing,
                    },
                },
            };
            match turn {
                Turn::Leased(leases) => return Ok(Ended::Leased(leases)),
                Turn::Nothing => return Ok(Ended::Nothing),
                Turn::Closing => return Ok(Ended::Closing),
                Turn::Failed(error) => return Err(error.into()),
                // The queue went away. The name may already belong to another one, so ask once more:
                // the first try says 40401 where it does not.
                Turn::Gone => {}
            }
        }
    }

    /// Where a new claim goes: to the end of a line, or none: it may try by itself. With it comes the
    /// point in the order of hints before the try.
    fn enter(
        self: &Arc<Self>,
        want: &Want,
        (wait, deadline): (Duration, Instant),
        key: KeyId,
    ) -> Result<(Option<Ticket>, u64), Failure> {
        let mut lines = self.lines();
        if lines.is_draining() {
            return Err(Failure::new(ErrorCode::Draining, "the server is shutting down"));
        }
        let since = lines.hints_seen();
        // A claim that does not wait cannot queue up: it tries once, now. Neither does one that may be a
        // repetition, before the engine has said that it holds nothing for it.
        let tries_first = wait.is_zero() || want.slot.is_some();
        let line = if tries_first { None } else { lines.busy_line(&want.queue) };
        let ticket = match line {
            Some(queue) => Some(self.add(&mut lines, want, queue, deadline, key)?),
            None => None,
        };
        Ok((ticket, since))
    }

    /// Queues up after a try that found nothing; none while the server shuts down.
    fn join(
        self: &Arc<Self>,
        want: &Want,
        found: Claimed,
        since: u64,
        deadline: Instant,
        key: KeyId,
    ) -> Result<Option<Ticket>, Failure> {
        let mut lines = self.lines();
        if lines.is_draining() {
            return Ok(None);
        }
        let is_new = lines.open(found.queue, &want.queue);
        let ticket = self.add(&mut lines, want, found.queue, deadline, key);
        if is_new {
            let first = found.due_in.map_or(self.look_every, |due| due.min(self.look_every));
            let poke = lines.poke_of(found.queue);
            self.tasks.spawn(look::look(Arc::clone(self), found.queue, poke, now() + first));
        }
        // What was published between the try and this moment woke nobody.
        if lines.was_hinted_since(found.queue, since) && !has(Bug::LostWakeUp) {
            lines.poke(found.queue);
        }
        ticket.map(Some)
    }

    fn add(
        self: &Arc<Self>,
        lines: &mut Lines,
        want: &Want,
        queue: QueueId,
        deadline: Instant,
        key: KeyId,
    ) -> Result<Ticket, Failure> {
        let (answer, turn) = oneshot::channel();
        let waiter = Waiter { want: want.clone(), deadline, answer };
        let Some(number) = lines.add(queue, waiter, key, self.limits) else {
            return Err(Failure::new(ErrorCode::TooManyWaiters, "too many claims wait: try again later"));
        };
        Ok(Ticket { waits: Arc::clone(self), queue, number, key, turn })
    }

    async fn attempt(&self, want: &Want) -> Result<Attempt, Failure> {
        let mut replies = self.engine.submit(vec![want.txn(want.queue.clone())]).await;
        let taken = taken(replies.pop(), &self.give_back)?;
        Ok(taken.map_or_else(Attempt::Empty, Attempt::Leased))
    }

    /// Listens to the engine's hints until `stop` or until the engine closes.
    pub(crate) async fn listen(self: Arc<Self>, stop: CancellationToken) {
        let mut hints = self.engine.hints(WaitSet::Everything);
        loop {
            let hint = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                hint = hints.next() => hint,
            };
            match hint {
                Some(Hint::Queue(queue)) => {
                    self.lines().hint(queue);
                    self.readers.hint_queue(queue);
                }
                Some(Hint::Stream(stream)) => self.readers.hint_stream(&stream),
                Some(Hint::Missed) => {
                    self.lines().hint_all();
                    self.readers.hint_all();
                }
                None => return,
            }
        }
    }

    /// Ends every wait with an empty answer and lets no new one begin.
    pub(crate) fn drain(&self) {
        self.lines().end_all(true, &|| Turn::Closing);
        self.readers.end_all(Look::Closing);
    }

    /// Ends every wait because the engine has failed.
    pub(crate) fn fail(&self, error: &OpError) {
        self.lines().end_all(false, &|| Turn::Failed(error.clone()));
        self.readers.end_all(Look::Failed(error.clone()));
    }

    /// How many claims wait now, and on how many queues.
    pub(crate) fn counts(&self) -> WaitersReply {
        self.lines().counts()
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        // No code panics while it holds the lock; were it so, the lines would still be whole.
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a try found.
enum Attempt {
    Leased(Undelivered),
    Empty(Claimed),
}

/// One claim's place in a line. Dropping it leaves the line at once.
struct Ticket {
    waits: Arc<Waits>,
    queue: QueueId,
    number: u64,
    key: KeyId,
    turn: oneshot::Receiver<Turn>,
}

impl Ticket {
    /// The end of the wait: a lease, or nothing at `deadline`.
    async fn turn(mut self, deadline: Instant) -> Turn {
        tokio::select! {
            biased;
            turn = &mut self.turn => return received(turn),
            () = sleep_until(deadline) => {}
        }
        if self.waits.lines().withdraw(self.queue, self.number) {
            return Turn::Nothing;
        }
        // The looker asks the engine for this very claim: a lease that it takes must not be lost, and
        // where it takes none it sees that the deadline is over and says so.
        received((&mut self.turn).await)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if has(Bug::GoneWaiterServed) {
            return self.waits.lines().leave_seat(self.key);
        }
        self.waits.lines().leave(self.queue, self.number, self.key);
    }
}

fn received(turn: Result<Turn, oneshot::error::RecvError>) -> Turn {
    // The sender goes without an answer only where the whole server goes.
    turn.unwrap_or(Turn::Failed(OpError::Unavailable))
}

/// The leases in a transaction's reply to one claim, or what it says where it took none.
fn taken(
    reply: Option<TxnReply>,
    give_back: &Arc<GiveBack>,
) -> Result<Result<Undelivered, Claimed>, OpError> {
    let answered = match reply.and_then(|mut reply| reply.ops.pop()) {
        Some(answer) => Answered::from(answer?),
        None => return Err(OpError::Unknown),
    };
    let OpReply::Claimed(mut claimed) = answered.reply else { return Err(OpError::Unknown) };
    if claimed.leases.is_empty() {
        return Ok(Err(claimed));
    }
    let (leases, give_back) = (std::mem::take(&mut claimed.leases), Arc::clone(give_back));
    Ok(Ok(match answered.replayed {
        true => Undelivered::replayed(leases, give_back),
        false => Undelivered::new(leases, give_back),
    }))
}

/// True where `error` says that the queue is not there any more.
fn is_gone(error: &OpError) -> bool {
    *error == OpError::Refused(Refused::QueueNotFound)
}

/// What wakes the task that looks after one line.
type Poke = Arc<Notify>;
