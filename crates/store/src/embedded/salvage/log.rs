//! Replaying the log as far as it can be read.
//!
//! Lives here: the walk up to the first batch that cannot, and what is taken from beyond it. Not here: rows
//! (`copy.rs`).
//!
//! On rows of which some are lost the log may decide otherwise than it did: a claim takes another event, an
//! ack finds none. Such a delivery comes again when its lease has run out; a record that changes nothing
//! is passed over, and counted. Beyond a batch that is lost nobody knows what numbers were given out, so
//! that nothing there means what it meant, but events that were published: they are published once more,
//! under new ids.

use std::sync::Arc;

use bytes::Bytes;
use naven_api::Timestamp;
use naven_core::Now;

use super::owners::{JUMP, OWNERS_JUMP};
use super::report::{LostLog, Salvaged};
use super::rows::Rows;
use super::seen::owner;
use crate::embedded::apply::apply;
use crate::embedded::cold::{Applied, COLD_FILE, Cold, guarded};
use crate::embedded::command::{Command, Recorded};
use crate::embedded::disk::Disk;
use crate::embedded::finding::Finding;
use crate::embedded::layered::{Layered, unless_unreadable};
use crate::embedded::log::check::{segments_left, walk, walk_beyond};
use crate::embedded::log::segment::{LOG_FOLDER, Segment, SegmentNumber};
use crate::embedded::log::{BatchHeader, BatchKind, FIRST_LSN, Log, Lsn};
use crate::embedded::meta::Meta;
use crate::embedded::pace::Pace;
use crate::embedded::replay::records;
use crate::embedded::rows::delivery;
use crate::embedded::rows::key;
use crate::embedded::rows::queue::{Progress, QueueRow};
use crate::embedded::rows::stream::{Head, Numbers};
use crate::embedded::storage_error::StorageError;
use crate::embedded::supply::Supply;
use crate::embedded::tables::{Journaled, Table};
use crate::reply::OpReply;

/// A damaged log, and from where on it is to be replayed.
pub(super) struct Source<'a> {
    pub(super) disk: &'a Arc<dyn Disk>,
    pub(super) meta: &'a Meta,
    /// What the rows are of; none where that is not known.
    pub(super) applied: Option<Applied>,
    /// The clocks of the rows, so far as they tell.
    pub(super) clocks: Applied,
}

/// Replays what can be replayed onto `rows`; onto nothing where there are none. Answers the clocks of the
/// last batch.
pub(super) fn replay(
    from: &Source<'_>,
    rows: Option<Rows>,
    report: &mut Salvaged,
    progress: &mut dyn FnMut(u64),
) -> Result<(Option<Rows>, Applied), StorageError> {
    let (segments, wrong) = segments_left(&**from.disk, from.meta.segment_bytes)?;
    wrong.iter().for_each(|error| report.add(Finding::of(error, LOG_FOLDER)));
    report.segments = segments.len() as u64;
    let next = from.applied.map_or(FIRST_LSN, |applied| applied.lsn + 1);
    let mut replaying = Replaying::begin(rows, next, from.clocks)?;
    let stopped = match from.applied {
        Some(_) => replaying.along(from, &segments, (report, progress))?,
        None => Some((0, 0)),
    };
    report.lsn = replaying.next - 1;
    let is_whole = wrong.is_empty() && !replaying.met_unknown && is_whole(from, next, report);
    let Some(stopped) = stopped.filter(|_| !is_whole) else { return replaying.end() };
    replaying.jump()?;
    replaying.beyond(from, &segments, stopped, (report, progress))?;
    replaying.end()
}

/// True where a start would take the log: its code tells a tail from damage.
fn is_whole(from: &Source<'_>, next: Lsn, report: &mut Salvaged) -> bool {
    if from.applied.is_none() {
        return false;
    }
    let Ok((_, recovered)) = Log::open(Arc::clone(from.disk), from.meta, next, &mut |_, _| Ok(())) else {
        return false;
    };
    if recovered.next_lsn < next {
        let what = format!("it holds lsn {}, and the log ends before: more may be missing", next - 1);
        report.add(Finding::at(COLD_FILE, 0, what));
    }
    true
}

struct Replaying {
    /// None where nothing is to be made.
    store: Option<(Journaled<Layered>, Cold)>,
    next: Lsn,
    /// The clocks of the last batch.
    at: Applied,
    /// True beyond a lost batch.
    only_publishes: bool,
    /// True where a batch holds what this version does not know.
    met_unknown: bool,
    /// Where it is not known what the rows are of: when the newest event in them was published.
    known_upto: Option<Timestamp>,
}

type Telling<'a> = (&'a mut Salvaged, &'a mut dyn FnMut(u64));

impl Replaying {
    fn begin(rows: Option<Rows>, next: Lsn, at: Applied) -> Result<Self, StorageError> {
        let store = match rows {
            Some(rows) => {
                let (cold, reader) = rows.into_cold()?;
                Some((Journaled::new(Layered::load(reader, Arc::new(Supply::default()))?), cold))
            }
            None => None,
        };
        Ok(Self { store, next, at, only_publishes: false, met_unknown: false, known_upto: None })
    }

