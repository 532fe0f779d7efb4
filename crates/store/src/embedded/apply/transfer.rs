//! Pending entries go over to a Redis consumer.
//!
//! Lives here: `XCLAIM`, `XAUTOCLAIM`, and what a reader takes of what was idle. Not here: whether a delivery
//! may go over (`naven-core`), reading otherwise (`reader.rs`).

use naven_core::{Delivery, LeaseTime, State, Step};

use super::context::Context;
use super::reader::{Reading, shown};
use crate::embedded::rows::body::BodyRow;
use crate::embedded::rows::key::{Arrival, EntryNo, QueueNo};
use crate::embedded::rows::queue::{Progress, QueueRow};
use crate::embedded::tables::{Table, Tables};
use crate::read::{SCANS_MAX, idle_ms};
use crate::reply::{HeldEntry, OpError, OpReply, Transferred};
use crate::txn::{GroupStart, Place, ScanTransfer, Since, Transfer};

/// How many pending entries a scan looks at for each that it may take over. Source: Redis 7.
const LOOKS_PER_ENTRY: u64 = 10;

/// What became of a pending entry that was to go over.
pub(super) enum Went {
    /// Over.
    Over(HeldEntry),
    /// Its content is deleted: it is pending no more.
    Deleted,
    /// It was given up instead.
    Buried,
    /// Nowhere.
    Nowhere,
}

