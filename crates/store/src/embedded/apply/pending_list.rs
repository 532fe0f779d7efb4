//! What is pending in a queue: every delivery that somebody has, or that waits to be taken again.
//!
//! Lives here: listing and summing it. Not here: changing it (`reader.rs`, `transfer.rs`).

use std::ops::ControlFlow;

use bytes::Bytes;
use naven_core::View;

use super::context::{Context, READABLE};
use crate::embedded::rows::consumer::{self, ConsumerRow};
use crate::embedded::rows::delivery;
use crate::embedded::rows::key::{self, EntryNo, QueueNo};
use crate::embedded::rows::queue::QueueRow;
use crate::embedded::tables::{Order, Table, Tables};
use crate::read::{PENDING_HTTP, PENDING_NOBODY, Page, PendingRead, PendingSummary, SCANS_MAX, idle_ms};
use crate::reply::OpError;
use crate::txn::Place;

impl<T: Tables> Context<'_, T> {
    pub(super) fn pending(&self, read: &PendingRead) -> Result<Page, OpError> {
        let (no, queue) = self.open_queue(&read.queue)?;
        let (mut found, mut next) = (Vec::new(), None);
        let mut from = self.pending_from(no, queue.stream, read.start);
        let named = read.consumer.as_ref().filter(|name| !is_no_redis_name(name));
        let number = named.and_then(|name| self.consumer_named(no, name));
        let is_known = number.is_some() || read.consumer.as_deref().is_none_or(is_no_redis_name);
        for looks in 0..=SCANS_MAX {
            if !is_known {
                break;
            }
            let row = match number {
                Some(number) => self.next_held(no, number, from),
                None => self.next_row(Table::Delivery, no.0, from.0).map(|(n, _)| n),
            };
            let Some(n) = row else { break };
            let (arrival, delivery) = self.delivery(no, n).expect(READABLE);
            from = EntryNo(n.0 + 1);
            let place = self.pointed_body(queue.stream, arrival).placed.map(|placed| placed.place);
            let Some(place) = place.filter(|place| *place <= read.end) else { break };
            if looks == SCANS_MAX {
                next = Some(place);
                break;
            }
            if delivery.is_over() || idle_ms(&delivery, self.now) < read.min_idle_ms {
                continue;
            }
            let is_asked = |name: &Bytes| self.stands_under(no, &delivery) == *name;
            if !read.consumer.as_ref().is_none_or(is_asked) {
                continue;
            }
            if found.len() as u64 >= read.limit {
                next = Some(place);
                break;
            }
            found.push(self.pending_view((no, &queue), arrival, &delivery));
        }
        Ok(Page::Pending(found, next))
    }

    fn next_held(&self, no: QueueNo, by: naven_core::ConsumerNo, from: EntryNo) -> Option<EntryNo> {
        let (from, to) = (consumer::held(no, by, from), consumer::held(no, by, EntryNo(u64::MAX)));
        let mut first = None;
        self.tables.scan(Table::Held, &from, &to, Order::Rising, &mut |key, _| {
            first = Some(consumer::entry_of(key));
            ControlFlow::Break(())
        });
        first
    }

    pub(super) fn pending_summary(&self, queue: &crate::queue::QueueRef) -> Result<Page, OpError> {
        let (no, queue) = self.open_queue(queue)?;
        let counts = self.progress(no).counts;
        let nobody = counts.of(View::Ready) + counts.of(View::Retrying);
        let mut consumers = vec![
            (Bytes::from_static(PENDING_HTTP), counts.of(View::Leased)),
            (Bytes::from_static(PENDING_NOBODY), nobody),
        ];
        let (from, to) = (key::number(no.0), key::past_number(no.0));
        self.tables.scan(Table::Consumer, &from, &to, Order::Rising, &mut |_, value| {
            let row = ConsumerRow::decode(value.clone()).expect(READABLE);
            consumers.push((row.name, row.held));
            ControlFlow::Continue(())
        });
        consumers.retain(|(_, count)| *count > 0);
        consumers.sort_unstable();
        // A consumer may be called as nobody is.
        consumers.dedup_by(|next, one| {
            let is_same = next.0 == one.0;
            one.1 += if is_same { next.1 } else { 0 };
            is_same
        });
        let count = consumers.iter().map(|(_, count)| count).sum();
        let range =
            self.pending_end(no, &queue, Order::Rising).zip(self.pending_end(no, &queue, Order::Falling));
        let summary = PendingSummary { count, range: range.filter(|_| count > 0), consumers };
        Ok(Page::PendingSummary(Box::new(summary)))
    }

    /// The place of the first pending delivery in this order.
    fn pending_end(&self, no: QueueNo, queue: &QueueRow, order: Order) -> Option<Place> {
        let mut end = None;
        let (from, to) = (key::number(no.0), key::past_number(no.0));
        self.tables.scan(Table::Delivery, &from, &to, order, &mut |_, value| {
            let (arrival, delivery) = delivery::decode(value.clone()).expect(READABLE);
            if delivery.is_over() {
                return ControlFlow::Continue(());
            }
            end = Some(arrival);
            ControlFlow::Break(())
        });
        self.pointed_body(queue.stream, end?).placed.map(|placed| placed.place)
    }
}

fn is_no_redis_name(name: &[u8]) -> bool {
    name == PENDING_HTTP || name == PENDING_NOBODY
}
