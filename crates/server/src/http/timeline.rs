//! An event's deliveries, one by one.
//!
//! Lives here: the handler of the timeline. Not here: keeping them (`naven-core`), and those of a dead
//! letter (`shown.rs`).

use std::sync::Arc;

use axum::extract::State;
use naven_api::Timestamp;
use naven_api::event::{HoldReply, TimelineReply};
use naven_core::Past;
use naven_store::queue::QueueRef;
use naven_store::read::{DeliveryView, EventView};
use naven_store::reply::Refused;

use super::answer::{Reply, ok};
use super::extract::EventInPath;
use super::query::Query;
use super::reach::seen_by;
use crate::auth::{Caller, Scope, Thing};
use crate::failure::Failure;
use crate::node::Node;

/// `GET /v1/events/{id}/timeline`: the last 20 deliveries in one queue, newest first.
pub(super) async fn timeline(
    State(node): State<Arc<Node>>,
    caller: Caller,
    event: EventInPath,
    mut query: Query,
) -> Reply {
    caller.may(Scope::Read, Thing::Nothing)?;
    let queue = query.text("queue");
    // There is one page, so no cursor was ever given out.
    let cursor = query.cursor(b"timeline");
    query.end()?;
    if cursor.is_some() {
        return Err(Refused::BadCursor.into());
    }
    let view = seen_by(&caller, node.event(event.id()?, false).await?)?;
    let Some(delivery) = delivery(&view, queue.as_deref())? else {
        return ok(&TimelineReply { queue: None, queue_id: None, items: Vec::new(), next_cursor: None });
    };
    ok(&TimelineReply {
        queue: Some(delivery.queue.clone()),
        queue_id: Some(delivery.queue_id),
        items: holds(&delivery.log, view.scheduled_at.max(view.created_at)),
        next_cursor: None,
    })
}

/// The delivery in the queue that is named, or the only one.
pub(super) fn delivery<'a>(
    view: &'a EventView,
    queue: Option<&str>,
) -> Result<Option<&'a DeliveryView>, Failure> {
    let Some(text) = queue else {
        return match view.deliveries.as_slice() {
            [] => Ok(None),
            [only] => Ok(Some(only)),
            several => {
                let names: Vec<&str> = several.iter().map(|delivery| delivery.queue.as_str()).collect();
                Err(Failure::queue_needed(&names))
            }
        };
    };
    let named = QueueRef::from_text(text);
    let is_named = |delivery: &&DeliveryView| match &named {
        QueueRef::Id(id) => delivery.queue_id == *id,
        QueueRef::Name(name) => delivery.queue == *name,
        QueueRef::Group { .. } => delivery.queue == named.to_text(),
    };
    view.deliveries.iter().find(is_named).map(Some).ok_or_else(|| Refused::EventNotFound.into())
}

/// The holds of a log, newest first. `due` is when the event first could be taken.
fn holds(log: &[Past], due: Timestamp) -> Vec<HoldReply> {
    let mut free_since = None;
    let mut holds: Vec<HoldReply> = Vec::with_capacity(log.len());
    for past in log {
        let since = if past.fence == 1 { Some(due) } else { free_since };
        let (settled_at, ending) = past.ended.unzip();
        holds.push(HoldReply {
            delivery_count: past.fence,
            consumer_id: past.consumer.clone(),
            leased_at: past.leased_at,
            heartbeats: past.heartbeats.clone(),
            settled_at,
            outcome: ending.map(|ending| ending.as_str().to_owned()),
            error: past.error.clone(),
            wait_ms: since.map(|since| ms_between(since, past.leased_at)),
            run_ms: settled_at.map(|end| ms_between(past.leased_at, end)),
        });
        free_since = settled_at;
    }
    holds.reverse();
    holds
}

/// Never below none: a clock may step back.
fn ms_between(start: Timestamp, end: Timestamp) -> u64 {
    u64::try_from(end.as_ms() - start.as_ms()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use naven_core::Ending;

    use super::*;

    fn past(fence: u64, leased_ms: i64, ended: Option<(i64, Ending)>) -> Past {
        Past {
            fence,
            consumer: None,
            leased_at: Timestamp::from_ms(leased_ms),
            heartbeats: Vec::new(),
            ended: ended.map(|(ms, ending)| (Timestamp::from_ms(ms), ending)),
            error: None,
        }
    }

    #[test]
    fn waits_are_counted_from_the_due_time_and_from_the_last_end() {
        let log = [past(1, 1_500, Some((2_000, Ending::Failed))), past(2, 7_000, None)];
        let shown = holds(&log, Timestamp::from_ms(1_000));
        let figures: Vec<_> =
            shown.iter().map(|hold| (hold.delivery_count, hold.wait_ms, hold.run_ms)).collect();
        assert_eq!(figures, [(2, Some(5_000), None), (1, Some(500), Some(500))], "newest first");
    }

    #[test]
    fn a_wait_whose_beginning_is_forgotten_is_not_made_up() {
        let shown = holds(&[past(7, 5_000, Some((4_000, Ending::Acked)))], Timestamp::from_ms(0));
        assert_eq!((shown[0].wait_ms, shown[0].run_ms), (None, Some(0)), "the clock stepped back");
    }
}
