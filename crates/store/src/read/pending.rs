//! How a pending delivery looks to the readers of its stream.
//!
//! Lives here: for how long it is idle, and since when. Not here: finding it, and the name under which it
//! stands (the engines).

use bytes::Bytes;
use naven_api::{EventId, Timestamp};
use naven_core::{Delivery, LeaseTime, Now, State};

use super::PendingView;
use crate::txn::Place;

/// Most rows that one look at a whole stream takes up: deliveries of all its queues and of their consumers.
pub(crate) const FULL_ROWS_MAX: usize = 20_000;

impl PendingView {
    /// A delivery that is not over, at `now`.
    pub(crate) fn of(
        (place, event): (Place, EventId),
        consumer: Bytes,
        delivery: &Delivery,
        now: Now,
    ) -> Self {
        let (since, idle_ms) = quiet(delivery, now);
        Self {
            place,
            event,
            consumer,
            state: delivery.view(now),
            idle_ms,
            since,
            redis_count: delivery.redis_count,
            attempts: delivery.attempts,
            fence: delivery.fence,
        }
    }
}

/// For how long nothing was heard of it, in ms.
pub(crate) fn idle_ms(delivery: &Delivery, now: Now) -> u64 {
    quiet(delivery, now).1
}

/// Since when nothing was heard of it, and for how long, in ms: since a consumer was handed it, since the last
/// word of a lease's holder, or since it became due again.
fn quiet(delivery: &Delivery, now: Now) -> (Timestamp, u64) {
    let on_lease_clock = |since: LeaseTime| now.lease.as_ms() - since.as_ms();
    let beat = delivery.log.last().and_then(|past| past.heartbeats.last());
    let (since, idle) = match (delivery.state, beat) {
        (State::Held { since, .. }, _) => (now.wall_of(since), on_lease_clock(since)),
        // The wall clock may have been set meanwhile: it was heard of after it began.
        (State::Leased(lease), Some(&at)) => {
            (at, (now.wall.as_ms() - at.as_ms()).min(on_lease_clock(lease.since)))
        }
        (State::Leased(lease), None) => (now.wall_of(lease.since), on_lease_clock(lease.since)),
        (State::Ready | State::Retrying | State::Done | State::Dead(_) | State::Cancelled, _) => {
            (delivery.due, now.wall.as_ms() - delivery.due.as_ms())
        }
    };
    (since, u64::try_from(idle).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use naven_core::{ConsumerNo, Lease, Past};

    use super::*;

    fn idle(state: State, beat: Option<i64>) -> u64 {
        let now = Now { wall: Timestamp::from_ms(10_000), lease: LeaseTime::from_ms(700) };
        let at = Timestamp::from_ms;
        let mut delivery = Delivery { state, ..Delivery::fresh(at(9_000)) };
        delivery.log.push(Past {
            fence: 1,
            consumer: None,
            leased_at: at(1),
            heartbeats: beat.into_iter().map(at).collect(),
            ended: None,
            error: None,
        });
        let event = EventId::from_bits(1);
        PendingView::of((Place::default(), event), Bytes::new(), &delivery, now).idle_ms
    }

    #[test]
    fn it_is_idle_since_it_was_last_heard_of() {
        let since = LeaseTime::from_ms(100);
        let lease = State::Leased(Lease { since, until: LeaseTime::from_ms(900) });
        assert_eq!(idle(State::Held { consumer: ConsumerNo(1), since, until: None }, None), 600);
        assert_eq!((idle(lease, None), idle(lease, Some(9_800))), (600, 200));
        assert_eq!((idle(lease, Some(20_000)), idle(lease, Some(1_000))), (0, 600), "clocks are set");
        assert_eq!(idle(State::Ready, None), 1_000);
    }
}
