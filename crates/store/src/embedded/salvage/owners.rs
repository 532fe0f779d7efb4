//! Streams and queues: all of them, in RAM, as a running engine has them too.
//!
//! Lives here: finding them, also by the rows that name them where their own are lost, and the small
//! tables by which they are found. Not here: their events (`events.rs`), and counting (`count.rs`).

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use naven_api::{QueueId, Timestamp};

use super::copy::Copied;
use super::report::Salvaged;
use super::rows::Rows;
use super::seen::{number, owner};
use crate::clock::Random;
use crate::embedded::finding::Finding;
use crate::embedded::rows::key::{self, QueueNo, StreamNo};
use crate::embedded::rows::queue::{Progress, QueueRow};
use crate::embedded::rows::stream::{Head, Numbers, StreamRow};
use crate::embedded::storage_error::StorageError;
use crate::embedded::tables::Table;
use crate::queue::{QueueSettings, Retention, StreamSettings};

/// How far numbers jump where it is not known how many were given out.
pub(super) const JUMP: u64 = 1 << 20;
/// The same for numbers of streams, of which there are not so many, and of queues.
pub(super) const OWNERS_JUMP: u32 = 1_000;

/// One stream.
pub(super) struct StreamState {
    pub(super) row: StreamRow,
    pub(super) head: Head,
    pub(super) is_head_lost: bool,
}

/// One queue.
pub(super) struct QueueState {
    pub(super) row: QueueRow,
    pub(super) progress: Progress,
    pub(super) is_progress_lost: bool,
    /// Deliveries that are made again because their rows are lost.
    pub(super) again: u64,
}

/// All streams and queues.
#[derive(Default)]
pub(super) struct Owners {
    pub(super) streams: BTreeMap<u32, StreamState>,
    pub(super) queues: BTreeMap<u32, QueueState>,
    /// Queues by stream, in the order in which they were made.
    members: BTreeMap<u32, Vec<u32>>,
}

/// What the small tables say of streams and queues.
#[derive(Default)]
struct Named {
    streams: BTreeMap<u32, Bytes>,
    queues: BTreeMap<u32, String>,
    ids: BTreeMap<u32, u128>,
    /// Of each queue its stream, and its id while it is open.
    members: BTreeMap<u32, (u32, Option<u128>)>,
}

impl Owners {
    /// Finds them. `wall` is the time at which they are taken to be what they are made to be.
    pub(super) fn find(
        rows: &mut Rows,
        copied: &Copied,
        (wall, random): (Timestamp, &dyn Random),
        report: &mut Salvaged,
    ) -> Result<Self, StorageError> {
        let mut owners = Self::default();
        let named = named(rows)?;
        owners.find_queues(rows, (copied, &named), random, report)?;
        owners.find_streams(rows, (copied, &named), wall, report)?;
        for (no, queue) in &owners.queues {
            owners.members.entry(queue.row.stream.0).or_default().push(*no);
        }
        for (no, stream) in &mut owners.streams {
            let members = owners.members.get(no).map_or(&[][..], Vec::as_slice);
            let is_open = |queue: &&u32| owners.queues[queue].row.closed.is_none();
            stream.row.queues = members.iter().filter(is_open).count() as u32;
            if stream.row.queues > 0 {
                stream.row.closed = None;
            }
        }
        owners.raise(copied);
        Ok(owners)
    }

    /// The queues of a stream.
    pub(super) fn members(&self, stream: u32) -> Vec<u32> {
        self.members.get(&stream).cloned().unwrap_or_default()
    }

    fn find_queues(
        &mut self,
        rows: &mut Rows,
        (copied, named): (&Copied, &Named),
        random: &dyn Random,
        report: &mut Salvaged,
    ) -> Result<(), StorageError> {
        let mut found = BTreeMap::new();
        rows.for_each(Table::Queue, &mut |_, key, row| {
            found.extend(QueueRow::decode(row).map(|row| (owner(key), row)));
            Ok(())
        })?;
        for (&no, seen) in &copied.seen.queues {
            let key = key::number(no);
            if let Entry::Vacant(place) = found.entry(no) {
                let Some(row) = made_queue(no, named, random) else {
                    report.add(Finding::row(Table::Queue, &key, "nothing tells what it was: it is left out"));
                    continue;
                };
                report.add(Finding::row(
                    Table::Queue,
                    &key,
                    "it is made anew: its settings are the usual ones",
                ));
                place.insert(QueueRow { round: seen.round.saturating_add(1), ..row });
            }
        }
        for (no, row) in found {
            let progress = rows.get(Table::Progress, &key::number(no)).and_then(Progress::decode);
            let is_progress_lost = progress.is_none();
            if is_progress_lost {
                let what =
                    "it is made anew: what the queue is not known to have dealt with comes to it again";
                report.add(Finding::row(Table::Progress, &key::number(no), what));
            }
            let progress = progress.unwrap_or_default();
            self.queues.insert(no, QueueState { row, progress, is_progress_lost, again: 0 });
        }
        Ok(())
    }

