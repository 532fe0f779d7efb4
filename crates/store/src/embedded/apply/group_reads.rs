//! Who has pending deliveries of a queue, and what is pending in all queues of a stream.
//!
//! Lives here: these looks, in bounded steps. Not here: holders as the HTTP door shows them (`holders.rs`),
//! and a stream's entries (`streams.rs`).

use std::ops::ControlFlow;

use bytes::Bytes;
use naven_api::Timestamp;
use naven_core::{State, View};

use super::context::{Context, READABLE};
use crate::embedded::rows::consumer;
use crate::embedded::rows::delivery;
use crate::embedded::rows::key::{self, EntryNo, QueueNo, StreamNo};
use crate::embedded::rows::queue::QueueRow;
use crate::embedded::tables::{Order, Table, Tables};
use crate::queue::QueueRef;
use crate::read::{
    ConsumerView, FULL_ROWS_MAX, FullConsumer, FullGroup, PENDING_HTTP, PENDING_NOBODY, PendingView,
    SCANS_MAX,
};
use crate::reply::OpError;

impl<T: Tables> Context<'_, T> {
    /// The consumers of an open queue by name, and who else has pending deliveries.
    pub(super) fn consumers(&self, queue: &QueueRef) -> Result<Vec<ConsumerView>, OpError> {
        let (no, row) = self.open_queue(queue)?;
        Ok(self.consumer_views(no, &row))
    }

    /// What each open queue of a stream has pending, by the queues' names on it: the first `count` of each and
    /// of each consumer, 0 for all, and no more rows of all of them than are looked at in one go.
    pub(super) fn full_groups(&self, stream: StreamNo, count: u64) -> Vec<FullGroup> {
        let most = if count == 0 { usize::MAX } else { usize::try_from(count).unwrap_or(usize::MAX) };
        let mut left = FULL_ROWS_MAX;
        let mut views: Vec<_> = self.open_members(stream).into_iter().zip(self.groups(stream)).collect();
        views.sort_by(|(_, one), (_, other)| one.name.cmp(&other.name));
        let full = views.into_iter().filter_map(|(no, view)| {
            let row = self.queue(no)?;
            let (mut pending, mut others) = (Vec::new(), Vec::new());
            self.scan_pending(no, &row, &mut left, &mut |one, is_held| {
                others.extend((!is_held).then(|| one.clone()));
                if pending.len() < most {
                    pending.push(one);
                }
                // Who is no consumer has no index of its own: all that is pending is looked at.
                others.len() <= FULL_ROWS_MAX
            });
            let views = self.consumer_views(no, &row).into_iter();
            let consumers = views.map(|view| {
                let held = self
                    .consumer_named(no, &view.name)
                    .map_or_else(Vec::new, |number| self.held_views((no, &row), number, most, &mut left));
                let also = others.iter().filter(|one| one.consumer == view.name).cloned();
                let mut pending: Vec<PendingView> = held.into_iter().chain(also).collect();
                pending.sort_by_key(|one| one.place);
                pending.truncate(most);
                FullConsumer { view, pending }
            });
            let consumers = consumers.collect();
            Some(FullGroup { view, pending, consumers })
        });
        full.collect()
    }

    /// Visits what is pending in the order of places, and says whether a consumer holds it.
    fn scan_pending(
        &self,
        no: QueueNo,
        queue: &QueueRow,
        left: &mut usize,
        visit: &mut dyn FnMut(PendingView, bool) -> bool,
    ) {
        let (from, to) = (key::number(no.0), key::past_number(no.0));
        self.tables.scan(Table::Delivery, &from, &to, Order::Rising, &mut |_, value| {
            if *left == 0 {
                return ControlFlow::Break(());
            }
            *left -= 1;
            let (arrival, delivery) = delivery::decode(value.clone()).expect(READABLE);
            if delivery.is_over() {
                return ControlFlow::Continue(());
            }
            let is_held = matches!(delivery.state, State::Held { .. });
            let goes_on = visit(self.pending_view((no, queue), arrival, &delivery), is_held);
            if goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
    }

    fn held_views(
        &self,
        (no, queue): (QueueNo, &QueueRow),
        by: naven_core::ConsumerNo,
        most: usize,
        left: &mut usize,
    ) -> Vec<PendingView> {
        let (from, to) = (consumer::held(no, by, EntryNo(0)), consumer::held(no, by, EntryNo(u64::MAX)));
        let mut found = Vec::new();
        self.tables.scan(Table::Held, &from, &to, Order::Rising, &mut |key, _| {
            if *left == 0 || found.len() >= most {
                return ControlFlow::Break(());
            }
            *left -= 1;
            let n = consumer::entry_of(key);
            let missing = || self.tables.miss(Table::Delivery, &key::counted(no.0, n.0));
            let (arrival, delivery) = self.delivery(no, n).unwrap_or_else(missing);
            found.push(self.pending_view((no, queue), arrival, &delivery));
            ControlFlow::Continue(())
        });
        found
    }

    fn consumer_views(&self, no: QueueNo, queue: &QueueRow) -> Vec<ConsumerView> {
        let now = self.now.wall;
        let counts = self.progress(no).counts;
        let mut views = Vec::new();
        let mut other = |name: &'static [u8], pending: u64, latest: Option<Timestamp>| {
            if pending > 0 {
                let seen_at = latest.unwrap_or(now).min(now);
                let name = Bytes::from_static(name);
                views.push(ConsumerView { name, pending, seen_at, active_at: Some(seen_at), now });
            }
        };
        let free = counts.of(View::Ready) + counts.of(View::Retrying);
        let last_due = [Table::Again, Table::Retry].map(|table| self.last_time(table, no));
        let last_due = last_due.into_iter().flatten().max().map(Timestamp::from_ms);
        other(PENDING_NOBODY, free, last_due);
        other(PENDING_HTTP, counts.of(View::Leased), self.last_word(no, queue));
        let (from, to) = (key::number(no.0), key::past_number(no.0));
        self.tables.scan(Table::ConsumerName, &from, &to, Order::Rising, &mut |key, number| {
            let number = naven_core::ConsumerNo(super::context::number_of(number.clone()));
            let row = self.consumer(no, number);
            let name = Bytes::copy_from_slice(&key[4..]);
            views.push(ConsumerView {
                name,
                pending: row.held,
                seen_at: row.seen,
                active_at: row.active,
                now,
            });
            ControlFlow::Continue(())
        });
        ConsumerView::by_name(views)
    }

    /// The latest instant of a table of a queue.
    fn last_time(&self, table: Table, no: QueueNo) -> Option<i64> {
        let mut last = None;
        let (from, to) = (key::number(no.0), key::past_number(no.0));
        self.tables.scan(table, &from, &to, Order::Falling, &mut |key, _| {
            last = Some(key::time_of(key).0);
            ControlFlow::Break(())
        });
        last
    }

    /// When the holders of a queue's leases were last heard of, as far as so many of them tell.
    fn last_word(&self, no: QueueNo, queue: &QueueRow) -> Option<Timestamp> {
        let (mut last, mut left) = (None, SCANS_MAX);
        let (from, to) = (key::number(no.0), key::past_number(no.0));
        self.tables.scan(Table::Ends, &from, &to, Order::Falling, &mut |key, _| {
            let arrival = key::time_of(key).1;
            let n = self.pointed_body(queue.stream, arrival).placed.map(|placed| placed.n);
            let lease = n.map(|n| self.pointed_delivery(no, n));
            let since = lease.map(|lease| self.pending_view((no, queue), arrival, &lease).since);
            last = last.max(since);
            left -= 1;
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        last
    }
}
