//! From the log back to the tables: the same `apply` that served the calls.
//!
//! Lives here: taking a batch's payload apart. Not here: reading batches (`log/`).

use bytes::{Buf, Bytes};
use naven_api::Timestamp;
use naven_core::Now;
use naven_core::planted::{Bug, has, wall_ms};

use super::apply::apply;
use super::command::{Command, Recorded, Said};
use super::layered::Layered;
use super::record;
use super::storage_error::BoxError;
use super::tables::Journaled;

/// The transactions of a batch; none where this version does not know them.
pub(crate) fn records(payload: &[u8]) -> Option<Vec<Recorded>> {
    let mut rest = Bytes::copy_from_slice(payload);
    let mut all = Vec::new();
    while rest.has_remaining() {
        let length = rest.try_get_u32_le().ok()? as usize;
        let record = (rest.remaining() >= length).then(|| rest.split_to(length))?;
        all.push(record::decode(record)?);
    }
    Some(all)
}

/// Applies the transactions of one batch at its stamp. Answers how many there were.
///
/// # Errors
/// Where the payload is not what this version writes: the checksum was right, so it is not damage.
pub(crate) fn replay(tables: &mut Journaled<Layered>, payload: &[u8], now: Now) -> Result<u32, BoxError> {
    let mut rest = Bytes::copy_from_slice(payload);
    let mut count = 0;
    while rest.has_remaining() {
        let length = rest.try_get_u32_le().map_err(|_| "a record's length is cut short")? as usize;
        if rest.remaining() < length {
            return Err(format!("a record of {length} bytes has only {}", rest.remaining()).into());
        }
        let txn = record::decode(rest.split_to(length)).ok_or("a record that this version does not know")?;
        let applied = apply(tables, &txn, at(&txn, now), None);
        if !applied.changed {
            return Err("a record that changed rows when it was written changes none now".into());
        }
        count += 1;
    }
    Ok(count)
}

/// When a transaction is applied again: at its stamp, but for a planted bug.
fn at(txn: &Recorded, now: Now) -> Now {
    let fails = |command: &Command| matches!(command, Command::Settle { said: Said::Fail(_), .. });
    if has(Bug::ReplayReadsClock) && txn.commands.iter().any(fails) {
        return Now { wall: Timestamp::from_ms(wall_ms()), ..now };
    }
    now
}