    fn find_streams(
        &mut self,
        rows: &mut Rows,
        (copied, named): (&Copied, &Named),
        wall: Timestamp,
        report: &mut Salvaged,
    ) -> Result<(), StorageError> {
        let mut found = BTreeMap::new();
        rows.for_each(Table::Stream, &mut |_, key, row| {
            found.extend(StreamRow::decode(row).map(|row| (owner(key), row)));
            Ok(())
        })?;
        let of_queues: BTreeSet<u32> = self.queues.values().map(|queue| queue.row.stream.0).collect();
        let seen = copied.seen.streams.iter().filter(|(_, seen)| seen.is_there).map(|(no, _)| *no);
        for no in seen.chain(of_queues).collect::<BTreeSet<u32>>() {
            if let Entry::Vacant(place) = found.entry(no) {
                let what = "it is made anew: its settings are the usual ones";
                report.add(Finding::row(Table::Stream, &key::number(no), what));
                place.insert(self.made_stream(no, named, (copied, wall)));
            }
        }
        for (no, row) in found {
            let head = rows.get(Table::Head, &key::number(no)).and_then(Head::decode);
            let has_events = copied.seen.streams.get(&no).is_some_and(|seen| seen.arrival > 0);
            let is_head_lost =
                head.is_none() && (has_events || copied.lost.is_lost(Table::Head, &key::number(no)));
            if is_head_lost {
                report.add(Finding::row(Table::Head, &key::number(no), "it is made anew"));
            }
            let head = head.unwrap_or_else(|| Head::new(StreamNo(no)));
            self.streams.insert(no, StreamState { row, head, is_head_lost });
        }
        Ok(())
    }

    fn made_stream(&self, no: u32, named: &Named, (copied, wall): (&Copied, Timestamp)) -> StreamRow {
        let mut open =
            self.queues.values().filter(|queue| queue.row.stream.0 == no && queue.row.closed.is_none());
        let known = named.streams.get(&no).cloned();
        let is_own =
            open.clone().any(|queue| known.as_ref().is_some_and(|name| name == queue.row.name.as_bytes()));
        let has_name = known.is_some() || !copied.lost.has_none(Table::Name);
        let closed = (!has_name && open.next().is_none()).then_some(wall);
        let retention = if is_own { Retention::Consumed } else { Retention::Trim };
        let settings = StreamSettings { retention, ..StreamSettings::default() };
        let name = known.unwrap_or_else(|| Bytes::from(format!("salvaged-{no}")));
        StreamRow { name, settings, created_at: wall, closed, queues: 0 }
    }

    /// Nothing that was given out is given out again.
    fn raise(&mut self, copied: &Copied) {
        for (no, stream) in &mut self.streams {
            let Some(seen) = copied.seen.streams.get(no) else { continue };
            let head = &mut stream.head;
            (head.arrival, head.entry) = (head.arrival.max(seen.arrival), head.entry.max(seen.entry));
            head.last = head.last.max(seen.last);
        }
        for (no, queue) in &mut self.queues {
            if let Some(seen) = copied.seen.queues.get(no) {
                queue.progress.fence = queue.progress.fence.max(seen.fence);
                if let Some(stream) = self.streams.get_mut(&queue.row.stream.0) {
                    stream.head.entry = stream.head.entry.max(seen.entry).max(queue.progress.cursor);
                }
            }
            if queue.is_progress_lost {
                queue.progress.fence = queue.progress.fence.max(queue.row.fence) + JUMP;
                queue.row.fence = queue.progress.fence;
            }
        }
    }

    /// Makes the small tables by which streams and queues are found what they must be.
    pub(super) fn write_names(&self, rows: &mut Rows, copied: &Copied) -> Result<(), StorageError> {
        let mut right: BTreeMap<(Table, Vec<u8>), Bytes> = BTreeMap::new();
        let number = |no: u32| Bytes::copy_from_slice(&key::number(no));
        for (&no, queue) in &self.queues {
            let (row, id) = (&queue.row, queue.row.id.bits().to_be_bytes());
            let member = key::member(row.stream, QueueNo(no)).to_vec();
            right.insert((Table::QueueId, id.to_vec()), number(no));
            match row.closed {
                None => {
                    right.insert((Table::Name, key::queue_name(&row.name)), number(no));
                    right.insert((Table::Member, member), Bytes::copy_from_slice(&id));
                }
                Some(closed) => {
                    let at = closed.at.plus_ms(row.keep_closed_ms());
                    right
                        .insert((Table::Closing, key::closing_queue(at, QueueNo(no)).to_vec()), Bytes::new());
                    right.insert((Table::Member, member), Bytes::new());
                }
            }
        }
        for (&no, stream) in &self.streams {
            if stream.row.closed.is_none() {
                right.insert((Table::Name, key::stream_name(&stream.row.name)), number(no));
            } else if !self.members.contains_key(&no) {
                let closing = key::closing_stream(StreamNo(no)).to_vec();
                right.insert((Table::Closing, closing), Bytes::new());
            }
        }
        for table in [Table::Name, Table::QueueId, Table::Member, Table::Closing] {
            rows.for_each(table, &mut |rows, key, _| {
                if right.contains_key(&(table, key.to_vec())) { Ok(()) } else { rows.remove(table, key) }
            })?;
        }
        right.into_iter().try_for_each(|((table, key), row)| rows.put(table, &key, row))?;
        self.write_numbers(rows, copied)
    }

