//! Reading for a Redis consumer: what its queue has not handed out, or what it holds.
//!
//! Lives here: `XREADGROUP`. Not here: what is taken over from others (`transfer.rs`), finishing and giving
//! up (`unproven.rs`), whether a delivery may be taken (`naven-core`).

use std::ops::ControlFlow;
use std::time::Duration;

use bytes::Bytes;
use naven_api::limits::{CLAIM_EXPIRED_MAX, PLACES_PER_OP_MAX};
use naven_core::{ConsumerNo, Delivery, Hold, State, Step};

use super::claim::{Origin, Pick, lane_arrival};
use super::context::{Context, event_id};
use crate::embedded::rows::body::BodyRow;
use crate::embedded::rows::consumer;
use crate::embedded::rows::key::{self, Arrival, EntryNo, QueueNo};
use crate::embedded::rows::queue::{Progress, QueueRow};
use crate::embedded::tables::{Order, Table, Tables};
use crate::reply::{HeldEntry, OpError, OpReply, QueueRead};
use crate::txn::{Place, ReadGroup, ReaderOp};

/// What a reader has got so far.
pub(super) struct Reading<'a> {
    pub(super) op: &'a ReadGroup,
    pub(super) number: ConsumerNo,
    pub(super) entries: Vec<HeldEntry>,
    pub(super) bytes: u64,
    /// How many were given up on the way instead of being handed out.
    pub(super) buried: usize,
}

/// The next that a reader of new entries comes to.
enum Next {
    /// Nobody had it in this round.
    Unread(Box<Pick>),
    /// It is pending, and the reader comes to it again.
    Ahead(EntryNo, Arrival),
}

