//! Whole numbers among a command's arguments.
//!
//! Lives here: reading them, with Redis' words for what is none. Not here: their bytes (`frame`).

use crate::redis::frame::{Reply, number};

/// What `text` writes, which must be in the range of 64 bits.
pub(super) fn whole(text: &[u8]) -> Result<i64, Reply> {
    number(text).ok_or_else(|| Reply::error("ERR value is not an integer or out of range"))
}

/// The same, with other words for what is none.
pub(super) fn whole_or(text: &[u8], words: &'static str) -> Result<i64, Reply> {
    number(text).ok_or_else(|| Reply::error(words))
}

/// A count of which none or less means no bound.
pub(super) fn bound(text: &[u8]) -> Result<Option<u64>, Reply> {
    Ok(u64::try_from(whole(text)?).ok().filter(|count| *count > 0))
}

/// A count, as it is answered.
pub(super) fn shown(count: u64) -> Reply {
    Reply::Integer(i64::try_from(count).unwrap_or(i64::MAX))
}