    fn end(self) -> Result<(Option<Rows>, Applied), StorageError> {
        let Some((mut tables, mut cold)) = self.store else { return Ok((None, self.at)) };
        let window = tables.inner_mut().freeze(Applied::default());
        cold.write(&window, Applied::default())?;
        Ok((Some(Rows::over(cold)?), self.at))
    }

    /// Answers the segment and offset at which it had to stop.
    fn along(
        &mut self,
        from: &Source<'_>,
        segments: &[Segment],
        (report, progress): (&mut Salvaged, &mut dyn FnMut(u64)),
    ) -> Result<Option<(usize, u64)>, StorageError> {
        let (disk, store) = (&**from.disk, from.meta.store);
        let begins = |segment: &Segment| walk(disk, store, segment, &mut |_, _, _| {}).ok()?.first;
        let start =
            segments.iter().rposition(|segment| begins(segment).is_some_and(|first| first <= self.next));
        let is_first = |segment: &&Segment| segment.number == SegmentNumber::FIRST;
        let Some(start) = start.or_else(|| segments.first().filter(is_first).map(|_| 0)) else {
            return Ok(Some((0, 0)));
        };
        for (index, segment) in segments.iter().enumerate().skip(start) {
            let (mut stopped, mut failed) = (None, None);
            let walked = walk(disk, store, segment, &mut |header, payload, offset| {
                if stopped.is_none() && failed.is_none() {
                    match self.batch(header, payload, report) {
                        Ok(true) => {}
                        Ok(false) => stopped = Some(offset),
                        Err(error) => failed = Some(error),
                    }
                }
            });
            progress(segment.len);
            if let Some(error) = failed {
                return Err(error);
            }
            let walked = match walked {
                Ok(walked) => walked,
                Err(error) => {
                    report.add(Finding::of(&error, &segment.name));
                    return Ok(Some((index, 0)));
                }
            };
            let goes_on = segments.get(index + 1).is_some_and(|next| next.number == segment.number.next());
            if stopped.is_some() || !walked.has_roll || !goes_on {
                return Ok(Some((index, stopped.unwrap_or(walked.end))));
            }
        }
        Ok(None)
    }

    /// Takes what was published in what is left of the log behind a lost part.
    fn beyond(
        &mut self,
        from: &Source<'_>,
        segments: &[Segment],
        (index, offset): (usize, u64),
        (report, progress): Telling<'_>,
    ) -> Result<(), StorageError> {
        self.only_publishes = true;
        self.known_upto = from.applied.is_none().then_some(from.clocks.wall);
        let least = self.next;
        let mut last = None;
        for (at, segment) in segments.iter().enumerate().skip(index) {
            let offset = if at == index { offset } else { 0 };
            let mut failed = None;
            let each = &mut |header: &BatchHeader, payload: &[u8], _: u64| {
                if failed.is_none() {
                    failed = self.batch(header, payload, report).err();
                }
            };
            let latest = walk_beyond(&**from.disk, from.meta.store, segment, (offset, least), each);
            progress(segment.len);
            if let Some(error) = failed {
                return Err(error);
            }
            match latest {
                Ok(latest) => last = last.max(latest),
                Err(error) => report.add(Finding::of(&error, &segment.name)),
            }
        }
        let name = segments.get(index).map_or(LOG_FOLDER, |segment| segment.name.as_str());
        let lost = LostLog { from: least, upto: last.unwrap_or(least).max(least) };
        report.lost_log = Some(lost);
        let what = match from.applied {
            Some(_) => format!("lsn {} to {} of the log cannot be replayed", lost.from, lost.upto),
            None => "the log cannot be replayed: it is not known what the rows are of".to_owned(),
        };
        report.add(Finding::at(name, offset, what));
        Ok(())
    }

    /// Applies a batch. False where it does not follow the one before.
    fn batch(
        &mut self,
        header: &BatchHeader,
        payload: &[u8],
        report: &mut Salvaged,
    ) -> Result<bool, StorageError> {
        if header.next_lsn() <= self.next || header.kind == BatchKind::Roll {
            return Ok(true);
        }
        if header.lsn != self.next && !self.only_publishes {
            return Ok(false);
        }
        if header.kind == BatchKind::Data {
            let Some(txns) = records(payload) else {
                self.met_unknown = true;
                return Ok(false);
            };
            let now = Now { wall: header.wall, lease: header.lease };
            txns.iter().try_for_each(|txn| self.txn(txn, now, report))?;
        }
        if !self.only_publishes {
            self.next = header.next_lsn();
        }
        self.at = Applied { lsn: 0, wall: header.wall, lease: header.lease.max(self.at.lease) };
        Ok(true)
    }

