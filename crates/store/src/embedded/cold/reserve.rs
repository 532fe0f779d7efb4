//! Room that is kept for the cold store, so that a full disk has a way back.
//!
//! Lives here: the file that holds it. Not here: when it is let go and made again
//! (`checkpointer.rs`).
//!
//! redb changes no page in place: even removing rows takes new pages before it gives any back. On a disk
//! that is full to the last byte nothing could be removed any more. So a file of zeros holds room that is
//! let go when a checkpoint finds none; by then publishes are refused, and what waits takes less. It is
//! twice a window's size, which is what the next checkpoint may need at most.

use super::{COLD_FILE, Cold, remove};
use crate::embedded::disk::{DiskResult, Site};

/// The file's name.
pub(crate) const RESERVE_FILE: &str = "cold.reserve";
/// The most that is kept.
const RESERVE_BYTES_MAX: u64 = 32 << 20;
/// What the file needs of unused pages to do without a reserve.
const SPARE_BYTES: u64 = 1 << 20;

const RESERVE: Site = Site("cold.reserve");

impl Cold {
    /// Makes the reserve, where it is not there. False where there is no room for it.
    ///
    /// # Errors
    /// Whatever the disk says, but for want of room.
    pub(crate) fn keep_reserve(&mut self) -> DiskResult<bool> {
        if self.has_reserve {
            return Ok(true);
        }
        let bytes = (2 * self.segment_bytes).min(RESERVE_BYTES_MAX);
        match self.disk.len_of(RESERVE, RESERVE_FILE)? {
            Some(len) if len == bytes => {
                self.has_reserve = true;
                return Ok(true);
            }
            Some(_) => self.disk.remove(RESERVE, RESERVE_FILE)?,
            None => {}
        }
        // Not to the disk's last byte.
        if self.disk.free_bytes(RESERVE)? < bytes + self.segment_bytes {
            return Ok(false);
        }
        match self.disk.create(RESERVE, RESERVE_FILE, bytes) {
            Ok(_) => self.has_reserve = true,
            Err(error) if error.is_no_room() => {}
            Err(error) => return Err(error),
        }
        Ok(self.has_reserve)
    }

    /// Gives the reserve's room to whoever writes next.
    ///
    /// # Errors
    /// Whatever the disk says.
    pub(crate) fn let_reserve_go(&mut self) -> DiskResult<()> {
        self.has_reserve = false;
        remove(&*self.disk, RESERVE, RESERVE_FILE)
    }

    /// True where the file has so many unused pages that it needs no reserve.
    ///
    /// # Errors
    /// Whatever the disk says.
    pub(crate) fn has_room_inside(&self) -> DiskResult<bool> {
        let len = self.disk.len_of(RESERVE, COLD_FILE)?.unwrap_or(0);
        Ok(2 * self.live_bytes + SPARE_BYTES < len)
    }
}
