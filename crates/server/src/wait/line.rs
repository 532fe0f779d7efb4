//! Who waits, in which order.
//!
//! Lives here: one line of waiters for each queue, their counts, and which queues were hinted. All of
//! it is behind one lock that is never held across an await. Not here: asking the engine.

use std::collections::{BTreeMap, HashMap};

use naven_api::system::WaitersReply;
use naven_api::{KeyId, QueueId};
use naven_store::queue::QueueRef;
use naven_store::reply::OpError;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::{Poke, Undelivered, WaitLimits, Want};

/// Queues whose last hint is remembered by itself; past that, all share the newest.
const HINTS_REMEMBERED: usize = 1_024;

/// What a waiter is told.
#[derive(Debug)]
pub(super) enum Turn {
    Leased(Undelivered),
    Nothing,
    Closing,
    Gone,
    Failed(OpError),
}

/// One claim that waits.
pub(super) struct Waiter {
    pub(super) want: Want,
    pub(super) deadline: Instant,
    pub(super) answer: oneshot::Sender<Turn>,
}

/// A waiter for whom the engine is being asked.
pub(super) struct Front {
    number: u64,
    pub(super) waiter: Waiter,
}

#[derive(Default)]
struct Line {
    waiting: BTreeMap<u64, Waiter>,
    /// How many of its waiters the engine is being asked for; they are not among `waiting`.
    asked: usize,
    names: Vec<String>,
    poke: Poke,
}

/// Everyone who waits.
#[derive(Default)]
pub(super) struct Lines {
    by_queue: HashMap<QueueId, Line>,
    by_name: HashMap<String, QueueId>,
    next_number: u64,
    tickets: usize,
    by_key: HashMap<KeyId, usize>,
    hints: u64,
    hinted: HashMap<QueueId, u64>,
    hinted_floor: u64,
    draining: bool,
}

impl Lines {
    pub(super) fn is_draining(&self) -> bool {
        self.draining
    }

    /// The queue behind `queue`, where somebody already waits on it.
    pub(super) fn busy_line(&self, queue: &QueueRef) -> Option<QueueId> {
        let id = match queue {
            QueueRef::Id(id) => *id,
            QueueRef::Name(name) => *self.by_name.get(name)?,
            QueueRef::Group { .. } => *self.by_name.get(&queue.to_text())?,
        };
        let line = self.by_queue.get(&id)?;
        (line.asked > 0 || !line.waiting.is_empty()).then_some(id)
    }

    /// Makes the line of `queue`; true where it is new and nobody looks after it yet.
    pub(super) fn open(&mut self, queue: QueueId, known_as: &QueueRef) -> bool {
        let is_new = !self.by_queue.contains_key(&queue);
        let line = self.by_queue.entry(queue).or_default();
        if let QueueRef::Name(name) = known_as
            && self.by_name.insert(name.clone(), queue) != Some(queue)
        {
            line.names.push(name.clone());
        }
        is_new
    }

    /// Puts `waiter` at the end of an open line; none where too many wait.
    pub(super) fn add(
        &mut self,
        queue: QueueId,
        waiter: Waiter,
        key: KeyId,
        limits: WaitLimits,
    ) -> Option<u64> {
        if !self.by_queue.contains_key(&queue) || !self.add_seat(key, limits) {
            return None;
        }
        let line = self.by_queue.get_mut(&queue)?;
        self.next_number += 1;
        line.waiting.insert(self.next_number, waiter);
        Some(self.next_number)
    }

    /// Counts one more who waits, here or elsewhere; false where too many do.
    pub(super) fn add_seat(&mut self, key: KeyId, limits: WaitLimits) -> bool {
        let of_key = self.by_key.get(&key).copied().unwrap_or(0);
        let has_room = self.tickets < limits.per_node && of_key < limits.per_key;
        if has_room {
            self.by_key.insert(key, of_key + 1);
            self.tickets += 1;
        }
        has_room
    }

    /// One who was counted waits no more.
    pub(super) fn leave_seat(&mut self, key: KeyId) {
        self.tickets -= 1;
        if let Some(of_key) = self.by_key.get_mut(&key) {
            *of_key -= 1;
            if *of_key == 0 {
                self.by_key.remove(&key);
            }
        }
    }

    /// Takes a waiter out of its line; false where the engine is being asked for it.
    pub(super) fn withdraw(&mut self, queue: QueueId, number: u64) -> bool {
        self.by_queue.get_mut(&queue).is_some_and(|line| {
            let was_there = line.waiting.remove(&number).is_some();
            // The task that looks after an empty line ends itself.
            if was_there && line.waiting.is_empty() {
                line.poke.notify_one();
            }
            was_there
        })
    }

