//! Who has deliveries of a queue.
//!
//! Lives here: finding holds, in bounded steps. Not here: the answer's shape (`read/holders.rs`).

use std::ops::ControlFlow;

use naven_core::{ConsumerNo, Delivery};

use super::context::{Context, READABLE};
use crate::embedded::rows::consumer::{self, ConsumerRow};
use crate::embedded::rows::key::{self, Arrival, EntryNo, QueueNo};
use crate::embedded::rows::queue::QueueRow;
use crate::embedded::tables::{Order, Table, Tables};
use crate::read::{HolderKind, Holders, Holding, SCANS_MAX};

impl<T: Tables> Context<'_, T> {
    /// Who has live leases of an open queue, and its Redis consumers.
    pub(super) fn holders(&self, no: QueueNo, queue: &QueueRow) -> Holders {
        let (mut holding, mut left) = (Holding::default(), SCANS_MAX);
        let mut truncated = false;
        for arrival in self.live_leases(no, &mut left, &mut truncated) {
            let row = self.pointed_body(queue.stream, arrival);
            let n = row.placed.expect("an indexed delivery has a place").n;
            let hold = self.pointed_delivery(no, n);
            let name = hold.log.last().and_then(|past| past.consumer.clone());
            holding.add(HolderKind::Http, name, 1, began(&hold));
        }
        for (number, row) in self.consumers_of(no, &mut left, &mut truncated) {
            let name = String::from_utf8_lossy(&row.name).into_owned();
            holding.add(HolderKind::Redis, Some(name.clone()), row.held, None);
            for n in self.held_by(no, number, &mut left, &mut truncated) {
                let hold = self.pointed_delivery(no, n);
                holding.add(HolderKind::Redis, Some(name.clone()), 0, began(&hold));
            }
        }
        holding.into_holders(truncated)
    }

    /// The events of leases that are not over yet, whatever was recorded of those that are.
    fn live_leases(&self, no: QueueNo, left: &mut usize, truncated: &mut bool) -> Vec<Arrival> {
        let from = key::timed(no.0, self.now.lease.as_ms().saturating_add(1), Arrival(0));
        let mut found = Vec::new();
        self.tables.scan(Table::Ends, &from, &key::past_number(no.0), Order::Rising, &mut |key, _| {
            step(left, truncated, || found.push(key::time_of(key).1))
        });
        found
    }

    fn consumers_of(
        &self,
        no: QueueNo,
        left: &mut usize,
        truncated: &mut bool,
    ) -> Vec<(ConsumerNo, ConsumerRow)> {
        let (from, to) = (key::number(no.0), key::past_number(no.0));
        let mut found = Vec::new();
        self.tables.scan(Table::Consumer, &from, &to, Order::Rising, &mut |key, value| {
            let row = ConsumerRow::decode(value.clone()).expect(READABLE);
            if row.is_deleted {
                return ControlFlow::Continue(());
            }
            step(left, truncated, || found.push((consumer::consumer_of(key), row)))
        });
        found
    }

    fn held_by(&self, no: QueueNo, by: ConsumerNo, left: &mut usize, truncated: &mut bool) -> Vec<EntryNo> {
        let (from, to) = (consumer::held(no, by, EntryNo(0)), consumer::held(no, by, EntryNo(u64::MAX)));
        let mut found = Vec::new();
        self.tables.scan(Table::Held, &from, &to, Order::Rising, &mut |key, _| {
            step(left, truncated, || found.push(consumer::entry_of(key)))
        });
        found
    }
}

/// Takes one more row while some are left to be looked at.
fn step(left: &mut usize, truncated: &mut bool, take: impl FnOnce()) -> ControlFlow<()> {
    if *left == 0 {
        *truncated = true;
        return ControlFlow::Break(());
    }
    *left -= 1;
    take();
    ControlFlow::Continue(())
}

fn began(hold: &Delivery) -> Option<naven_api::Timestamp> {
    hold.log.last().map(|past| past.leased_at)
}
