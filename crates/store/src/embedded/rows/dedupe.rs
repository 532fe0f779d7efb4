//! Rows of dedupe keys.
//!
//! Lives here: the value and its bytes. Not here: when it is asked (`apply/dedupe.rs`).

use bytes::Bytes;
use naven_api::{EventId, Timestamp};

use super::codec::{Dec, Enc};
use super::key;
use crate::txn::Place;

/// The first event of a dedupe key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DedupeRow {
    /// Which.
    pub(crate) event: EventId,
    /// Its first due time, for when it is gone.
    pub(crate) scheduled_at: Timestamp,
    /// Its place, where it had one from the first and it was for all to see; for when it is gone.
    pub(crate) place: Option<Place>,
    /// From when on the key is free again.
    pub(crate) until: Timestamp,
}

impl DedupeRow {
    /// Where it is found by its end.
    pub(crate) fn until_key(&self) -> [u8; 20] {
        let (stream, arrival) = key::from_locator(self.event.locator());
        key::at_wall(stream.0, self.until, arrival)
    }

    /// The row's bytes.
    pub(crate) fn encode(&self) -> Bytes {
        let mut enc = Enc::default();
        enc.u128(self.event.bits()).i64(self.scheduled_at.as_ms()).i64(self.until.as_ms());
        enc.option(self.place, |enc, place| {
            enc.u64(place.ms).u64(place.seq);
        });
        enc.done()
    }

    /// The row behind the bytes.
    pub(crate) fn decode(bytes: Bytes) -> Option<Self> {
        let mut dec = Dec(bytes);
        let row = Self {
            event: EventId::from_bits(dec.u128()?),
            scheduled_at: Timestamp::from_ms(dec.i64()?),
            until: Timestamp::from_ms(dec.i64()?),
            place: dec.option(|dec| Some(Place { ms: dec.u64()?, seq: dec.u64()? }))?,
        };
        dec.end(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_comes_back_from_its_bytes() {
        let row = DedupeRow {
            event: EventId::from_bits(u128::MAX),
            scheduled_at: Timestamp::from_ms(-1),
            until: Timestamp::from_ms(9),
            place: Some(Place { ms: 1, seq: 2 }),
        };
        assert_eq!(DedupeRow::decode(row.encode()), Some(row));
    }
}
