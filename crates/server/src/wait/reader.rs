//! Readers that wait on several things at once: on queues and streams.
//!
//! Lives here: their places, and who is told to look at which hint. Not here: looking, which readers do
//! themselves (`redis/block.rs`), and claims (`line.rs`).
//!
//! Readers of one queue stand in line: only the first one looks, and whoever leaves the line has the next one
//! look. So an entry wakes one of them and not all. Readers of a stream all get what comes to it: all look.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use naven_api::{ErrorCode, KeyId, QueueId};
use naven_store::reply::OpError;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::Waits;
use super::sync::{Mutex, MutexGuard, PoisonError, now, sleep_until};
use crate::failure::Failure;

/// What a reader waits for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct WaitsFor {
    pub(crate) queues: Vec<QueueId>,
    pub(crate) streams: Vec<Bytes>,
}

/// Why a wait is interrupted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Look {
    /// Something may be there.
    Now,
    /// The server shuts down.
    Closing,
    /// The engine has failed.
    Failed(OpError),
}

type Line = BTreeMap<u64, Arc<Notify>>;

/// Every reader that waits.
#[derive(Default)]
pub(super) struct Readers(Mutex<Places>);

#[derive(Default)]
struct Places {
    queues: HashMap<QueueId, Line>,
    streams: HashMap<Bytes, Line>,
    next: u64,
    over: Option<Look>,
}

impl Readers {
    fn places(&self) -> MutexGuard<'_, Places> {
        // No code panics while it holds the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn hint_queue(&self, queue: QueueId) {
        first(self.places().queues.get(&queue));
    }

    pub(super) fn hint_stream(&self, stream: &Bytes) {
        self.places().streams.get(stream).into_iter().flat_map(Line::values).for_each(|one| one.notify_one());
    }

    pub(super) fn hint_all(&self) {
        let places = self.places();
        places.queues.values().for_each(|line| first(Some(line)));
        places.streams.values().flat_map(Line::values).for_each(|one| one.notify_one());
    }

    /// Ends every wait, and each that begins from now on.
    pub(super) fn end_all(&self, with: Look) {
        let mut places = self.places();
        places.over = Some(with);
        let lines = places.queues.values().chain(places.streams.values());
        lines.flat_map(Line::values).for_each(|one| one.notify_one());
    }
}

fn first(line: Option<&Line>) {
    if let Some(one) = line.and_then(|line| line.values().next()) {
        one.notify_one();
    }
}

/// A reader's places. Dropping it leaves them at once.
pub(crate) struct Seat {
    waits: Arc<Waits>,
    on: WaitsFor,
    number: u64,
    key: KeyId,
    poke: Arc<Notify>,
}

impl Waits {
    /// The point in the order of hints: to be asked for before a try.
    pub(crate) fn hints_seen(&self) -> u64 {
        self.lines().hints_seen()
    }

    /// Places for a reader whose try found nothing. What was hinted since then makes it look again at once.
    ///
    /// # Errors
    /// 42902.
    pub(crate) fn seat(self: &Arc<Self>, on: WaitsFor, since: u64, key: KeyId) -> Result<Seat, Failure> {
        if !self.lines().add_seat(key, self.limits) {
            return Err(Failure::new(ErrorCode::TooManyWaiters, "too many calls wait: try again later"));
        }
        let poke = Arc::new(Notify::new());
        let mut places = self.readers.places();
        places.next += 1;
        let number = places.next;
        for queue in &on.queues {
            places.queues.entry(*queue).or_default().insert(number, Arc::clone(&poke));
        }
        for stream in &on.streams {
            places.streams.entry(stream.clone()).or_default().insert(number, Arc::clone(&poke));
        }
        drop(places);
        let lines = self.lines();
        // Looking at a stream costs little, so what was hinted of streams is not kept.
        if !on.streams.is_empty() || on.queues.iter().any(|queue| lines.was_hinted_since(*queue, since)) {
            poke.notify_one();
        }
        drop(lines);
        Ok(Seat { waits: Arc::clone(self), on, number, key, poke })
    }
}

