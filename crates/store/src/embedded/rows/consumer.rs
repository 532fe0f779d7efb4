//! Rows of Redis consumers, and the keys of what they hold.
//!
//! Lives here: the values, their bytes, and their keys. Not here: deliveries (`delivery.rs`), which say who
//! holds them.

use bytes::Bytes;
use naven_api::Timestamp;
use naven_core::{ConsumerNo, Delivery, State};

use super::codec::{Dec, Enc};
use super::key::{self, Arrival, EntryNo, QueueNo};

/// Among what is closed: consumers that were deleted while they held more than one step ends.
pub(crate) const CLOSING_CONSUMER: u32 = 2;

/// A Redis consumer of a queue. Its number is given to no other while this row is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConsumerRow {
    /// Its name.
    pub(crate) name: Bytes,
    /// How many deliveries it holds.
    pub(crate) held: u64,
    /// True once it was deleted: its name is free, and what it holds is being given up.
    pub(crate) is_deleted: bool,
    /// When it last asked for anything.
    pub(crate) seen: Timestamp,
    /// When it was last handed out anything.
    pub(crate) active: Option<Timestamp>,
}

impl ConsumerRow {
    /// The row's bytes.
    pub(crate) fn encode(&self) -> Bytes {
        let mut enc = Enc::default();
        enc.bytes(&self.name).u64(self.held).flag(self.is_deleted).i64(self.seen.as_ms());
        enc.option(self.active, |enc, at| {
            enc.i64(at.as_ms());
        });
        enc.done()
    }

    /// The row behind the bytes.
    pub(crate) fn decode(bytes: Bytes) -> Option<Self> {
        let mut dec = Dec(bytes);
        let row = Self {
            name: dec.bytes()?,
            held: dec.u64()?,
            is_deleted: dec.flag()?,
            seen: Timestamp::from_ms(dec.i64()?),
            active: dec.option(Dec::i64)?.map(Timestamp::from_ms),
        };
        dec.end(row)
    }
}

/// Which consumer holds a delivery, if one does.
pub(crate) fn holder(delivery: &Delivery) -> Option<ConsumerNo> {
    match delivery.state {
        State::Held { consumer, .. } => Some(consumer),
        State::Ready | State::Retrying | State::Leased(_) => None,
        State::Done | State::Dead(_) | State::Cancelled => None,
    }
}

/// `queue, consumer`.
pub(crate) fn consumer(queue: QueueNo, consumer: ConsumerNo) -> [u8; 8] {
    ((u64::from(queue.0) << 32) | u64::from(consumer.0)).to_be_bytes()
}

/// The queue and consumer of such a key, as one number.
pub(crate) fn from_number(number: u64) -> (QueueNo, ConsumerNo) {
    (QueueNo((number >> 32) as u32), ConsumerNo(number as u32))
}

/// The consumer of such a key.
pub(crate) fn consumer_of(key: &[u8]) -> ConsumerNo {
    ConsumerNo(u32::from_be_bytes(key[4..8].try_into().expect("consumer keys have 8 bytes or more")))
}

/// `queue, name`.
pub(crate) fn consumer_name(queue: QueueNo, name: &[u8]) -> Vec<u8> {
    [&key::number(queue.0)[..], name].concat()
}

/// `queue, consumer, n`.
pub(crate) fn held(queue: QueueNo, by: ConsumerNo, n: EntryNo) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&consumer(queue, by));
    key[8..].copy_from_slice(&n.0.to_be_bytes());
    key
}

/// The entry of such a key.
pub(crate) fn entry_of(key: &[u8]) -> EntryNo {
    EntryNo(u64::from_be_bytes(key[8..16].try_into().expect("keys of holds have 16 bytes")))
}

/// The key of a deleted consumer that still holds something.
pub(crate) fn closing_consumer(queue: QueueNo, by: ConsumerNo) -> [u8; 20] {
    key::timed(CLOSING_CONSUMER, i64::MIN, Arrival(u64::from_be_bytes(consumer(queue, by))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_keys_come_back_from_their_bytes() {
        let (seen, active) = (Timestamp::from_ms(-3), Some(Timestamp::from_ms(4)));
        let row = ConsumerRow { name: Bytes::from_static(b"c\0"), held: 7, is_deleted: true, seen, active };
        assert_eq!(ConsumerRow::decode(row.encode()), Some(row));
        let (queue, by) = (QueueNo(3), ConsumerNo(u32::MAX));
        let (_, Arrival(number)) = key::time_of(&closing_consumer(queue, by));
        assert_eq!(from_number(number), (queue, by));
        let key = held(queue, by, EntryNo(9));
        assert_eq!((consumer_of(&key), entry_of(&key)), (by, EntryNo(9)));
        assert!(held(queue, ConsumerNo(1), EntryNo(u64::MAX)) < held(queue, ConsumerNo(2), EntryNo(0)));
    }
}