impl<T: Tables> Context<'_, T> {
    pub(super) fn transfer(&mut self, op: &Transfer) -> Result<OpReply, OpError> {
        let (no, mut queue) = self.open_queue(&op.queue)?;
        let number = self.consumer_for(no, &op.consumer);
        let before = self.progress(no);
        if let Some(last) = op.last.filter(|last| *last > before.last) {
            self.set_place(&op.queue, GroupStart::At(last), before.entries_read)?;
            queue = self.queue(no).expect("it is open");
        }
        let since = op.since.map(|since| self.since(since));
        let step = |redis_count| Step::TakeOver {
            to: number,
            consumer: shown(&op.consumer),
            just_id: op.just_id,
            since,
            redis_count,
        };
        let mut done = Transferred { entries: Vec::new(), deleted: Vec::new(), next: Place::default() };
        let mut progress = self.progress(no);
        for &place in &op.places {
            let Some(n) = self.pending_number(no, queue.stream, place) else { continue };
            match self.delivery(no, n) {
                Some((arrival, held)) if !held.is_over() => {
                    let is_idle = idle_ms(&held, self.now) >= op.min_idle_ms;
                    let step = step(op.redis_count);
                    let went =
                        self.hand_over((no, &queue), (n, arrival), &held, (&step, is_idle), &mut progress);
                    done.note(went, place, op.just_id);
                }
                _ if op.force => {
                    // As Redis has it: a delivery that is made counts one, and going over one more.
                    let count = op.redis_count.unwrap_or(if op.just_id { 1 } else { 2 });
                    let made = self.make_pending((no, &queue), n, &step(Some(count)), &mut progress);
                    done.entries.extend(made.map(|entry| entry.without(op.just_id)));
                }
                _ => {}
            }
        }
        self.put_progress(no, &progress);
        self.hint_ends(&queue, &done.entries);
        if !done.entries.is_empty() {
            self.consumer_took(no, number);
        }
        Ok(OpReply::Transferred(done))
    }

    pub(super) fn scan_transfer(&mut self, op: &ScanTransfer) -> Result<OpReply, OpError> {
        let (no, queue) = self.open_queue(&op.queue)?;
        let number = self.consumer_for(no, &op.consumer);
        let consumer = shown(&op.consumer);
        let step =
            Step::TakeOver { to: number, consumer, just_id: op.just_id, since: None, redis_count: None };
        let mut done = Transferred { entries: Vec::new(), deleted: Vec::new(), next: Place::default() };
        let mut progress = self.progress(no);
        let (mut looks, mut left) = (op.count.saturating_mul(LOOKS_PER_ENTRY), op.count);
        let (mut from, mut bytes) = (self.pending_from(no, queue.stream, op.start), 0);
        while let Some((n, arrival, held)) = self.next_pending(no, from) {
            let row = self.pointed_body(queue.stream, arrival);
            let place = row.placed.map(|placed| placed.place).unwrap_or_default();
            let size = row.body.as_ref().map_or(0, |body| body.bytes.len() as u64);
            let is_full = !op.just_id && !done.entries.is_empty() && bytes + size > op.max_bytes;
            if looks == 0 || left == 0 || is_full {
                done.next = place;
                break;
            }
            (looks, from) = (looks - 1, EntryNo(n.0 + 1));
            let is_idle = idle_ms(&held, self.now) >= op.min_idle_ms;
            let went = self.hand_over((no, &queue), (n, arrival), &held, (&step, is_idle), &mut progress);
            left -= u64::from(matches!(went, Went::Over(_) | Went::Deleted));
            bytes += if matches!(went, Went::Over(_)) { size } else { 0 };
            done.note(went, place, op.just_id);
        }
        self.put_progress(no, &progress);
        self.hint_ends(&queue, &done.entries);
        if !done.entries.is_empty() {
            self.consumer_took(no, number);
        }
        Ok(OpReply::Transferred(done))
    }

    /// What was idle for so long goes to the reader. Answers how long until something may be, where nothing
    /// is now.
    pub(super) fn take_idle(
        &mut self,
        (no, queue): (QueueNo, &QueueRow),
        idle: u64,
        reading: &mut Reading<'_>,
        progress: &mut Progress,
    ) -> Option<i64> {
        let (mut from, mut soonest) = (EntryNo(0), None);
        for _ in 0..SCANS_MAX {
            if !reading.may_go_on() {
                break;
            }
            let Some((n, arrival, held)) = self.next_pending(no, from) else { break };
            from = EntryNo(n.0 + 1);
            let was = idle_ms(&held, self.now);
            if was < idle {
                let is_free = !matches!(held.state, State::Leased(_));
                let left = i64::try_from(idle - was).ok().filter(|_| is_free);
                soonest = soonest.into_iter().chain(left).min();
                continue;
            }
            if reading.is_full_with(&self.pointed_body(queue.stream, arrival)) {
                break;
            }
            let step = reading.step(false, None);
            match self.hand_over((no, queue), (n, arrival), &held, (&step, true), progress) {
                Went::Over(entry) => {
                    reading.take(HeldEntry { was_idle: Some((was, held.redis_count)), ..entry });
                }
                Went::Buried => reading.buried += 1,
                Went::Deleted | Went::Nowhere => {}
            }
        }
        soonest
    }

    /// The first delivery at or behind this number that is not dead.
    pub(super) fn next_pending(&self, no: QueueNo, from: EntryNo) -> Option<(EntryNo, Arrival, Delivery)> {
        let mut from = from.0;
        loop {
            let (n, _) = self.next_row(Table::Delivery, no.0, from)?;
            let (arrival, delivery) = self.delivery(no, n)?;
            if !delivery.is_over() {
                return Some((n, arrival, delivery));
            }
            from = n.0 + 1;
        }
    }

    /// One pending entry goes over, where it was idle for long enough. What has no content any more is
    /// forgotten, idle or not.
    fn hand_over(
        &mut self,
        (no, queue): (QueueNo, &QueueRow),
        (n, arrival): (EntryNo, Arrival),
        before: &Delivery,
        (step, is_idle): (&Step, bool),
        progress: &mut Progress,
    ) -> Went {
        if before.is_over() {
            return Went::Nowhere;
        }
        let row = self.pointed_body(queue.stream, arrival);
        let has_none = row.body.is_none() && !row.damaged && !matches!(before.state, State::Leased(_));
        if has_none || self.lost_its_entry(queue, &row, before) {
            self.forget_contentless((no, queue), (n, arrival), &row, before, progress);
            return Went::Deleted;
        }
        let after = if is_idle { self.handed(queue, &row, before, step) } else { None };
        let Some(after) = after else { return Went::Nowhere };
        self.keep((no, queue), (n, arrival), &row, (before, &after), progress);
        if after.is_held() { Went::Over(self.held_entry(queue, arrival, row, true)) } else { Went::Buried }
    }

    /// True where a consumer holds what its stream lost: whatever else still needs the content, this hold does
    /// not, and its consumer finds the entry deleted. A queue that protects what it did not read keeps it.
    pub(super) fn lost_its_entry(&self, queue: &QueueRow, row: &BodyRow, before: &Delivery) -> bool {
        let Some(placed) = row.placed.filter(|_| row.only.is_none()) else { return false };
        matches!(before.state, State::Held { .. })
            && !queue.settings.protect_unread
            && !self.has(Table::Entry, queue.stream.0, placed.n)
    }

    /// How a delivery stands that goes over; none where it may not. What is of no use is given up instead.
    pub(super) fn handed(
        &self,
        queue: &QueueRow,
        row: &BodyRow,
        before: &Delivery,
        step: &Step,
    ) -> Option<Delivery> {
        let policy = queue.policy(row);
        let after = before.apply(step, self.now, &policy).ok()?;
        let reason = self.of_no_use(row).filter(|_| row.damaged || !before.is_held());
        match reason.filter(|_| after.is_held()) {
            Some(reason) => before.apply(&Step::Bury(reason), self.now, &policy).ok(),
            None => Some(after),
        }
    }

    /// An entry of the stream that nobody has becomes pending, though it was not handed out, or was done with or
    /// given up in a round that is over then.
    fn make_pending(
        &mut self,
        (no, queue): (QueueNo, &QueueRow),
        n: EntryNo,
        step: &Step,
        progress: &mut Progress,
    ) -> Option<HeldEntry> {
        let (found, entry) = self.next_entry(queue.stream, n.0)?;
        let row = self.pointed_body(queue.stream, entry.arrival);
        if found != n || row.body.is_none() || self.of_no_use(&row).is_some() {
            return None;
        }
        let is_unread = n.0 > progress.cursor && !self.has(Table::Aside, no.0, n);
        let fresh = if is_unread {
            queue.fresh(&row)
        } else {
            let round = self.forget_ended(no, (n, entry.arrival), progress);
            let round = round.map_or(queue.round, |round| round.saturating_add(1));
            // Nobody may know any more which fences it had.
            Delivery { round, fence: progress.fence, ..queue.fresh(&row) }
        };
        let held = fresh.apply(step, self.now, &queue.policy(&row)).ok()?;
        if is_unread {
            self.put_ahead(no, n, progress);
            progress.read += 1;
        } else {
            self.pass_over(no, n);
        }
        self.save(no, (n, entry.arrival), None, &held, progress);
        self.tell(queue, (entry.arrival, &row), None, &held);
        Some(self.held_entry(queue, entry.arrival, row, true))
    }

    /// What is known of an event that was finished or given up is forgotten. Answers in which round that was.
    fn forget_ended(
        &mut self,
        no: QueueNo,
        (n, arrival): (EntryNo, Arrival),
        progress: &mut Progress,
    ) -> Option<u32> {
        if let Some((_, dead)) = self.delivery(no, n) {
            self.forget(no, (n, arrival), &dead, progress);
            return Some(dead.round);
        }
        let (_, over) = self.outcome(no, n)?;
        self.forget_outcome(no, (n, arrival), &over, progress);
        Some(over.round)
    }

    /// An instant that is ahead, or before 1970, is now.
    fn since(&self, since: Since) -> LeaseTime {
        let ms = match since {
            Since::Idle(ms) => i64::try_from(ms).ok().filter(|ms| *ms <= self.now.wall.as_ms()),
            Since::At(at) if at.as_ms() < 0 => None,
            Since::At(at) => Some(self.now.wall.as_ms().saturating_sub(at.as_ms()).max(0)),
        };
        self.now.lease.plus_ms(-ms.unwrap_or(0))
    }
}

impl Transferred {
    fn note(&mut self, went: Went, place: Place, just_id: bool) {
        match went {
            Went::Over(entry) => self.entries.push(entry.without(just_id)),
            Went::Deleted => self.deleted.push(place),
            Went::Buried | Went::Nowhere => {}
        }
    }
}

impl HeldEntry {
    /// The same without its content, where that was not asked for.
    fn without(self, content: bool) -> Self {
        Self { body: self.body.filter(|_| !content), ..self }
    }
}