impl<T: Tables> Context<'_, T> {
    pub(super) fn reader(&mut self, op: &ReaderOp, draw: u32) -> Result<OpReply, OpError> {
        match op {
            ReaderOp::Read(read) => self.read_group(read),
            ReaderOp::Ack(ack) => self.ack_entries(ack),
            ReaderOp::Nack(nack) => self.nack_entries(nack, draw),
            ReaderOp::Transfer(transfer) => self.transfer(transfer),
            ReaderOp::ScanTransfer(scan) => self.scan_transfer(scan),
        }
    }

    fn read_group(&mut self, read: &ReadGroup) -> Result<OpReply, OpError> {
        let found: Result<Vec<_>, _> = read.from.iter().map(|from| self.open_queue(&from.queue)).collect();
        let mut reads = Vec::with_capacity(read.from.len());
        for ((no, queue), from) in found?.into_iter().zip(&read.from) {
            let number = self.consumer_for(no, &read.consumer);
            let reading = Reading { op: read, number, entries: Vec::new(), bytes: 0, buried: 0 };
            reads.push(match from.after {
                Some(after) => self.read_again((no, &queue), after, reading),
                None => self.read_on((no, &queue), reading),
            });
        }
        Ok(OpReply::Read(reads))
    }

    /// What the consumer holds behind a place. What has no content any more stays as it is.
    fn read_again(
        &mut self,
        (no, queue): (QueueNo, &QueueRow),
        after: Place,
        mut reading: Reading<'_>,
    ) -> QueueRead {
        let from = after.after().map(|from| self.pending_from(no, queue.stream, from));
        let held =
            from.map_or_else(Vec::new, |from| self.held_from(no, reading.number, from, reading.count()));
        let mut progress = self.progress(no);
        for n in held {
            let before = self.pointed_delivery(no, n);
            let (arrival, mut row) = self.pointed_event(no, queue, n);
            if self.lost_its_entry(queue, &row, &before) {
                row.body = None;
            }
            if reading.is_full_with(&row) {
                break;
            }
            if row.body.is_some() {
                let after = before.apply(&Step::Reread, self.now, &queue.policy(&row));
                let after = after.expect("its consumer holds it");
                self.save(no, (n, arrival), Some(&before), &after, &mut progress);
                self.tell(queue, (arrival, &row), Some(&before), &after);
            }
            reading.take(self.held_entry(queue, arrival, row, true));
        }
        self.hint_ends(queue, &reading.entries);
        QueueRead { queue: queue.id, entries: reading.entries, due_in: None }
    }

    /// Where holds that end began or were renewed, whoever waits to claim learns how long to sleep.
    pub(super) fn hint_ends(&mut self, queue: &QueueRow, held: &[HeldEntry]) {
        if queue.settings.redis_lease.is_some() && !held.is_empty() {
            self.hint(queue.id);
        }
    }

    /// What the queue has not handed out, and before that what was idle with others, where that is asked for.
    fn read_on(&mut self, (no, queue): (QueueNo, &QueueRow), mut reading: Reading<'_>) -> QueueRead {
        if queue.paused.is_some() {
            return QueueRead { queue: queue.id, entries: Vec::new(), due_in: None };
        }
        self.place_due(queue.stream, PLACES_PER_OP_MAX as u64);
        let mut progress = self.progress(no);
        self.move_due(no, queue, &mut progress, u64::MAX);
        let idle_in = reading
            .op
            .idle_ms
            .and_then(|idle| self.take_idle((no, queue), idle, &mut reading, &mut progress));
        while reading.may_go_on() {
            let Some(next) = self.next_new((no, queue), &mut progress) else { break };
            let is_full = match next {
                Next::Unread(pick) => self.take_unread((no, queue), *pick, &mut reading, &mut progress),
                Next::Ahead(n, arrival) => self.meet((no, queue), (n, arrival), &mut reading, &mut progress),
            };
            if is_full {
                break;
            }
        }
        if progress != self.progress(no) {
            self.put_progress(no, &progress);
        }
        self.hint_ends(queue, &reading.entries);
        let mut due_in = None;
        if reading.entries.is_empty() {
            let soon =
                if reading.buried < CLAIM_EXPIRED_MAX { self.due_in_ms(no, queue.stream) } else { Some(0) };
            let soon = soon.into_iter().chain(idle_in).min();
            due_in = soon.map(|ms| Duration::from_millis(ms.unsigned_abs()));
        } else if !reading.op.no_ack || reading.entries.iter().any(|entry| entry.was_idle.is_some()) {
            self.consumer_took(no, reading.number);
        }
        QueueRead { queue: queue.id, entries: reading.entries, due_in }
    }

    /// The next in the order of places, from stream and lane. What was set aside for good is passed.
    fn next_new(&mut self, (no, queue): (QueueNo, &QueueRow), progress: &mut Progress) -> Option<Next> {
        loop {
            let lane = if progress.lane_ready > 0 { self.next_row(Table::Lane, no.0, 0) } else { None };
            let lane = lane.map(|(n, value)| (n, lane_arrival(&value), Origin::Lane));
            let entry = self.next_entry(queue.stream, progress.cursor + 1);
            let entry = entry.map(|(n, entry)| (n, entry.arrival, Origin::Stream));
            let (n, arrival, from) = lane.into_iter().chain(entry).min_by_key(|&(n, ..)| n)?;
            let is_aside =
                matches!(from, Origin::Stream) && progress.aside > 0 && self.has(Table::Aside, no.0, n);
            if !is_aside {
                let row = self.pointed_body(queue.stream, arrival);
                let placed = row.placed.expect("what may be handed out has a place");
                return Some(Next::Unread(Box::new(Pick { placed, arrival, row, from })));
            }
            if self.is_ahead(no, n) {
                return Some(Next::Ahead(n, arrival));
            }
            self.pass_entry(no, n, progress);
        }
    }

    /// The cursor moves past an entry that was aside.
    fn pass_entry(&mut self, no: QueueNo, n: EntryNo, progress: &mut Progress) {
        self.tables.delete(Table::Aside, &key::counted(no.0, n.0));
        progress.aside -= 1;
        progress.cursor = n.0;
    }

    /// Takes what nobody had. True where there is no room for it.
    fn take_unread(
        &mut self,
        (no, queue): (QueueNo, &QueueRow),
        pick: Pick,
        reading: &mut Reading<'_>,
        progress: &mut Progress,
    ) -> bool {
        if let Some(reason) = self.of_no_use(&pick.row) {
            self.take(no, queue, &pick, &Step::Bury(reason), progress);
            reading.buried += 1;
            return false;
        }
        if reading.is_full_with(&pick.row) {
            return true;
        }
        let hold = if reading.op.no_ack { Hold::NoAck } else { Hold::Consumer(reading.number) };
        let step = Step::Take { hold, consumer: Some(reading.shown()) };
        // A reader learns how many it has read even where that was not known (`claim.rs` goes on with it).
        let is_learnt = progress.entries_read.is_none() && matches!(pick.from, Origin::Stream);
        let learnt = is_learnt
            .then(|| self.facts(queue.stream).read_on(None, progress.last, pick.placed.place))
            .flatten();
        let taken = self.take(no, queue, &pick, &step, progress);
        progress.entries_read = progress.entries_read.or(learnt);
        let Pick { arrival, row, .. } = pick;
        if taken.state == State::Done {
            self.let_go(no, queue, arrival, &row, progress);
        }
        reading.take(self.held_entry(queue, arrival, row, true));
        false
    }

    /// Comes to a pending entry again: what a consumer holds, or nobody, moves to the reader, as if it were
    /// new. Without an ack it stays as it is. True where there is no room for it.
    fn meet(
        &mut self,
        (no, queue): (QueueNo, &QueueRow),
        (n, arrival): (EntryNo, Arrival),
        reading: &mut Reading<'_>,
        progress: &mut Progress,
    ) -> bool {
        let before = self.delivery(no, n).map(|(_, before)| before);
        let row = self.pointed_body(queue.stream, arrival);
        let taken = before.and_then(|before| {
            let step = reading.step(false, Some(1));
            let after = self.handed(queue, &row, &before, &step)?;
            Some((before, after))
        });
        let Some((before, after)) = taken else {
            self.pass_entry(no, n, progress);
            return false;
        };
        if after.is_held() && reading.is_full_with(&row) {
            return true;
        }
        self.pass_entry(no, n, progress);
        if !(after.is_held() && reading.op.no_ack) {
            self.keep((no, queue), (n, arrival), &row, (&before, &after), progress);
        }
        if after.is_held() {
            let place = row.placed.expect("it is in the stream").place;
            self.note_read(progress, &self.facts(queue.stream), place);
            reading.take(self.held_entry(queue, arrival, row, true));
        } else {
            reading.buried += 1;
        }
        false
    }

    /// Saves a step of a delivery that is at hand, and lets go of what is done with.
    pub(super) fn keep(
        &mut self,
        (no, queue): (QueueNo, &QueueRow),
        (n, arrival): (EntryNo, Arrival),
        row: &BodyRow,
        (before, after): (&Delivery, &Delivery),
        progress: &mut Progress,
    ) {
        self.save(no, (n, arrival), Some(before), after, progress);
        self.tell(queue, (arrival, row), Some(before), after);
        if matches!(after.state, State::Done | State::Cancelled) {
            self.let_go(no, queue, arrival, row, progress);
        }
        if !after.is_over() && !after.is_held() {
            self.hint(queue.id);
        }
    }

    /// The queue needs an event no more. Its own figures may change on the way.
    pub(super) fn let_go(
        &mut self,
        no: QueueNo,
        queue: &QueueRow,
        arrival: Arrival,
        row: &BodyRow,
        progress: &mut Progress,
    ) {
        self.put_progress(no, progress);
        self.release_event(queue.stream, arrival, row.clone());
        *progress = self.progress(no);
    }

    pub(super) fn held_entry(
        &self,
        queue: &QueueRow,
        arrival: Arrival,
        row: BodyRow,
        content: bool,
    ) -> HeldEntry {
        HeldEntry {
            place: row.placed.map(|placed| placed.place).unwrap_or_default(),
            event: event_id(&row, queue.stream, arrival),
            body: row.body.filter(|_| content),
            was_idle: None,
        }
    }

    /// The event of a delivery that another row points to.
    pub(super) fn pointed_event(&self, no: QueueNo, queue: &QueueRow, n: EntryNo) -> (Arrival, BodyRow) {
        let missing = || self.tables.miss(Table::Delivery, &key::counted(no.0, n.0));
        let (arrival, _) = self.delivery(no, n).unwrap_or_else(missing);
        (arrival, self.pointed_body(queue.stream, arrival))
    }

    fn held_from(&self, no: QueueNo, by: ConsumerNo, from: EntryNo, most: usize) -> Vec<EntryNo> {
        let (from, to) = (consumer::held(no, by, from), consumer::held(no, by, EntryNo(u64::MAX)));
        let mut found = Vec::new();
        self.tables.scan(Table::Held, &from, &to, Order::Rising, &mut |key, _| {
            if found.len() >= most {
                return ControlFlow::Break(());
            }
            found.push(consumer::entry_of(key));
            ControlFlow::Continue(())
        });
        found
    }
}

