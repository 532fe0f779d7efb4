//! Claims: the earliest due events of a queue go to a holder.
//!
//! Lives here: the pick and its answer. Not here: what becomes due first (`moves.rs`) and whether a
//! delivery may be taken (`naven-core`).

use std::time::Duration;

use bytes::Bytes;
use naven_api::limits::{CLAIM_EXPIRED_MAX, PLACES_PER_OP_MAX};
use naven_api::{ConsumerId, LeaseSeconds};
use naven_core::planted::{Bug, has};
use naven_core::{DeadReason, Delivery, Hold, State, Step};

use super::context::{Context, READABLE, event_id};
use crate::embedded::rows::body::{BodyRow, Placed};
use crate::embedded::rows::key::{self, Arrival, EntryNo, QueueNo, StreamNo};
use crate::embedded::rows::queue::{Progress, QueueRow};
use crate::embedded::tables::{Table, Tables};
use crate::queue::QueueRef;
use crate::reply::{Claimed, Grant, OpError, OpReply};
use crate::token::{Held, Route};
use crate::txn::{Body, Form};

/// The next event of a queue.
pub(super) struct Pick {
    pub(super) placed: Placed,
    pub(super) arrival: Arrival,
    pub(super) row: BodyRow,
    pub(super) from: Origin,
}

/// Where a queue finds an event that it may hand out.
pub(super) enum Origin {
    /// Among the deliveries that are ready again.
    Again(Box<Delivery>),
    /// In its own lane.
    Lane,
    /// In the stream, above its cursor.
    Stream,
    /// Among what Redis consumers hold, past its end.
    Lapsed(Box<Delivery>),
}

