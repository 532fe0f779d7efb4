//! How a pending delivery looks to the readers of its stream.
//!
//! Lives here: its place, its event, and the name under which it stands. Not here: for how long it is idle
//! (`read/pending.rs`), and which ones are asked for.

use bytes::Bytes;
use naven_core::{Delivery, State};

use super::context::{Context, event_id};
use crate::embedded::rows::key::{Arrival, QueueNo};
use crate::embedded::rows::queue::QueueRow;
use crate::embedded::tables::Tables;
use crate::read::{PENDING_HTTP, PENDING_NOBODY, PendingView};

impl<T: Tables> Context<'_, T> {
    /// A delivery that is not over.
    pub(super) fn pending_view(
        &self,
        (no, queue): (QueueNo, &QueueRow),
        arrival: Arrival,
        delivery: &Delivery,
    ) -> PendingView {
        let row = self.pointed_body(queue.stream, arrival);
        let place = row.placed.expect("a delivery has a place").place;
        let event = event_id(&row, queue.stream, arrival);
        PendingView::of((place, event), self.stands_under(no, delivery), delivery, self.now)
    }

    /// The name under which a pending delivery stands.
    pub(super) fn stands_under(&self, no: QueueNo, delivery: &Delivery) -> Bytes {
        match delivery.state {
            State::Held { consumer, .. } => self.consumer(no, consumer).name,
            State::Leased(_) => Bytes::from_static(PENDING_HTTP),
            State::Ready | State::Retrying | State::Done | State::Dead(_) | State::Cancelled => {
                Bytes::from_static(PENDING_NOBODY)
            }
        }
    }
}
