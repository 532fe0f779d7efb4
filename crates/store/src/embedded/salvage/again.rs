//! Deliveries whose rows are lost though their events are there.
//!
//! Lives here: finding them, and handing their events out again. Not here: rows that can be read
//! (`dealings.rs`).
//!
//! Nobody knows how such a delivery stood: it comes again, which consumers have to stand, and which is
//! better than that it never comes. One that was dead is a dead letter again, of which the reason is lost.

use bytes::Bytes;
use naven_api::Timestamp;
use naven_core::{DeadReason, Delivery, State};

use super::events::Mend;
use super::rows::Rows;
use super::seen::owner;
use crate::embedded::rows::body::BodyRow;
use crate::embedded::rows::delivery;
use crate::embedded::rows::key::{self, Arrival};
use crate::embedded::storage_error::StorageError;
use crate::embedded::tables::Table;
use crate::embedded::verify::link;

/// How a queue stands to an event as far as rows tell.
enum Stand {
    /// A row of its own, or the cursor, says how.
    Known,
    /// A row that is lost may have said that it was held.
    Held,
    /// A row that is lost may have said that it waited in the lane.
    InLane,
    /// Nothing says that it has to do with it.
    Nothing,
}

impl Mend<'_> {
    /// Looks for events to which a lost row may have led, and for events that nothing leads to.
    pub(super) fn lost_dealings(&mut self, rows: &mut Rows) -> Result<(), StorageError> {
        rows.for_each(Table::Body, &mut |rows, key, row| {
            let Some(body) = BodyRow::decode(row) else { return Ok(()) };
            let (stream, arrival) = (owner(key), Arrival(key::count_of(key)));
            let Some(n) = body.placed.map(|placed| placed.n.0) else { return Ok(()) };
            let in_stream = rows.has(Table::Entry, &key::counted(stream, n));
            let readers = body.only.map_or_else(|| self.owners.members(stream), |only| vec![only.0]);
            let mut is_needed = in_stream;
            for no in &readers {
                match self.stand(rows, *no, n, (in_stream, &body)) {
                    Stand::Known => {}
                    Stand::Held => self.again(rows, *no, (n, arrival), (&body, None))?,
                    Stand::InLane => {
                        let row = Bytes::copy_from_slice(&arrival.0.to_be_bytes());
                        self.say(Table::Lane, &key::counted(*no, n), "it is made anew");
                        rows.put(Table::Lane, &key::counted(*no, n), row)?;
                    }
                    Stand::Nothing => continue,
                }
                is_needed = true;
            }
            if is_needed { Ok(()) } else { self.needless(rows, (stream, arrival), &readers, &body) }
        })
    }

    fn stand(&self, rows: &Rows, no: u32, n: u64, (in_stream, body): (bool, &BodyRow)) -> Stand {
        let own = key::counted(no, n);
        let Some(queue) = self.queue(no) else { return Stand::Nothing };
        if [Table::Delivery, Table::Outcome, Table::Lane].iter().any(|&table| rows.has(table, &own)) {
            return Stand::Known;
        }
        if queue.row.closed.is_some_and(|closed| in_stream && n > closed.upto) {
            return Stand::Nothing;
        }
        if in_stream && n > queue.progress.cursor && !rows.has(Table::Aside, &own) {
            return Stand::Known;
        }
        // What all are done with has no content any more.
        if body.body.is_none() && !body.damaged {
            return Stand::Nothing;
        }
        let lost = &self.copied.lost;
        if lost.is_named(Table::Outcome, &own) {
            return Stand::Nothing;
        }
        if lost.is_lost(Table::Delivery, &own) {
            Stand::Held
        } else if lost.is_lost(Table::Lane, &own) && !in_stream {
            Stand::InLane
        } else {
            Stand::Nothing
        }
    }

    /// An event to which no row leads. Content is never thrown away: it is delivered again.
    fn needless(
        &mut self,
        rows: &mut Rows,
        (stream, arrival): (u32, Arrival),
        readers: &[u32],
        body: &BodyRow,
    ) -> Result<(), StorageError> {
        let n = body.placed.map_or(0, |placed| placed.n.0);
        let mut is_taken = false;
        for no in readers.iter().filter(|_| body.body.is_some()) {
            let is_open = self.queue(*no).is_some_and(|queue| queue.row.closed.is_none());
            if is_open && !self.copied.lost.is_named(Table::Outcome, &key::counted(*no, n)) {
                self.again(rows, *no, (n, arrival), (body, None))?;
                is_taken = true;
            }
        }
        if is_taken {
            return Ok(());
        }
        let key = key::counted(stream, arrival.0);
        if body.body.is_some() || body.damaged {
            self.say(Table::Body, &key, "left out: no queue is left that needs it");
        }
        rows.remove(Table::Body, &key)
    }

    /// The queue deals with this event once more; `died` where it is known to have been dead.
    pub(super) fn again(
        &mut self,
        rows: &mut Rows,
        no: u32,
        (n, arrival): (u64, Arrival),
        (body, died): (&BodyRow, Option<Timestamp>),
    ) -> Result<(), StorageError> {
        let Some(queue) = self.owners.queues.get_mut(&no) else { return Ok(()) };
        queue.again += 1;
        let (round, fence) = (queue.row.round, queue.progress.fence.max(queue.row.fence));
        let fresh = Delivery { round, fence, ..Delivery::fresh(body.due) };
        let delivery = match died {
            Some(_) => Delivery { state: State::Dead(DeadReason::Damaged), over_at: died, ..fresh },
            None => fresh,
        };
        let key = key::counted(no, n);
        let what = match died {
            Some(_) => "it is lost: its event is a dead letter 'damaged'",
            None => "it is lost: its event is delivered again",
        };
        self.say(Table::Delivery, &key, what);
        if let Some((table, at)) = link::index(Table::Delivery, no, arrival, &delivery) {
            rows.put(table, &at, Bytes::new())?;
        }
        rows.put(Table::Delivery, &key, delivery::encode(arrival, &delivery))?;
        self.set_aside(rows, &key)
    }
}
