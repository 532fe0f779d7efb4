//! Rows of streams: what they are, how far they have come, and their entries.
//!
//! Lives here: the values and their bytes. Not here: queues (`queue.rs`) and events (`body.rs`).

use bytes::Bytes;
use naven_api::Timestamp;

use super::codec::{Dec, Enc};
use super::key::{Arrival, StreamNo};
use crate::queue::{Retention, StreamSettings};
use crate::txn::Place;

/// The next numbers to give out in this store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Numbers {
    /// Of the next stream.
    pub(crate) stream: u32,
    /// Of the next queue.
    pub(crate) queue: u32,
}

/// What a stream is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StreamRow {
    /// Its name's bytes.
    pub(crate) name: Bytes,
    /// What it is asked to do.
    pub(crate) settings: StreamSettings,
    /// When it was made.
    pub(crate) created_at: Timestamp,
    /// When it was closed.
    pub(crate) closed: Option<Timestamp>,
    /// Queues on it that are open.
    pub(crate) queues: u32,
}

/// How far a stream has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Head {
    /// The last place given.
    pub(crate) last: Place,
    /// The last entry's number.
    pub(crate) entry: u64,
    /// The last event's number.
    pub(crate) arrival: u64,
    /// Rises with every change that a watcher would see.
    pub(crate) version: u64,
    /// Entries that were ever added.
    pub(crate) added: u64,
    /// Entries that are there.
    pub(crate) length: u64,
    /// Events for all queues that have no place yet.
    pub(crate) waiting: u64,
    /// Entries that were ever added, as readers are told.
    pub(crate) added_told: u64,
    /// The highest place of an entry that was deleted singly; zero where none was.
    pub(crate) max_deleted: Place,
    /// Where it is ahead of `last`: the furthest place that a queue counts as handed out already.
    pub(crate) furthest: Place,
}

/// One entry of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EntryRow {
    /// Its place.
    pub(crate) place: Place,
    /// Its event.
    pub(crate) arrival: Arrival,
    /// When that was published: a part of its id, which must not be lost with its own row.
    pub(crate) created_at: Timestamp,
}

impl Numbers {
    /// The row's bytes.
    pub(crate) fn encode(&self) -> Bytes {
        let mut enc = Enc::default();
        enc.u32(self.stream).u32(self.queue);
        enc.done()
    }

    /// The row behind the bytes.
    pub(crate) fn decode(bytes: Bytes) -> Option<Self> {
        let mut dec = Dec(bytes);
        let row = Self { stream: dec.u32()?, queue: dec.u32()? };
        dec.end(row)
    }
}

impl StreamRow {
    /// The row's bytes.
    pub(crate) fn encode(&self) -> Bytes {
        let mut enc = Enc::default();
        enc.bytes(&self.name);
        put_stream_settings(&mut enc, self.settings);
        enc.i64(self.created_at.as_ms());
        enc.option(self.closed, |enc, at| {
            enc.i64(at.as_ms());
        });
        enc.u32(self.queues);
        enc.done()
    }

    /// The row behind the bytes.
    pub(crate) fn decode(bytes: Bytes) -> Option<Self> {
        let mut dec = Dec(bytes);
        let name = dec.bytes()?;
        let settings = get_stream_settings(&mut dec)?;
        let created_at = Timestamp::from_ms(dec.i64()?);
        let closed = dec.option(Dec::i64)?.map(Timestamp::from_ms);
        let queues = dec.u32()?;
        dec.end(Self { name, settings, created_at, closed, queues })
    }
}

/// Appends a stream's settings.
pub(crate) fn put_stream_settings(enc: &mut Enc, settings: StreamSettings) {
    enc.u8(match settings.retention {
        Retention::Consumed => 0,
        Retention::Trim => 1,
    });
    enc.u32(settings.dedupe_window_seconds);
}