    /// The end of a ticket, however it ended.
    pub(super) fn leave(&mut self, queue: QueueId, number: u64, key: KeyId) {
        self.withdraw(queue, number);
        self.leave_seat(key);
    }

    /// The first waiters of a line, who want at most `events` together (one of them may want more).
    /// The engine will be asked for them. None where nobody waits: the line is closed, and who looked
    /// after it is done.
    pub(super) fn take_front(&mut self, queue: QueueId, events: u32) -> Option<Vec<Front>> {
        let line = self.by_queue.get_mut(&queue)?;
        let (mut front, mut left) = (Vec::new(), events);
        while let Some(first) = line.waiting.first_entry() {
            let wanted = first.get().want.max;
            if wanted > left && !front.is_empty() {
                break;
            }
            left = left.saturating_sub(wanted);
            let (number, waiter) = first.remove_entry();
            front.push(Front { number, waiter });
            if left == 0 {
                break;
            }
        }
        line.asked = front.len();
        if front.is_empty() {
            self.close(queue);
            return None;
        }
        Some(front)
    }

    /// Ends the asking: `back` are those for whom nothing was found, and they keep their places.
    /// Those whose time is over, and all while the server shuts down, are answered now.
    pub(super) fn put_back(&mut self, queue: QueueId, back: Vec<Front>, now: Instant) {
        let draining = self.draining;
        let Some(line) = self.by_queue.get_mut(&queue) else { return };
        line.asked = 0;
        for Front { number, waiter } in back {
            if draining {
                answer(waiter, Turn::Closing);
            } else if waiter.deadline <= now {
                answer(waiter, Turn::Nothing);
            } else if !waiter.answer.is_closed() {
                line.waiting.insert(number, waiter);
            }
        }
    }

    /// Closes a line whose queue is not there any more.
    pub(super) fn gone(&mut self, queue: QueueId, front: Vec<Front>) {
        let waiting = self.close(queue);
        let asked = front.into_iter().map(|front| front.waiter);
        asked.chain(waiting).for_each(|waiter| answer(waiter, Turn::Gone));
    }

    fn close(&mut self, queue: QueueId) -> Vec<Waiter> {
        let Some(line) = self.by_queue.remove(&queue) else { return Vec::new() };
        for name in line.names {
            if self.by_name.get(&name) == Some(&queue) {
                self.by_name.remove(&name);
            }
        }
        line.waiting.into_values().collect()
    }

    /// Answers everybody who waits with `turn`.
    pub(super) fn end_all(&mut self, drain: bool, turn: &dyn Fn() -> Turn) {
        self.draining |= drain;
        for line in self.by_queue.values_mut() {
            std::mem::take(&mut line.waiting).into_values().for_each(|waiter| answer(waiter, turn()));
            line.poke.notify_one();
        }
    }

    pub(super) fn counts(&self) -> WaitersReply {
        let busy = |line: &&Line| line.asked > 0 || !line.waiting.is_empty();
        WaitersReply {
            claims: self.tickets as u64,
            queues: self.by_queue.values().filter(busy).count() as u64,
        }
    }

    pub(super) fn poke_of(&self, queue: QueueId) -> Poke {
        self.by_queue.get(&queue).map(|line| Poke::clone(&line.poke)).unwrap_or_default()
    }

    pub(super) fn poke(&self, queue: QueueId) {
        if let Some(line) = self.by_queue.get(&queue) {
            line.poke.notify_one();
        }
    }

    /// How many hints came so far.
    pub(super) fn hints_seen(&self) -> u64 {
        self.hints
    }

    /// True where `queue` may have been hinted after the first `since` hints.
    pub(super) fn was_hinted_since(&self, queue: QueueId, since: u64) -> bool {
        *self.hinted.get(&queue).unwrap_or(&self.hinted_floor) > since
    }

    pub(super) fn hint(&mut self, queue: QueueId) {
        self.hints += 1;
        if self.hinted.len() >= HINTS_REMEMBERED && !self.hinted.contains_key(&queue) {
            self.hinted.clear();
            self.hinted_floor = self.hints;
        }
        self.hinted.insert(queue, self.hints);
        self.poke(queue);
    }

    pub(super) fn hint_all(&mut self) {
        self.hints += 1;
        self.hinted.clear();
        self.hinted_floor = self.hints;
        self.by_queue.values().for_each(|line| line.poke.notify_one());
    }
}

/// A waiter that has gone meanwhile drops its answer, and a lease in it goes back by that.
fn answer(waiter: Waiter, turn: Turn) {
    drop(waiter.answer.send(turn));
}