impl<T: Tables> Context<'_, T> {
    pub(super) fn claim(
        &mut self,
        queue: &QueueRef,
        (lease, consumer): (Option<LeaseSeconds>, Option<&ConsumerId>),
        (max, max_bytes): (u32, u64),
    ) -> Result<OpReply, OpError> {
        let (no, queue) = self.open_queue(queue)?;
        let mut claimed = Claimed { queue: queue.id, leases: Vec::new(), due_in: None };
        if queue.paused.is_some() {
            return Ok(OpReply::Claimed(claimed));
        }
        self.place_due(queue.stream, PLACES_PER_OP_MAX as u64);
        let before = self.progress(no);
        let mut progress = before;
        self.move_due(no, &queue, &mut progress, u64::MAX);
        let hold = Hold::Lease(lease.unwrap_or(queue.settings.default_lease));
        let step = Step::Take { hold, consumer: consumer.map(|consumer| consumer.as_str().to_owned()) };
        let (mut bytes, mut expired) = (0, 0);
        while claimed.leases.len() < max as usize && expired < CLAIM_EXPIRED_MAX {
            self.pass_aside(no, queue.stream, &mut progress);
            let Some(pick) = self.pick(no, &queue, &progress) else { break };
            let size = pick.row.body.as_ref().map_or(0, |body| body.bytes.len() as u64);
            let is_full = bytes + size > max_bytes && !claimed.leases.is_empty();
            // What does not fit stays with its consumer.
            if is_full && matches!(pick.from, Origin::Lapsed(_)) {
                break;
            }
            let Some(pick) = self.lapse((no, &queue), pick, &mut progress) else {
                expired += 1;
                continue;
            };
            if let Some(reason) = self.of_no_use(&pick.row) {
                self.take(no, &queue, &pick, &Step::Bury(reason), &mut progress);
                expired += 1;
                continue;
            }
            if is_full {
                break;
            }
            bytes += size;
            let taken = self.take(no, &queue, &pick, &step, &mut progress);
            claimed.leases.push(self.grant(no, &queue, (pick.arrival, pick.row), &taken));
        }
        if progress != before {
            self.put_progress(no, &progress);
        }
        if claimed.leases.is_empty() {
            let soon =
                || [self.due_in_ms(no, queue.stream), self.lapses_in_ms(no, &progress)].into_iter().flatten();
            let ms = if expired < CLAIM_EXPIRED_MAX { soon().min() } else { Some(0) };
            claimed.due_in = ms.map(|ms| Duration::from_millis(ms.unsigned_abs()));
        }
        Ok(OpReply::Claimed(claimed))
    }

    /// Why an event is handed out to nobody, where it is not.
    pub(super) fn of_no_use(&self, row: &BodyRow) -> Option<DeadReason> {
        if row.damaged {
            return Some(DeadReason::Damaged);
        }
        row.expires_at.filter(|&at| at <= self.now.wall).map(|_| DeadReason::EventExpired)
    }

    /// The smallest by (due, arrival) of the first delivery that is ready again, the first hold of a Redis
    /// consumer whose end has come, which is due since then, and the first event that nobody held yet; the
    /// latter come in the order of their places, from stream and lane.
    fn pick(&self, no: QueueNo, queue: &QueueRow, progress: &Progress) -> Option<Pick> {
        let event = |arrival, from| {
            let row = self.pointed_body(queue.stream, arrival);
            let placed = row.placed.expect("what may be handed out has a place");
            Pick { placed, arrival, row, from }
        };
        let fresh =
            self.next_fresh(no, queue.stream, progress).map(|(_, arrival, from)| event(arrival, from));
        let again = self.first(Table::Again, no.0).map(|at| (at, false));
        let lapsed = self.first_lapsed(no, progress).map(|at| (at, true));
        match (again.into_iter().chain(lapsed).min(), fresh) {
            (Some((at, _)), Some(fresh))
                if (fresh.row.due.as_ms(), fresh.arrival) < at || has(Bug::RetryLosesPlace) =>
            {
                Some(fresh)
            }
            (Some(((_, arrival), is_lapsed)), _) => {
                let mut pick = event(arrival, Origin::Stream);
                let before = Box::new(self.pointed_delivery(no, pick.placed.n));
                pick.from = if is_lapsed { Origin::Lapsed(before) } else { Origin::Again(before) };
                Some(pick)
            }
            (None, fresh) => fresh,
        }
    }

    /// The first event in the order of places that the queue has not taken in.
    fn next_fresh(
        &self,
        no: QueueNo,
        stream: StreamNo,
        progress: &Progress,
    ) -> Option<(EntryNo, Arrival, Origin)> {
        let lane = if progress.lane_ready > 0 { self.next_row(Table::Lane, no.0, 0) } else { None };
        let lane = lane.map(|(n, value)| (n, lane_arrival(&value), Origin::Lane));
        let entry = self.next_unread(no, stream, progress).map(|(n, arrival)| (n, arrival, Origin::Stream));
        lane.into_iter().chain(entry).min_by_key(|&(n, ..)| n)
    }

    /// The same, for those who only look.
    pub(super) fn first_fresh(&self, no: QueueNo, stream: StreamNo, progress: &Progress) -> Option<BodyRow> {
        let (_, arrival, _) = self.next_fresh(no, stream, progress)?;
        self.body(stream, arrival)
    }

    /// The first entry above the cursor that the queue has not dealt with otherwise.
    fn next_unread(&self, no: QueueNo, stream: StreamNo, progress: &Progress) -> Option<(EntryNo, Arrival)> {
        let mut from = progress.cursor + 1;
        loop {
            let (n, entry) = self.next_entry(stream, from)?;
            if progress.aside == 0 || !self.has(Table::Aside, no.0, n) {
                return Some((n, entry.arrival));
            }
            from = n.0 + 1;
        }
    }

    /// Moves the cursor past entries that were dealt with before it came to them.
    pub(super) fn pass_aside(&mut self, no: QueueNo, stream: StreamNo, progress: &mut Progress) {
        while progress.aside > 0
            && let Some((n, _)) = self.next_entry(stream, progress.cursor + 1)
            && self.has(Table::Aside, no.0, n)
        {
            self.tables.delete(Table::Aside, &key::counted(no.0, n.0));
            progress.aside -= 1;
            progress.cursor = n.0;
        }
    }

    /// Applies `step` to what was picked, and moves the queue past it.
    pub(super) fn take(
        &mut self,
        no: QueueNo,
        queue: &QueueRow,
        pick: &Pick,
        step: &Step,
        progress: &mut Progress,
    ) -> Delivery {
        let n = pick.placed.n;
        let fresh = queue.fresh(&pick.row);
        let before = match &pick.from {
            Origin::Again(before) | Origin::Lapsed(before) => Some(&**before),
            Origin::Lane | Origin::Stream => None,
        };
        let ready = before.unwrap_or(&fresh);
        let after = ready.apply(step, self.now, &queue.policy(&pick.row));
        let after = after.expect("a ready delivery can be taken");
        match pick.from {
            Origin::Again(_) | Origin::Lapsed(_) => {}
            Origin::Lane => {
                self.tables.delete(Table::Lane, &key::counted(no.0, n.0));
                progress.lane_ready -= 1;
                progress.last = progress.last.max(pick.placed.place);
            }
            Origin::Stream => {
                progress.cursor = n.0;
                progress.read += 1;
                // Where nobody has asked for it, it is not worth the look.
                if progress.entries_read.is_some() {
                    self.note_read(progress, &self.facts(queue.stream), pick.placed.place);
                }
                if !(has(Bug::CursorGoesBack) && self.is_replay()) {
                    progress.last = progress.last.max(pick.placed.place);
                }
            }
        }
        self.save(no, (n, pick.arrival), before, &after, progress);
        self.tell(queue, (pick.arrival, &pick.row), before, &after);
        after
    }

    /// What the holder of `taken` is told.
    pub(super) fn grant(
        &self,
        no: QueueNo,
        queue: &QueueRow,
        (arrival, row): (Arrival, BodyRow),
        taken: &Delivery,
    ) -> Grant {
        let event = event_id(&row, queue.stream, arrival);
        let held = Held { queue: queue.id, event, round: taken.round, fence: taken.fence };
        let route = Route { queue_no: no.0, locator: key::locator(queue.stream, arrival) };
        let lease_expires_at = match taken.state {
            State::Leased(lease) => Some(self.now.wall_of(lease.until)),
            _ => None,
        };
        Grant {
            event,
            queue: queue.id,
            queue_name: queue.name.clone(),
            round: taken.round,
            fence: taken.fence,
            attempts: taken.attempts,
            expiries: taken.expiries,
            scheduled_at: row.scheduled_at,
            body: row.body.unwrap_or(Body { form: Form::Json, bytes: Bytes::from_static(b"{}") }),
            headers: row.headers,
            trace: row.trace,
            token: lease_expires_at.and(self.tokens).map(|tokens| tokens.token(route, &held)),
            lease_expires_at,
        }
    }
}

/// The event of a row of a lane.
pub(super) fn lane_arrival(value: &Bytes) -> Arrival {
    Arrival(u64::from_be_bytes(value.as_ref().try_into().expect(READABLE)))
}