/// Reads a stream's settings.
pub(crate) fn get_stream_settings(dec: &mut Dec) -> Option<StreamSettings> {
    let retention = match dec.u8()? {
        0 => Retention::Consumed,
        1 => Retention::Trim,
        _ => return None,
    };
    Some(StreamSettings { retention, dedupe_window_seconds: dec.u32()? })
}

impl Head {
    /// Of a stream that nothing happened to yet. No other stream ever has one of its versions.
    pub(crate) fn new(stream: StreamNo) -> Self {
        Self { version: u64::from(stream.0) << 32, ..Self::default() }
    }

    /// The row's bytes.
    pub(crate) fn encode(&self) -> Bytes {
        let mut enc = Enc::default();
        enc.u64(self.last.ms).u64(self.last.seq).u64(self.entry).u64(self.arrival).u64(self.version);
        enc.u64(self.added).u64(self.length).u64(self.waiting).u64(self.added_told);
        for place in [self.max_deleted, self.furthest] {
            enc.u64(place.ms).u64(place.seq);
        }
        enc.done()
    }

    /// The row behind the bytes.
    pub(crate) fn decode(bytes: Bytes) -> Option<Self> {
        let mut dec = Dec(bytes);
        let place = |dec: &mut Dec| Some(Place { ms: dec.u64()?, seq: dec.u64()? });
        let row = Self {
            last: place(&mut dec)?,
            entry: dec.u64()?,
            arrival: dec.u64()?,
            version: dec.u64()?,
            added: dec.u64()?,
            length: dec.u64()?,
            waiting: dec.u64()?,
            added_told: dec.u64()?,
            max_deleted: place(&mut dec)?,
            furthest: place(&mut dec)?,
        };
        dec.end(row)
    }
}

impl EntryRow {
    /// The row's bytes.
    pub(crate) fn encode(&self) -> Bytes {
        let mut enc = Enc::default();
        enc.u64(self.place.ms).u64(self.place.seq).u64(self.arrival.0);
        // Mostly the place's own instant, or near it.
        enc.i64((self.place.ms as i64).wrapping_sub(self.created_at.as_ms()));
        enc.done()
    }

    /// The row behind the bytes.
    pub(crate) fn decode(bytes: Bytes) -> Option<Self> {
        let mut dec = Dec(bytes);
        let place = Place { ms: dec.u64()?, seq: dec.u64()? };
        let arrival = Arrival(dec.u64()?);
        let created_at = Timestamp::from_ms((place.ms as i64).wrapping_sub(dec.i64()?));
        let row = Self { place, arrival, created_at };
        dec.end(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_from_their_bytes() {
        let numbers = Numbers { stream: 1, queue: 2 };
        assert_eq!(Numbers::decode(numbers.encode()), Some(numbers));
        let stream = StreamRow {
            name: Bytes::from_static(b"mail"),
            settings: StreamSettings { retention: Retention::Trim, dedupe_window_seconds: 9 },
            created_at: Timestamp::from_ms(4),
            closed: Some(Timestamp::from_ms(-5)),
            queues: 3,
        };
        assert_eq!(StreamRow::decode(stream.encode()), Some(stream));
        let place = Place { ms: u64::MAX, seq: 3 };
        let head = Head {
            last: place,
            entry: 4,
            arrival: 5,
            version: 6,
            added: 7,
            length: 8,
            waiting: 9,
            added_told: 10,
            max_deleted: Place { ms: 11, seq: 12 },
            furthest: Place { ms: 13, seq: 14 },
        };
        assert_eq!(Head::decode(head.encode()), Some(head));
        let entry = EntryRow { place, arrival: Arrival(9), created_at: Timestamp::from_ms(-7) };
        assert_eq!(EntryRow::decode(entry.encode()), Some(entry));
    }

    #[test]
    fn a_row_with_bytes_left_over_is_none() {
        assert_eq!(Head::decode(Bytes::from_static(&[0, 0, 0, 0, 0, 0])), None);
        assert_eq!(Head::decode(Bytes::from_static(&[0, 0, 0, 0])), None);
    }
}