impl Seat {
    /// Ends when it is worthwhile to look: at a hint, at `due` where the engine said so, once in a while, and
    /// when all waits end. Cancel safe.
    pub(crate) async fn look(&self, due: Option<Instant>) -> Look {
        let next = now() + self.waits.look_every;
        let next = due.map_or(next, |due| due.min(next));
        loop {
            if let Some(over) = self.waits.readers.places().over.clone() {
                return over;
            }
            tokio::select! {
                biased;
                () = self.poke.notified() => {}
                // Who is not the first of any line is told when there is something to look for.
                () = sleep_until(next), if self.is_first() => {}
            }
            if self.waits.readers.places().over.is_none() {
                return Look::Now;
            }
        }
    }

    /// True where nobody stands before it in some line.
    fn is_first(&self) -> bool {
        let places = self.waits.readers.places();
        let leads = |line: &Line| line.keys().next() == Some(&self.number);
        !self.on.streams.is_empty()
            || self.on.queues.iter().any(|queue| places.queues.get(queue).is_some_and(leads))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut places = self.waits.readers.places();
        for queue in &self.on.queues {
            if let Some(line) = places.queues.get_mut(queue) {
                line.remove(&self.number);
                first(Some(line));
                if line.is_empty() {
                    places.queues.remove(queue);
                }
            }
        }
        for stream in &self.on.streams {
            if let Some(line) = places.streams.get_mut(stream) {
                line.remove(&self.number);
                if line.is_empty() {
                    places.streams.remove(stream);
                }
            }
        }
        drop(places);
        self.waits.lines().leave_seat(self.key);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use naven_store::conformance::{ManualClock, SeededRandom};
    use naven_store::model::Model;
    use tokio_util::task::TaskTracker;

    use super::*;
    use crate::wait::WaitLimits;

    fn waits(per_key: usize) -> Arc<Waits> {
        let engine = Model::new(Arc::new(ManualClock::default()), Arc::new(SeededRandom::new(1)));
        Waits::new(Arc::new(engine), TaskTracker::new(), WaitLimits { per_node: 9, per_key })
    }

    async fn looks(seat: &Seat) -> Option<Look> {
        // Below the time after which the first one looks in any case.
        tokio::time::timeout(Duration::from_millis(100), seat.look(None)).await.ok()
    }

    #[tokio::test(start_paused = true)]
    async fn readers_of_a_queue_look_one_after_the_other_and_those_of_a_stream_all() {
        let (waits, key) = (waits(9), KeyId::from_bits(1));
        let queue = QueueId::from_bits(7);
        let on_queue = WaitsFor { queues: vec![queue], streams: Vec::new() };
        let seat = |on: &WaitsFor| waits.seat(on.clone(), 0, key).expect("there is room");
        let (first, second) = (seat(&on_queue), seat(&on_queue));
        waits.readers.hint_queue(queue);
        assert_eq!((looks(&first).await, looks(&second).await), (Some(Look::Now), None));
        drop(first);
        assert_eq!(looks(&second).await, Some(Look::Now), "who leaves has the next one look");
        let on_stream = WaitsFor { queues: Vec::new(), streams: vec![Bytes::from_static(b"s")] };
        let (one, other) = (seat(&on_stream), seat(&on_stream));
        for _ in 0..2 {
            // The first look is at once: what was hinted of streams before is not kept.
            assert_eq!((looks(&one).await, looks(&other).await), (Some(Look::Now), Some(Look::Now)));
            waits.readers.hint_stream(&Bytes::from_static(b"s"));
        }
        waits.drain();
        assert_eq!((looks(&one).await, looks(&second).await), (Some(Look::Closing), Some(Look::Closing)));
    }

    #[tokio::test]
    async fn readers_count_among_those_who_wait() {
        let (waits, key) = (waits(1), KeyId::from_bits(1));
        let seat = waits.seat(WaitsFor::default(), 0, key).expect("there is room");
        assert_eq!(waits.counts().claims, 1);
        let refused = waits.seat(WaitsFor::default(), 0, key).map(drop).expect_err("one too many");
        assert_eq!(refused.code, ErrorCode::TooManyWaiters);
        drop(seat);
        assert_eq!(waits.counts().claims, 0);
        assert!(waits.seat(WaitsFor::default(), 0, key).is_ok());
    }
}
