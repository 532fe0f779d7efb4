//! Changes that are kept for those who watch, and how many may.
//!
//! Lives here: the ring of the last changes, and the places of tails. Not here: who fills it
//! (`watch.rs`), and how changes are written (`http/tail.rs`).

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use naven_api::limits::{TAIL_KEPT_MAX, TAILS_PER_KEY_MAX, TAILS_PER_NODE_MAX};
use naven_api::{KeyId, QueueId};
use naven_store::Change;
use tokio::sync::watch;

/// One entry of the ring.
#[derive(Debug, Clone)]
pub(crate) enum Kept {
    /// What happened.
    Change(Change),
    /// Something happened here that this node missed.
    Gap,
}

#[derive(Debug, Default)]
struct Ring {
    /// The number of the first that is kept; numbers begin with 1.
    first: u64,
    kept: VecDeque<Kept>,
}

/// The last changes of all queues, and who watches.
pub(crate) struct Tails {
    ring: Mutex<Ring>,
    /// The number of the last one.
    last: watch::Sender<u64>,
    places: Arc<Mutex<Places>>,
}

#[derive(Debug, Default)]
struct Places {
    taken: usize,
    by_key: HashMap<KeyId, usize>,
}

/// What a tail is to be told next.
pub(crate) struct Next {
    /// With their numbers, in order.
    pub(crate) changes: Vec<(u64, Kept)>,
    /// From where to go on.
    pub(crate) next: u64,
    /// True where something before them is not kept any more.
    pub(crate) missed: bool,
}

impl Tails {
    pub(crate) fn new() -> Self {
        let ring = Mutex::new(Ring { first: 1, kept: VecDeque::new() });
        Self { ring, last: watch::channel(0).0, places: Arc::default() }
    }

    /// Keeps some more.
    pub(crate) fn push(&self, more: impl IntoIterator<Item = Kept>) {
        let mut ring = self.ring();
        for one in more {
            if ring.kept.len() >= TAIL_KEPT_MAX {
                ring.kept.pop_front();
                ring.first += 1;
            }
            ring.kept.push_back(one);
        }
        let last = ring.end() - 1;
        drop(ring);
        self.last.send_replace(last);
    }

    /// Turns whenever there is more.
    pub(crate) fn grown(&self) -> watch::Receiver<u64> {
        self.last.subscribe()
    }

    /// The first number that was not given yet.
    pub(crate) fn end(&self) -> u64 {
        self.ring().end()
    }

    /// The first number that is kept, or would be.
    pub(crate) fn first(&self) -> u64 {
        self.ring().first
    }

    /// What follows from number `next` on in `queue` and passes `takes`: at most `most`.
    pub(crate) fn from(
        &self,
        next: u64,
        queue: QueueId,
        takes: impl Fn(&Change) -> bool,
        most: usize,
    ) -> Next {
        let ring = self.ring();
        let from = next.max(ring.first);
        let mut found = Next { changes: Vec::new(), next: from, missed: from > next };
        let skipped = usize::try_from(from - ring.first).unwrap_or(usize::MAX);
        for kept in ring.kept.iter().skip(skipped) {
            if found.changes.len() >= most {
                break;
            }
            let is_its = match kept {
                Kept::Change(change) => change.queues.as_slice().contains(&queue) && takes(change),
                Kept::Gap => true,
            };
            if is_its {
                found.changes.push((found.next, kept.clone()));
            }
            found.next += 1;
        }
        found
    }

    /// A place for one more tail of a key; none where too many watch.
    pub(crate) fn take_place(&self, key: KeyId) -> Option<Place> {
        let mut places = lock(&self.places);
        let of_key = places.by_key.get(&key).copied().unwrap_or(0);
        if places.taken >= TAILS_PER_NODE_MAX || of_key >= TAILS_PER_KEY_MAX {
            return None;
        }
        places.taken += 1;
        places.by_key.insert(key, of_key + 1);
        Some(Place { places: Arc::clone(&self.places), key })
    }

    /// How many are taken.
    pub(crate) fn open(&self) -> usize {
        lock(&self.places).taken
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        lock(&self.ring)
    }
}

impl Ring {
    fn end(&self) -> u64 {
        self.first + self.kept.len() as u64
    }
}

/// One tail's place. Dropping it makes room.
pub(crate) struct Place {
    places: Arc<Mutex<Places>>,
    key: KeyId,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut places = lock(&self.places);
        places.taken -= 1;
        if let Some(of_key) = places.by_key.get_mut(&self.key) {
            *of_key -= 1;
            if *of_key == 0 {
                places.by_key.remove(&self.key);
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code panics while it holds the lock.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_bounded_for_the_node_and_for_each_key() {
        let tails = Tails::new();
        let key = |n: usize| KeyId::from_bits(n as u128 + 1);
        let taken: Vec<_> = (0..TAILS_PER_NODE_MAX)
            .map(|n| tails.take_place(key(n / TAILS_PER_KEY_MAX)).expect("there is room"))
            .collect();
        assert!(tails.take_place(key(99)).is_none(), "the node is full");
        drop(taken);
        let of_one: Vec<_> = (0..TAILS_PER_KEY_MAX).map(|_| tails.take_place(key(0))).collect();
        assert!(of_one.iter().all(Option::is_some) && tails.take_place(key(0)).is_none());
        assert!(tails.take_place(key(1)).is_some());
    }

    #[test]
    fn the_ring_keeps_the_last_ones_and_says_what_is_gone() {
        let (tails, queue) = (Tails::new(), QueueId::from_bits(1));
        tails.push((0..TAIL_KEPT_MAX + 3).map(|_| Kept::Gap));
        assert_eq!((tails.first(), tails.end()), (4, TAIL_KEPT_MAX as u64 + 4));
        let found = tails.from(3, queue, |_| true, 2);
        assert_eq!((found.missed, found.next, found.changes.len()), (true, 6, 2));
        assert!(!tails.from(4, queue, |_| true, 2).missed);
        let end = tails.from(tails.end(), queue, |_| true, 2);
        assert_eq!((end.missed, end.next, end.changes.len()), (false, tails.end(), 0));
    }
}
