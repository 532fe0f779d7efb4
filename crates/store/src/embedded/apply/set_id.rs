//! A stream's last place, as a reader of the stream sets it, and the stream in detail.
//!
//! Lives here: `XSETID` and what `XINFO STREAM` shows. Not here: the giving of places (`place.rs`), the
//! stream's queues in detail (`group_reads.rs`).

use std::ops::ControlFlow;

use naven_api::limits::PLACES_PER_OP_MAX;

use super::claim::lane_arrival;
use super::context::Context;
use crate::embedded::rows::delivery;
use crate::embedded::rows::key::{self, StreamNo};
use crate::embedded::rows::stream::StreamRow;
use crate::embedded::tables::{Order, Table, Tables};
use crate::read::{EntryView, FULL_ROWS_MAX, FullStream, Page, StreamDetail};
use crate::reply::{OpError, OpReply, Refused};
use crate::txn::{Place, SetId};

/// The place behind which there is none.
const LAST: Place = Place { ms: u64::MAX, seq: u64::MAX };

impl<T: Tables> Context<'_, T> {
    /// The stream goes on behind another place. It does not go back behind what is pending: places stay behind
    /// one another.
    pub(super) fn set_id(&mut self, set: &SetId) -> Result<OpReply, OpError> {
        let (stream, _) = self.open_stream(&set.stream)?;
        self.place_due(stream, PLACES_PER_OP_MAX as u64);
        let mut head = self.head(stream);
        if set.max_deleted.is_some_and(|deleted| deleted > set.last) {
            return Err(Refused::FactsWrong.into());
        }
        if set.last < head.max_deleted {
            return Err(Refused::BeforeDeleted.into());
        }
        let top = self.edge(stream, Order::Falling, false).map(|entry| entry.place);
        if top.is_some_and(|top| set.last < top) {
            return Err(Refused::PlaceBehind.into());
        }
        if head.length > 0 && set.added.is_some_and(|added| added < head.length) {
            return Err(Refused::FactsWrong.into());
        }
        if set.last < head.last && self.last_pending(stream) > set.last {
            return Err(Refused::PlaceBehind.into());
        }
        head.last = set.last;
        head.added_told = set.added.unwrap_or(head.added_told);
        let deleted = set.max_deleted.filter(|place| *place != Place::default());
        head.max_deleted = deleted.unwrap_or(head.max_deleted);
        head.version += 1;
        self.put_head(stream, &head);
        for no in self.open_members(stream) {
            self.go_ahead(stream, self.progress(no).last);
        }
        Ok(OpReply::Done)
    }

    /// The last place of which any queue has a delivery or an event of its own lane.
    fn last_pending(&self, stream: StreamNo) -> Place {
        let mut last = Place::default();
        for no in self.members(stream) {
            for table in [Table::Delivery, Table::Lane] {
                let (from, to) = (key::number(no.0), key::past_number(no.0));
                self.tables.scan(table, &from, &to, Order::Falling, &mut |_, value| {
                    let arrival = match table {
                        Table::Delivery => delivery::decode(value.clone()).map(|(arrival, _)| arrival),
                        _ => Some(lane_arrival(value)),
                    };
                    let placed = arrival.and_then(|arrival| self.body(stream, arrival)?.placed);
                    last = placed.map_or(last, |placed| last.max(placed.place));
                    ControlFlow::Break(())
                });
            }
        }
        last
    }

    pub(super) fn stream_detail(&self, no: StreamNo, row: &StreamRow, full: Option<u64>) -> Page {
        let full = full.map(|count| FullStream {
            entries: self.first_entries(no, count),
            groups: self.full_groups(no, count),
        });
        Page::StreamDetail(Box::new(StreamDetail {
            view: self.stream_view(no, row),
            first: self.edge(no, Order::Rising, true),
            last: self.edge(no, Order::Falling, true),
            full,
        }))
    }

    fn first_entries(&self, no: StreamNo, count: u64) -> Vec<EntryView> {
        let most = if count == 0 { FULL_ROWS_MAX } else { FULL_ROWS_MAX.min(count as usize) };
        match self.entries(no, (Place::default(), LAST), Order::Rising, (most, u64::MAX, true)) {
            Page::Entries(items, _) => items,
            _ => Vec::new(),
        }
    }

    fn edge(&self, no: StreamNo, order: Order, payload: bool) -> Option<EntryView> {
        match self.entries(no, (Place::default(), LAST), order, (1, u64::MAX, payload)) {
            Page::Entries(items, _) => items.into_iter().next(),
            _ => None,
        }
    }
}