impl Reading<'_> {
    pub(super) fn count(&self) -> usize {
        self.op.count.map_or(usize::MAX, |count| usize::try_from(count).unwrap_or(usize::MAX))
    }

    pub(super) fn may_go_on(&self) -> bool {
        self.entries.len() < self.count() && self.buried < CLAIM_EXPIRED_MAX
    }

    /// True where this content does not fit any more.
    pub(super) fn is_full_with(&self, row: &BodyRow) -> bool {
        let bytes = row.body.as_ref().map_or(0, |body| body.bytes.len() as u64);
        !self.entries.is_empty() && self.bytes.saturating_add(bytes) > self.op.max_bytes
    }

    pub(super) fn take(&mut self, entry: HeldEntry) {
        self.bytes += entry.body.as_ref().map_or(0, |body| body.bytes.len() as u64);
        self.entries.push(entry);
    }

    fn shown(&self) -> String {
        shown(&self.op.consumer)
    }

    pub(super) fn step(&self, just_id: bool, redis_count: Option<u64>) -> Step {
        Step::TakeOver { to: self.number, consumer: self.shown(), just_id, since: None, redis_count }
    }
}

/// A consumer's name for people.
pub(super) fn shown(name: &Bytes) -> String {
    String::from_utf8_lossy(name).into_owned()
}
