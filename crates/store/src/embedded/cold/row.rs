//! Bytes of values in the cold store.
//!
//! Lives here: a row's checksum, and what the store says of itself. Not here: what rows mean
//! (`rows/`).
//!
//! A value, little endian: `crc32c u32 | the row`, the checksum being over the table's number, the
//! key and the row, so that no row passes for another. What the store is of: `format u16 | store id,
//! 16 bytes | lsn u64 | wall_ms i64 | lease_ms i64 | live bytes u64 | crc32c of all before it`.

use naven_api::Timestamp;
use naven_core::LeaseTime;

use super::{Applied, COLD_FILE, COLD_FORMAT};
use crate::embedded::meta::StoreId;
use crate::embedded::storage_error::StorageError;
use crate::embedded::tables::Table;

pub(crate) const CRC_BYTES: usize = 4;
const APPLIED_BYTES: usize = 54;

/// Puts the value of a row into `value`, in place of what was there.
pub(super) fn encode(table: Table, key: &[u8], row: &[u8], value: &mut Vec<u8>) {
    value.clear();
    value.extend_from_slice(&checksum(table, key, row).to_le_bytes());
    value.extend_from_slice(row);
}

/// The row in a value; none where it is not what was written.
pub(crate) fn decode<'v>(table: Table, key: &[u8], value: &'v [u8]) -> Option<&'v [u8]> {
    let (crc, row) = value.split_at_checked(CRC_BYTES)?;
    (checksum(table, key, row).to_le_bytes() == *crc).then_some(row)
}

/// Of which store a cold store says that it is; none where what it says is not what was written.
pub(super) fn store_of(bytes: &[u8]) -> Option<StoreId> {
    let whole: &[u8; APPLIED_BYTES] = bytes.try_into().ok()?;
    let (said, crc) = whole.split_at(APPLIED_BYTES - CRC_BYTES);
    let is_whole = crc32c::crc32c(said).to_le_bytes() == *crc;
    is_whole.then(|| StoreId(said[2..18].try_into().expect("16 bytes of a longer array")))
}

fn checksum(table: Table, key: &[u8], row: &[u8]) -> u32 {
    let crc = crc32c::crc32c(&[table as u8, key.len() as u8]);
    crc32c::crc32c_append(crc32c::crc32c_append(crc, key), row)
}

/// What the store is of, and how many bytes its rows have, as bytes.
pub(super) fn encode_about(store: StoreId, applied: Applied, live_bytes: u64) -> Vec<u8> {
    let mut bytes = COLD_FORMAT.to_le_bytes().to_vec();
    bytes.extend_from_slice(&store.0);
    bytes.extend_from_slice(&applied.lsn.to_le_bytes());
    bytes.extend_from_slice(&applied.wall.as_ms().to_le_bytes());
    bytes.extend_from_slice(&applied.lease.as_ms().to_le_bytes());
    bytes.extend_from_slice(&live_bytes.to_le_bytes());
    let crc = crc32c::crc32c(&bytes);
    bytes.extend_from_slice(&crc.to_le_bytes());
    bytes
}

/// What the store is of, and how many bytes its rows have.
///
/// # Errors
/// `Newer`; `Damage`, also where it is another store's.
pub(super) fn decode_about(store: StoreId, bytes: &[u8]) -> Result<(Applied, u64), StorageError> {
    let damage = |what: &str| StorageError::damage(COLD_FILE, 0, what);
    let (format, _) = bytes.split_first_chunk().ok_or_else(|| damage("it does not say its format"))?;
    let found = u16::from_le_bytes(*format);
    if found > COLD_FORMAT {
        return Err(StorageError::Newer { file: COLD_FILE.to_owned(), found, known: COLD_FORMAT });
    }
    let whole: &[u8; APPLIED_BYTES] =
        bytes.try_into().map_err(|_| damage("what it says of itself has the wrong length"))?;
    let (said, crc) = whole.split_at(APPLIED_BYTES - CRC_BYTES);
    if crc32c::crc32c(said).to_le_bytes() != *crc {
        return Err(damage("the checksum of what it says of itself is wrong"));
    }
    if said[2..18] != store.0 {
        return Err(damage("it is of another store"));
    }
    let number = |at: usize| {
        let mut number = [0; 8];
        number.copy_from_slice(&said[at..at + 8]);
        number
    };
    let applied = Applied {
        lsn: u64::from_le_bytes(number(18)),
        wall: Timestamp::from_ms(i64::from_le_bytes(number(26))),
        lease: LeaseTime::from_ms(i64::from_le_bytes(number(34))),
    };
    Ok((applied, u64::from_le_bytes(number(42))))
}
