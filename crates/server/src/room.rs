//! Room for what is large: how many bytes of requests, or of answers, are held at once.
//!
//! Lives here: taking room and giving it back. Not here: who needs how much (the doors), and how much there is
//! (`config.rs`).
//!
//! Room is taken before the bytes are there, for as many as there may be, and what turns out not to be needed goes
//! back. So memory stays bounded whatever clients send, and whatever they leave unread: who finds no room waits, and
//! who has waited too long is told so.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// What is no larger is not counted: its number is bounded by that of connections.
pub(crate) const UNCOUNTED_BYTES: usize = naven_api::limits::BODY_SMALL_BYTES;
/// What room is counted in, in bytes.
const PLACE_BYTES: usize = 1024;

/// Room for so many bytes.
#[derive(Debug)]
pub(crate) struct Room {
    places: Arc<Semaphore>,
    all: u32,
}

/// Room that somebody has. Dropping it gives it back.
#[derive(Debug)]
pub(crate) struct Taken(Option<OwnedSemaphorePermit>);

impl Room {
    /// Room for `bytes`.
    pub(crate) fn of(bytes: usize) -> Self {
        let all = places(bytes).min(u32::MAX as usize >> 3).max(1);
        Self { places: Arc::new(Semaphore::new(all)), all: all as u32 }
    }

    /// Takes room for `bytes`, or all there is where that is less, once it is there. None: it was not, for as long as
    /// `patience`. Who came first is served first. Cancel safe.
    pub(crate) async fn take(&self, bytes: usize, patience: Duration) -> Option<Taken> {
        if bytes <= UNCOUNTED_BYTES {
            return Some(Taken(None));
        }
        let wanted = u32::try_from(places(bytes)).unwrap_or(u32::MAX).min(self.all);
        let permit = Arc::clone(&self.places).acquire_many_owned(wanted);
        let permit = tokio::time::timeout(patience, permit).await.ok()?;
        Some(Taken(permit.ok()))
    }
}

impl Taken {
    /// Gives back what is not needed for `bytes`.
    pub(crate) fn shrink_to(&mut self, bytes: usize) {
        let Some(permit) = &mut self.0 else { return };
        if bytes <= UNCOUNTED_BYTES {
            self.0 = None;
        } else {
            let surplus = permit.num_permits().saturating_sub(places(bytes));
            drop(permit.split(surplus));
        }
    }

    /// True where something was taken.
    pub(crate) fn is_counted(&self) -> bool {
        self.0.is_some()
    }

    /// This and `more`, of the same room.
    pub(crate) fn and(&mut self, more: Self) {
        match (&mut self.0, more.0) {
            (Some(permit), Some(more)) => permit.merge(more),
            (mine, more) => *mine = mine.take().or(more),
        }
    }
}

fn places(bytes: usize) -> usize {
    bytes.div_ceil(PLACE_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(10);
    const MIB: usize = 1024 * 1024;

    #[tokio::test(start_paused = true)]
    async fn who_finds_no_room_waits_until_some_is_given_back() {
        let room = Room::of(2 * MIB);
        let mut first = room.take(2 * MIB, SOON).await.unwrap();
        assert!(room.take(MIB, SOON).await.is_none(), "all of it is taken");
        first.shrink_to(MIB);
        let second = room.take(MIB, SOON).await.unwrap();
        assert!(room.take(UNCOUNTED_BYTES + 1, SOON).await.is_none(), "not a place is left");
        assert!(room.take(UNCOUNTED_BYTES, SOON).await.is_some(), "what is small needs none");
        drop((first, second));
        assert!(room.take(2 * MIB, SOON).await.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_larger_than_all_there_is_takes_all() {
        let room = Room::of(MIB);
        let mut all = room.take(64 * MIB, SOON).await.unwrap();
        assert!(room.take(UNCOUNTED_BYTES + 1, SOON).await.is_none());
        all.shrink_to(8 * MIB);
        assert!(room.take(UNCOUNTED_BYTES + 1, SOON).await.is_none(), "it still needs all");
        all.shrink_to(UNCOUNTED_BYTES);
        assert!(room.take(MIB, SOON).await.is_some(), "small now");
    }
}
