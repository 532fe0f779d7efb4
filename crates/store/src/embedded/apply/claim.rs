//! Claims: the earliest due events of a queue go to a holder.
//!
//! Lives here: the pick and its answer. Not here: what becomes due first (`moves.rs`) and whether a
//! delivery may be taken (`naven-core`).

use std::time::Duration;

use naven_api::{ConsumerId, LeaseSeconds};
use naven_core::{Delivery, Hold, State, Step};

use super::context::{Context, event_id};
use crate::embedded::rows::body::BodyRow;
use crate::embedded::rows::key::{self, Arrival, EntryNo, QueueNo};
use crate::embedded::rows::queue::{Progress, QueueRow};
use crate::embedded::tables::{Table, Tables};
use crate::queue::QueueRef;
use crate::reply::{Claimed, Grant, OpError, OpReply};
use crate::token::{Held, Route};
use crate::txn::{Body, Form};

/// The next event of a queue.
struct Pick {
    n: EntryNo,
    arrival: Arrival,
    row: BodyRow,
    /// None where it stands above the cursor, with no row yet.
    before: Option<Delivery>,
}

impl<T: Tables> Context<'_, T> {
    pub(super) fn claim(
        &mut self,
        queue: &QueueRef,
        hold: Option<LeaseSeconds>,
        (max, max_bytes): (u32, u64),
        consumer: Option<&ConsumerId>,
    ) -> Result<OpReply, OpError> {
        let (no, queue) = self.open_queue(queue)?;
        let mut claimed = Claimed { queue: queue.id, leases: Vec::new(), due_in: None };
        if queue.paused.is_some() {
            return Ok(OpReply::Claimed(claimed));
        }
        self.place_due(queue.stream, u64::MAX);
        let before = self.progress(no);
        let mut progress = before;
        self.move_due(no, &queue, &mut progress, u64::MAX);
        let step = Step::Take {
            hold: Hold::Lease(hold.unwrap_or(queue.settings.default_lease)),
            consumer: consumer.map(|consumer| consumer.as_str().to_owned()),
        };
        let mut bytes = 0;
        while claimed.leases.len() < max as usize {
            let Some(pick) = self.pick(no, &queue, &progress) else { break };
            bytes += pick.row.body.as_ref().map_or(0, |body| body.bytes.len() as u64);
            if bytes > max_bytes && !claimed.leases.is_empty() {
                break;
            }
            claimed.leases.push(self.grant(no, &queue, pick, &step, &mut progress));
        }
        if progress != before {
            self.put_progress(no, &progress);
        }
        if claimed.leases.is_empty() {
            let ms = self.due_in_ms(no, queue.stream);
            claimed.due_in = ms.map(|ms| Duration::from_millis(ms.unsigned_abs()));
        }
        Ok(OpReply::Claimed(claimed))
    }

    /// The smaller by (due, arrival) of the first delivery that is ready again and the first event
    /// above the cursor; the latter come in the order of their places.
    fn pick(&self, no: QueueNo, queue: &QueueRow, progress: &Progress) -> Option<Pick> {
        let again = self.first(Table::Again, no.0);
        let fresh = self.next_fresh(queue.stream, progress.cursor).map(|(n, arrival)| {
            let row = self.body(queue.stream, arrival).expect("an entry has an event");
            Pick { n, arrival, row, before: None }
        });
        match (again, fresh) {
            (Some(again), Some(fresh)) if (fresh.row.due.as_ms(), fresh.arrival) < again => Some(fresh),
            (Some((_, arrival)), _) => {
                let row = self.body(queue.stream, arrival).expect("an indexed delivery has an event");
                let n = row.entry.expect("an indexed delivery has an entry");
                let before = Some(self.delivery(no, n).expect("an indexed delivery has a row"));
                Some(Pick { n, arrival, row, before })
            }
            (None, fresh) => fresh,
        }
    }

    fn grant(
        &mut self,
        no: QueueNo,
        queue: &QueueRow,
        pick: Pick,
        step: &Step,
        progress: &mut Progress,
    ) -> Grant {
        let Pick { n, arrival, row, before } = pick;
        let policy = Self::policy(queue, &row);
        let fresh = Delivery::fresh(row.due);
        let ready = before.as_ref().unwrap_or(&fresh);
        let taken = ready.apply(step, self.now, &policy).expect("a ready delivery can be taken");
        if before.is_none() {
            progress.cursor = n.0;
        }
        self.save(no, (n, arrival), before.as_ref(), &taken, progress);
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
            body: row.body.unwrap_or(Body { form: Form::Json, bytes: bytes::Bytes::from_static(b"{}") }),
            headers: row.headers,
            token: self.tokens.map(|tokens| tokens.token(route, &held)),
            lease_expires_at,
        }
    }
}
