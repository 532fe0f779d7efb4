//! Numbers that were given out, as rows that can be read tell.
//!
//! Lives here: the highest of each kind, so that none is given out again. Not here: giving out (`apply/`).

use std::collections::BTreeMap;

use bytes::Bytes;
use naven_api::Timestamp;
use naven_core::State;

use super::report::{QueueSaved, StreamSaved};
use crate::embedded::rows::body::BodyRow;
use crate::embedded::rows::dedupe::DedupeRow;
use crate::embedded::rows::delivery;
use crate::embedded::rows::key;
use crate::embedded::rows::queue::QueueRow;
use crate::embedded::rows::stream::{EntryRow, StreamRow};
use crate::embedded::tables::Table;
use crate::txn::Place;

/// Of one stream.
#[derive(Debug, Default)]
pub(super) struct OfStream {
    /// True where a row says that it is still there: dedupe keys may outlive it.
    pub(super) is_there: bool,
    /// The last event.
    pub(super) arrival: u64,
    /// The last entry, and its place.
    pub(super) entry: u64,
    pub(super) last: Place,
    /// What the report says of it.
    pub(super) saved: StreamSaved,
}

/// Of one queue.
#[derive(Debug, Default)]
pub(super) struct OfQueue {
    /// The last entry that it dealt with.
    pub(super) entry: u64,
    pub(super) fence: u64,
    pub(super) round: u32,
    /// What the report says of it.
    pub(super) saved: QueueSaved,
}

/// Everything that was seen. It grows with streams and queues, not with events.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) streams: BTreeMap<u32, OfStream>,
    pub(super) queues: BTreeMap<u32, OfQueue>,
    /// When the newest event was published.
    pub(super) newest: Timestamp,
    /// The last end of a lease, on the lease clock.
    pub(super) lease_end_ms: i64,
}

impl Seen {
    /// A row that can be read.
    pub(super) fn note(&mut self, table: Table, key: &[u8], row: &Bytes) {
        let owner = owner(key);
        match table {
            Table::Stream => {
                let name =
                    StreamRow::decode(row.clone()).map(|row| String::from_utf8_lossy(&row.name).into());
                self.stream(owner).saved.name = name;
            }
            Table::Head => drop(self.stream(owner)),
            Table::Member => {
                self.stream(owner);
                self.queue(u32::from_be_bytes([key[4], key[5], key[6], key[7]]));
            }
            Table::Queue => self.note_queue(owner, row),
            Table::Progress => drop(self.queue(owner)),
            Table::QueueId => drop(self.queue(number(row))),
            Table::Name if key.starts_with(b"q") => drop(self.queue(number(row))),
            Table::Name => drop(self.stream(number(row))),
            Table::Body => self.note_body((owner, key::count_of(key)), row),
            Table::Entry => {
                let Some(entry) = EntryRow::decode(row.clone()) else { return };
                self.placed(owner, key::count_of(key), entry.place);
                self.arrived(owner, entry.arrival.0);
            }
            Table::Waiting => {
                self.stream(owner);
                self.arrived(owner, key::time_of(key).1.0);
            }
            Table::Expire | Table::DedupeUntil => self.arrived(owner, key::time_of(key).1.0),
            Table::Dedupe => {
                if let Some(row) = DedupeRow::decode(row.clone()) {
                    let (stream, arrival) = key::from_locator(row.event.locator());
                    self.arrived(stream.0, arrival.0);
                }
            }
            Table::Delivery | Table::Outcome => self.note_delivery(table, (owner, key::count_of(key)), row),
            Table::Lane | Table::Aside => {
                let queue = self.queue(owner);
                queue.entry = queue.entry.max(key::count_of(key));
            }
            Table::Numbers | Table::Key | Table::Idem | Table::IdemUntil | Table::Closing => {}
            Table::Audit | Table::Operation | Table::Running => {}
            Table::Begun => drop(self.queue(owner)),
            Table::ConsumerName | Table::Consumer | Table::Held => drop(self.queue(owner)),
            Table::Retry | Table::Again | Table::Ends | Table::HoldEnds => drop(self.queue(owner)),
            Table::Dead | Table::Over => drop(self.queue(owner)),
        }
    }

    /// A row that cannot be read.
    pub(super) fn miss(&mut self, table: Table, key: &[u8]) {
        if key.len() < 4 {
            return;
        }
        let owner = owner(key);
        match table {
            Table::Stream | Table::Head | Table::Body | Table::Entry | Table::Waiting => {
                // A key may be what is damaged: only streams of which other rows tell are named.
                if let Some(stream) = self.streams.get_mut(&owner) {
                    stream.saved.lost_rows += 1;
                }
            }
            Table::Queue | Table::Progress | Table::Delivery | Table::Outcome | Table::Lane => {
                if let Some(queue) = self.queues.get_mut(&owner) {
                    queue.saved.lost_rows += 1;
                }
            }
            _ => {}
        }
    }

    fn note_queue(&mut self, owner: u32, row: &Bytes) {
        let Some(row) = QueueRow::decode(row.clone()) else { return };
        let stream = self.stream(row.stream.0);
        if let Some(closed) = row.closed {
            stream.arrival = stream.arrival.max(closed.arrivals);
            stream.entry = stream.entry.max(closed.upto);
        }
        let queue = self.queue(owner);
        queue.saved.name = Some(row.name);
        (queue.fence, queue.round) = (queue.fence.max(row.fence), queue.round.max(row.round));
    }

    fn note_body(&mut self, (owner, arrival): (u32, u64), row: &Bytes) {
        let Some(row) = BodyRow::decode(row.clone()) else { return };
        self.newest = self.newest.max(row.created_at);
        if let Some(placed) = row.placed {
            self.placed(owner, placed.n.0, placed.place);
        }
        if let Some(only) = row.only {
            self.queue(only.0);
        }
        let stream = self.stream(owner);
        stream.arrival = stream.arrival.max(arrival);
        stream.saved.events += 1;
        stream.saved.damaged += u64::from(row.damaged);
    }

    fn note_delivery(&mut self, table: Table, (owner, n): (u32, u64), row: &Bytes) {
        let Some((_, delivery)) = delivery::decode(row.clone()) else { return };
        if let State::Leased(lease) = delivery.state {
            self.lease_end_ms = self.lease_end_ms.max(lease.until.as_ms());
        }
        let queue = self.queue(owner);
        queue.entry = queue.entry.max(n);
        (queue.fence, queue.round) = (queue.fence.max(delivery.fence), queue.round.max(delivery.round));
        let count =
            if table == Table::Delivery { &mut queue.saved.deliveries } else { &mut queue.saved.outcomes };
        *count += 1;
    }

    fn arrived(&mut self, stream: u32, arrival: u64) {
        let stream = self.streams.entry(stream).or_default();
        stream.arrival = stream.arrival.max(arrival);
    }

    fn placed(&mut self, stream: u32, n: u64, place: Place) {
        let stream = self.stream(stream);
        (stream.entry, stream.last) = (stream.entry.max(n), stream.last.max(place));
    }

    fn stream(&mut self, no: u32) -> &mut OfStream {
        let stream = self.streams.entry(no).or_default();
        stream.is_there = true;
        stream
    }

    fn queue(&mut self, no: u32) -> &mut OfQueue {
        self.queues.entry(no).or_default()
    }
}

/// The number that a key begins with.
pub(super) fn owner(key: &[u8]) -> u32 {
    key.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

/// A number as rows hold it.
pub(super) fn number(row: &[u8]) -> u32 {
    owner(row)
}
