//! Looking for events on behalf of one queue's waiters.
//!
//! Lives here: the task of one line, from its first waiter to its last. Not here: the line itself
//! (`line.rs`).

use std::sync::Arc;
use std::time::Duration;

use naven_api::QueueId;
use naven_store::queue::QueueRef;
use naven_store::reply::{OpError, TxnReply};
use tokio::time::Instant;

use super::line::{Front, Turn};
use super::sync::{now, sleep_until};
use super::{Poke, Waits, is_gone, taken};

/// Most events that one call to the engine asks for, unless a single waiter wants more.
const FRONT_EVENTS_MAX: u32 = 64;
/// Shortest pause after a look that found nothing, whatever the engine says is due.
const PAUSE_MIN: Duration = Duration::from_millis(5);

/// What one call to the engine found.
enum Found {
    /// Something for everyone it was asked for: there may be more.
    All,
    /// Not enough: look again after this long, at the latest.
    Dry(Duration),
    /// The queue is not there any more.
    Gone,
}

/// Serves the waiters of `queue` until none is left. The first look is at `next` or at a poke.
pub(super) async fn look(waits: Arc<Waits>, queue: QueueId, poke: Poke, mut next: Instant) {
    loop {
        tokio::select! {
            biased;
            () = poke.notified() => {}
            () = sleep_until(next) => {}
        }
        // One event wakes few waiters: one is asked for at first, and twice as many while all are served.
        let mut size = 1;
        loop {
            let Some(front) = waits.lines().take_front(queue, size) else { return };
            match serve(&waits, queue, front).await {
                Found::All => size = (size * 2).min(FRONT_EVENTS_MAX),
                Found::Dry(wait) => {
                    next = now() + wait;
                    break;
                }
                Found::Gone => return,
            }
        }
    }
}

/// Asks the engine once, each waiter by its own claim, and hands out what it takes.
async fn serve(waits: &Waits, queue: QueueId, front: Vec<Front>) -> Found {
    let txns = front.iter().map(|front| front.waiter.want.txn(QueueRef::Id(queue))).collect();
    let replies = waits.engine.submit(txns).await;
    let (mut back, mut gone) = (Vec::new(), Vec::new());
    let mut wait = None;
    let mut replies = replies.into_iter();
    for front in front {
        match turn(waits, replies.next()) {
            Ok(turn) => drop(front.waiter.answer.send(turn)),
            Err(Dry::Queue(due)) => {
                wait = Some(shortest(wait, due.unwrap_or(waits.look_every)));
                back.push(front);
            }
            Err(Dry::Gone) => gone.push(front),
        }
    }
    let mut lines = waits.lines();
    if !gone.is_empty() {
        gone.append(&mut back);
        lines.gone(queue, gone);
        return Found::Gone;
    }
    lines.put_back(queue, back, now());
    wait.map_or(Found::All, |wait| Found::Dry(wait.clamp(PAUSE_MIN, waits.look_every.max(PAUSE_MIN))))
}

/// Why a waiter has no turn yet.
enum Dry {
    Queue(Option<Duration>),
    Gone,
}

fn turn(waits: &Waits, reply: Option<TxnReply>) -> Result<Turn, Dry> {
    match taken(reply, &waits.give_back) {
        Ok(Ok(leases)) => Ok(Turn::Leased(leases)),
        Ok(Err(nothing)) => Err(Dry::Queue(nothing.due_in)),
        Err(error) if is_gone(&error) => Err(Dry::Gone),
        // Nothing is wrong but the moment: the waiter keeps its place.
        Err(OpError::Busy { after }) => Err(Dry::Queue(Some(after))),
        Err(error) => Ok(Turn::Failed(error)),
    }
}

fn shortest(known: Option<Duration>, other: Duration) -> Duration {
    known.map_or(other, |known| known.min(other))
}