    fn write_numbers(&self, rows: &mut Rows, copied: &Copied) -> Result<(), StorageError> {
        let last = |mut of: BTreeSet<u32>| of.pop_last().map_or(1, |last| last.saturating_add(1));
        let streams = copied.seen.streams.keys().chain(self.streams.keys()).copied().collect();
        let queues = copied.seen.queues.keys().chain(self.queues.keys()).copied().collect();
        let (stream, queue) = (last(streams), last(queues));
        let known = rows.get(Table::Numbers, &[]).and_then(Numbers::decode);
        match known {
            Some(known) => {
                let (stream, queue) = (known.stream.max(stream), known.queue.max(queue));
                rows.put(Table::Numbers, &[], Numbers { stream, queue }.encode())
            }
            None if stream == 1 && queue == 1 && copied.lost.has_none(Table::Numbers) => Ok(()),
            // Some may have been given out of which nothing is left.
            None => {
                let numbers = Numbers { stream: stream + OWNERS_JUMP, queue: queue + OWNERS_JUMP };
                rows.put(Table::Numbers, &[], numbers.encode())
            }
        }
    }

    /// Writes what they are and how far they have come; rows of others go.
    pub(super) fn write(&self, rows: &mut Rows) -> Result<(), StorageError> {
        for table in [Table::Stream, Table::Head] {
            rows.for_each(table, &mut |rows, key, _| {
                if self.streams.contains_key(&owner(key)) { Ok(()) } else { rows.remove(table, key) }
            })?;
        }
        for table in [Table::Queue, Table::Progress] {
            rows.for_each(table, &mut |rows, key, _| {
                if self.queues.contains_key(&owner(key)) { Ok(()) } else { rows.remove(table, key) }
            })?;
        }
        for (&no, stream) in &self.streams {
            rows.put(Table::Stream, &key::number(no), stream.row.encode())?;
            if stream.head != Head::new(StreamNo(no)) || rows.has(Table::Head, &key::number(no)) {
                rows.put(Table::Head, &key::number(no), stream.head.encode())?;
            }
        }
        for (&no, queue) in &self.queues {
            rows.put(Table::Queue, &key::number(no), queue.row.encode())?;
            rows.put(Table::Progress, &key::number(no), queue.progress.encode())?;
        }
        Ok(())
    }
}

fn named(rows: &mut Rows) -> Result<Named, StorageError> {
    let mut named = Named::default();
    rows.for_each(Table::Name, &mut |_, key, row| {
        let (kind, name) = key.split_first().expect("names have a kind");
        if *kind == b's' {
            named.streams.insert(number(&row), Bytes::copy_from_slice(name));
        } else {
            named.queues.insert(number(&row), String::from_utf8_lossy(name).into_owned());
        }
        Ok(())
    })?;
    rows.for_each(Table::QueueId, &mut |_, key, row| {
        let bits = key.try_into().map_or(0, u128::from_be_bytes);
        named.ids.insert(number(&row), bits);
        Ok(())
    })?;
    rows.for_each(Table::Member, &mut |_, key, row| {
        let id = row[..].try_into().ok().map(u128::from_be_bytes);
        named.members.insert(owner(&key[4..]), (owner(key), id));
        Ok(())
    })?;
    Ok(named)
}

/// A queue whose own row is lost, by what others say of it; none where they say too little, or that it
/// was deleted.
fn made_queue(no: u32, named: &Named, random: &dyn Random) -> Option<QueueRow> {
    let name = named.queues.get(&no).cloned();
    let of_its_own = |name: &String| {
        named.streams.iter().find(|(_, stream)| *stream == name.as_bytes()).map(|(stream, _)| *stream)
    };
    let member = named.members.get(&no);
    let stream = member.map(|(stream, _)| *stream).or_else(|| name.as_ref().and_then(of_its_own))?;
    let id = member.and_then(|(_, id)| *id).or_else(|| named.ids.get(&no).copied());
    if name.is_none() && member.is_none_or(|(_, id)| id.is_none()) {
        return None;
    }
    let drawn = || {
        let mut bits = [0; 16];
        random.fill(&mut bits);
        u128::from_be_bytes(bits)
    };
    Some(QueueRow {
        id: QueueId::from_bits(id.unwrap_or_else(drawn)),
        name: name.unwrap_or_else(|| format!("salvaged-{no}")),
        stream: StreamNo(stream),
        settings: QueueSettings::default(),
        paused: None,
        created_at: Timestamp::default(),
        updated_at: Timestamp::default(),
        round: 0,
        fence: 0,
        // Above whatever its tags were.
        revision: JUMP,
        closed: None,
    })
}
