//! Rows of the audit log.
//!
//! Lives here: the value and its bytes. Not here: the chain (`audit.rs` of the crate).

use bytes::Bytes;
use naven_api::Timestamp;

use super::codec::{Dec, Enc};
use crate::audit::{AuditEntry, AuditNote};

/// The key of the row that tells the first entry that is kept, where those before it were lost: no entry
/// has this number.
pub(crate) const START: [u8; 8] = [0; 8];

/// True for the key of that row.
pub(crate) fn is_start(key: &[u8]) -> bool {
    key == START
}

/// The value of that row.
pub(crate) fn start(first: u64) -> Bytes {
    Bytes::copy_from_slice(&first.to_be_bytes())
}

/// The number in a key; 0 where it is none.
pub(crate) fn number_of(key: &[u8]) -> u64 {
    key.try_into().map_or(0, u64::from_be_bytes)
}

/// Appends a note.
pub(crate) fn put_note(enc: &mut Enc, note: &AuditNote) {
    enc.text(&note.by).text(&note.action).text(&note.target).text(&note.request_id);
}

/// Reads a note.
pub(crate) fn get_note(dec: &mut Dec) -> Option<AuditNote> {
    Some(AuditNote { by: dec.text()?, action: dec.text()?, target: dec.text()?, request_id: dec.text()? })
}

/// The row's bytes; its number is its key.
pub(crate) fn encode(entry: &AuditEntry) -> Bytes {
    let mut enc = Enc::default();
    enc.i64(entry.at.as_ms());
    put_note(&mut enc, &entry.note);
    enc.bytes(&entry.previous).bytes(&entry.hash);
    enc.done()
}

/// The entry behind the key and the bytes.
pub(crate) fn decode(key: &[u8], bytes: Bytes) -> Option<AuditEntry> {
    let mut dec = Dec(bytes);
    let hash = |dec: &mut Dec| dec.bytes()?.as_ref().try_into().ok();
    let entry = AuditEntry {
        number: u64::from_be_bytes(key.try_into().ok()?),
        at: Timestamp::from_ms(dec.i64()?),
        note: get_note(&mut dec)?,
        previous: hash(&mut dec)?,
        hash: hash(&mut dec)?,
    };
    dec.end(entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_comes_back_from_its_bytes() {
        let text = |text: &str| text.to_owned();
        let note = AuditNote { by: text("k"), action: text("a"), target: text("t"), request_id: text("r") };
        let entry = AuditEntry::after(None, Timestamp::from_ms(-5), note);
        assert_eq!(decode(&1_u64.to_be_bytes(), encode(&entry)), Some(entry.clone()));
        assert_eq!(decode(&[1], encode(&entry)), None);
    }
}
