//! Keys of the tables: numbers in big endian, so that byte order is number order.
//!
//! Lives here: building and taking apart keys. Not here: values.

use naven_api::Timestamp;
use naven_core::LeaseTime;

use crate::txn::{DedupeKey, DedupeSpace, IdempotencySlot};

/// A stream's number: 24 bits, never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct StreamNo(pub(crate) u32);

/// A queue's number, never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct QueueNo(pub(crate) u32);

/// An event's number in its stream, given at publish: 56 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Arrival(pub(crate) u64);

/// An entry's number in its stream, given with its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct EntryNo(pub(crate) u64);

/// The largest stream number that an event id has room for.
pub(crate) const STREAM_NO_MAX: u32 = (1 << 24) - 1;

/// The 80 bits by which an event is found.
pub(crate) fn locator(stream: StreamNo, arrival: Arrival) -> u128 {
    (u128::from(stream.0) << 56) | u128::from(arrival.0)
}

/// The stream and arrival that a locator names.
pub(crate) fn from_locator(locator: u128) -> (StreamNo, Arrival) {
    (StreamNo((locator >> 56) as u32 & STREAM_NO_MAX), Arrival(locator as u64 & ((1 << 56) - 1)))
}

/// The key of a stream's or queue's own row.
pub(crate) fn number(number: u32) -> [u8; 4] {
    number.to_be_bytes()
}

/// The first key past all keys that begin with this number. The largest number of all is never
/// given out.
pub(crate) fn past_number(number: u32) -> [u8; 4] {
    number.saturating_add(1).to_be_bytes()
}

/// `stream, queue`.
pub(crate) fn member(stream: StreamNo, queue: QueueNo) -> [u8; 8] {
    let mut key = [0; 8];
    key[..4].copy_from_slice(&stream.0.to_be_bytes());
    key[4..].copy_from_slice(&queue.0.to_be_bytes());
    key
}

/// A queue's name in the table of names: it never meets a stream's.
pub(crate) fn queue_name(name: &str) -> Vec<u8> {
    [b"q", name.as_bytes()].concat()
}

/// A stream's name in the table of names.
pub(crate) fn stream_name(name: &[u8]) -> Vec<u8> {
    [b"s", name].concat()
}

/// Among what is closed: queues.
pub(crate) const CLOSING_QUEUE: u32 = 0;
/// Among what is closed: streams.
pub(crate) const CLOSING_STREAM: u32 = 1;

/// The key of a closed queue that is to be removed from `at` on.
pub(crate) fn closing_queue(at: Timestamp, queue: QueueNo) -> [u8; 20] {
    at_wall(CLOSING_QUEUE, at, Arrival(queue.0.into()))
}

/// The key of a closed stream without queues: nothing is left to wait for.
pub(crate) fn closing_stream(stream: StreamNo) -> [u8; 20] {
    timed(CLOSING_STREAM, i64::MIN, Arrival(stream.0.into()))
}

/// `stream, space, key`: a dedupe key. The length of a producer's name keeps one from another.
pub(crate) fn dedupe(stream: StreamNo, dedupe: &DedupeKey) -> Vec<u8> {
    let mut key = number(stream.0).to_vec();
    match &dedupe.space {
        DedupeSpace::Http => key.push(0),
        DedupeSpace::Producer(name) => {
            key.push(1);
            key.extend_from_slice(&(name.len() as u64).to_be_bytes());
            key.extend_from_slice(name);
        }
    }
    key.extend_from_slice(&dedupe.key);
    key
}

/// `scope, key`: an idempotency key. The length of the scope keeps one from another.
pub(crate) fn idem(slot: &IdempotencySlot) -> Vec<u8> {
    let length = (slot.scope.len() as u64).to_be_bytes();
    [&length[..], &slot.scope, &slot.key].concat()
}

/// `until, scope, key`.
pub(crate) fn idem_until(until: Timestamp, idem: &[u8]) -> Vec<u8> {
    [&sortable(until.as_ms())[..], idem].concat()
}

/// The first key at which nothing ends at or before `now`.
pub(crate) fn idem_past(now: Timestamp) -> [u8; 8] {
    sortable(now.as_ms().saturating_add(1))
}

/// `number, counter`: bodies by arrival, entries and deliveries by entry number.
pub(crate) fn counted(owner: u32, count: u64) -> [u8; 12] {
    let mut key = [0; 12];
    key[..4].copy_from_slice(&owner.to_be_bytes());
    key[4..].copy_from_slice(&count.to_be_bytes());
    key
}

/// The counter of such a key.
pub(crate) fn count_of(key: &[u8]) -> u64 {
    u64::from_be_bytes(key[4..12].try_into().expect("counted keys have 12 bytes"))
}

/// `number, instant, arrival`: everything that is found by time.
pub(crate) fn timed(owner: u32, instant: i64, arrival: Arrival) -> [u8; 20] {
    let mut key = [0; 20];
    key[..4].copy_from_slice(&owner.to_be_bytes());
    key[4..12].copy_from_slice(&sortable(instant));
    key[12..].copy_from_slice(&arrival.0.to_be_bytes());
    key
}

/// An instant as eight bytes. The sign bit is turned, so that those before 1970 sort first.
fn sortable(instant: i64) -> [u8; 8] {
    ((instant as u64) ^ (1 << 63)).to_be_bytes()
}

/// The instant and arrival of such a key.
pub(crate) fn time_of(key: &[u8]) -> (i64, Arrival) {
    let instant = u64::from_be_bytes(key[4..12].try_into().expect("timed keys have 20 bytes"));
    let arrival = u64::from_be_bytes(key[12..20].try_into().expect("timed keys have 20 bytes"));
    ((instant ^ (1 << 63)) as i64, Arrival(arrival))
}

/// `queue, wall, arrival`.
pub(crate) fn at_wall(owner: u32, at: Timestamp, arrival: Arrival) -> [u8; 20] {
    timed(owner, at.as_ms(), arrival)
}

/// `queue, lease end, arrival`.
pub(crate) fn at_lease(owner: u32, at: LeaseTime, arrival: Arrival) -> [u8; 20] {
    timed(owner, at.as_ms(), arrival)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_order_is_time_order_before_1970_too() {
        let keys: Vec<_> = [i64::MIN, -1, 0, 1, i64::MAX].map(|at| timed(1, at, Arrival(7))).into();
        assert!(keys.is_sorted());
        assert!(keys.iter().all(|key| time_of(key).1 == Arrival(7)));
        assert_eq!(time_of(&keys[1]).0, -1);
    }

    #[test]
    fn the_key_past_a_number_is_above_all_its_keys_and_below_the_next() {
        assert!(past_number(1).as_slice() > timed(1, i64::MAX, Arrival(u64::MAX)).as_slice());
        assert!(past_number(1).as_slice() <= timed(2, i64::MIN, Arrival(0)).as_slice());
        assert!(past_number(1).as_slice() <= number(2).as_slice());
    }

    #[test]
    fn a_locator_comes_apart_again() {
        let (stream, arrival) = (StreamNo(STREAM_NO_MAX), Arrival((1 << 56) - 1));
        assert_eq!(from_locator(locator(stream, arrival)), (stream, arrival));
        assert!(locator(stream, arrival) < 1 << 80);
    }
}