    fn txn(&mut self, txn: &Recorded, now: Now, report: &mut Salvaged) -> Result<(), StorageError> {
        let published;
        let txn = if self.only_publishes {
            published = only_publishes(txn, self.known_upto.is_none_or(|wall| now.wall >= wall));
            &published
        } else {
            txn
        };
        let Some((tables, cold)) = &mut self.store else {
            report.under_new_ids += if self.only_publishes { txn.commands.len() as u64 } else { 0 };
            return Ok(());
        };
        tables.begin();
        // Rows that lead nowhere are a bug's panic on a whole store; here they may be what is left.
        match guarded(|| unless_unreadable(|| apply(tables, txn, now, None))) {
            Ok(applied) => {
                tables.keep();
                report.without_effect += u64::from(!applied.changed && !txn.commands.is_empty());
                let is_event = |reply: &Result<OpReply, _>| matches!(reply, Ok(OpReply::Event(_)));
                let events = applied.replies.iter().filter(|reply| is_event(reply)).count();
                report.under_new_ids += if self.only_publishes { events as u64 } else { 0 };
            }
            Err(error) => {
                tables.roll_back();
                let what = format!("a record cannot be replayed: {error}");
                report.add(Finding { file: LOG_FOLDER.to_owned(), what, ..Finding::default() });
            }
        }
        flush(tables, cold)
    }

    /// Behind a part that is lost no number is given out that may have been given out there.
    fn jump(&mut self) -> Result<(), StorageError> {
        let (next, at) = (self.next, self.at);
        let Some((mut tables, mut cold)) = self.store.take() else { return Ok(()) };
        let window = tables.inner_mut().freeze(Applied::default());
        cold.write(&window, Applied::default())?;
        let mut rows = Rows::over(cold)?;
        jump_heads(&mut rows, |_| true)?;
        jump_fences(&mut rows)?;
        jump_numbers(&mut rows)?;
        *self = Self::begin(Some(rows), next, at)?;
        Ok(())
    }
}

/// The publishes of a transaction, unless they are there already.
fn only_publishes(txn: &Recorded, is_new: bool) -> Recorded {
    let is_publish = |command: &&Command| match command {
        Command::Append(_) => true,
        Command::Once { command, .. } => matches!(**command, Command::Append(_)),
        _ => false,
    };
    let commands = txn.commands.iter().filter(|_| is_new).filter(is_publish).cloned().collect();
    Recorded { commands, all_or_nothing: false }
}

/// Lets numbers of events and entries of these streams go on far behind all that is known.
pub(super) fn jump_heads(rows: &mut Rows, of: impl Fn(u32) -> bool) -> Result<(), StorageError> {
    rows.for_each(Table::Stream, &mut |rows, key, _| {
        if !of(owner(key)) {
            return Ok(());
        }
        let head = rows.get(Table::Head, key).and_then(Head::decode).unwrap_or_default();
        let (arrival, entry, version) = (head.arrival + JUMP, head.entry + JUMP, head.version + JUMP);
        rows.put(Table::Head, key, Head { arrival, entry, version, ..head }.encode())
    })
}

/// The same for the numbers of streams and queues.
fn jump_numbers(rows: &mut Rows) -> Result<(), StorageError> {
    let known = rows.get(Table::Numbers, &[]).and_then(Numbers::decode);
    let Numbers { stream, queue } = known.unwrap_or(Numbers { stream: 1, queue: 1 });
    let numbers = Numbers { stream: stream + OWNERS_JUMP, queue: queue + OWNERS_JUMP };
    rows.put(Table::Numbers, &[], numbers.encode())
}

/// The same for the fencing numbers of all queues.
fn jump_fences(rows: &mut Rows) -> Result<(), StorageError> {
    rows.for_each(Table::Queue, &mut |rows, key, row| {
        let Some(mut queue) = QueueRow::decode(row) else { return Ok(()) };
        let progress = rows.get(Table::Progress, key).and_then(Progress::decode).unwrap_or_default();
        let fence = progress.fence.max(queue.fence) + JUMP;
        queue.fence = fence;
        rows.put(Table::Queue, key, queue.encode())?;
        rows.put(Table::Progress, key, Progress { fence, ..progress }.encode())
    })?;
    rows.for_each(Table::Delivery, &mut |rows, key, row| {
        let Some((arrival, mut delivery)) = delivery::decode(row) else { return Ok(()) };
        let queue = rows.get(Table::Queue, &key::number(owner(key))).and_then(QueueRow::decode);
        let Some(queue) = queue else { return Ok(()) };
        delivery.fence = queue.fence;
        let row: Bytes = delivery::encode(arrival, &delivery);
        rows.put(Table::Delivery, key, row)
    })
}

fn flush(tables: &mut Journaled<Layered>, cold: &mut Cold) -> Result<(), StorageError> {
    let window = tables.inner().open();
    if Pace::of_segments(u64::MAX).is_reached(window.rows(), window.bytes()) {
        let window = tables.inner_mut().freeze(Applied::default());
        cold.write(&window, Applied::default())?;
        tables.inner_mut().rest_on(cold.reader()?.map(Arc::new), 0);
    }
    Ok(())
}
