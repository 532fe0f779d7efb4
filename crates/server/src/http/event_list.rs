//! The events of a queue, whatever became of them.
//!
//! Lives here: the list's filters and its answer. Not here: one event (`event.rs`), and dead letters
//! (`dead_letter.rs`).

use std::sync::Arc;

use axum::extract::State;
use naven_api::Timestamp;
use naven_api::bulk::{error_filter, error_filter_rule};
use naven_api::event_list::{
    EventsReply, TotalReply, payload_text, payload_text_rule, state_rule, too_many_conditions,
};
use naven_api::field::{Rule, echo};
use naven_api::limits::PAYLOAD_CONDITIONS_MAX;
use naven_api::payload_filter::{PayloadCondition, PayloadPath};
use naven_core::View;
use naven_store::read::{EventFilter, EventPage, EventRead, Page, Read, ScanBound, Wanted};

use super::answer::{Reply, ok};
use super::event::shown_if;
use super::extract::QueueInPath;
use super::query::{Query, write_cursor};
use super::shown;
use crate::auth::{Caller, Scope};
use crate::failure::Failure;
use crate::node::{Node, odd_page};

/// What begins the name of a condition on payloads; the path follows.
const PAYLOAD: &str = "payload.";

/// `GET /v1/event-queues/{queue}/events`: the last that was published first.
pub(super) async fn of_queue(
    State(node): State<Arc<Node>>,
    caller: Caller,
    QueueInPath(queue): QueueInPath,
    mut query: Query,
) -> Reply {
    node.allow_queue(&caller, Scope::Read, &queue).await?;
    let filter = filter(&mut query);
    // A cursor is bound to the whole filter.
    let bound_to = format!("events {queue:?} {filter:?}").into_bytes();
    let (cursor, limit) = (query.cursor(&bound_to), query.limit());
    let payload = query.flag("includePayload", false);
    let with_total = query.flag("includeTotal", false);
    node.in_queue(&queue, query.end()).await?;
    let limit = node.page_items(limit, payload);
    let wanted = Wanted::Items { limit, payload };
    let read = EventRead { queue, filter, cursor, wanted, bound: ScanBound::default() };
    let total = if with_total { Some(total(&node, read.clone()).await?) } else { None };
    let room = node.room_for_payloads(if payload { limit } else { 0 }).await?;
    let page = ask(&node, read).await?;
    let shown = page.items.into_iter().map(|view| shown::event(view, shown_if(payload)));
    let answer = ok(&EventsReply {
        items: shown.collect::<Result<_, Failure>>()?,
        next_cursor: page.next.map(|next| write_cursor(&next, &bound_to)),
        scan_truncated: page.truncated,
        total,
    });
    Ok(answer?.taking(room))
}

/// How many there are, from the first one on.
async fn total(node: &Node, read: EventRead) -> Result<TotalReply, Failure> {
    let page = ask(node, EventRead { cursor: None, wanted: Wanted::Count, ..read }).await?;
    Ok(TotalReply { value: page.found, capped: page.truncated })
}

async fn ask(node: &Node, read: EventRead) -> Result<EventPage, Failure> {
    match node.engine.read(Read::Events(read)).await? {
        Page::Events(page) => Ok(page),
        other => Err(odd_page(&other)),
    }
}

/// The filter that a query says, always in the same order.
pub(super) fn filter(query: &mut Query) -> EventFilter {
    let time = Rule::new(Timestamp::RULE);
    let instant = |text: String| Timestamp::parse(&text).ok();
    EventFilter {
        states: query.parsed("state", &state_rule(), |text| states(&text)).unwrap_or_default(),
        created_after: query.parsed("createdAfter", &time, instant),
        created_before: query.parsed("createdBefore", &time, instant),
        error: query.parsed("error", &error_filter_rule(), error_filter),
        payload: conditions(query),
        text: query.parsed("q", &payload_text_rule(), payload_text),
    }
}

/// The states of these names, in the order in which people list them.
fn states(text: &str) -> Option<Vec<View>> {
    let named = |name: &str| View::ALL.into_iter().find(|view| view.as_str() == name);
    let mut states: Vec<View> = text.split(',').map(named).collect::<Option<_>>()?;
    states.sort_unstable();
    states.dedup();
    Some(states)
}

fn conditions(query: &mut Query) -> Vec<PayloadCondition> {
    let mut conditions = Vec::new();
    for (name, value) in query.beginning_with(PAYLOAD) {
        let path = match name[PAYLOAD.len()..].parse::<PayloadPath>() {
            Ok(path) => Some(path),
            Err(why) => {
                query.bad_filter(format!("{}: {why}", echo(&name)));
                None
            }
        };
        let value = payload_text(value);
        if value.is_none() {
            query.refuse(&echo(&name), &payload_text_rule());
        }
        conditions.extend(path.zip(value).map(|(path, value)| PayloadCondition { path, value }));
    }
    if conditions.len() > PAYLOAD_CONDITIONS_MAX {
        query.bad_filter(too_many_conditions());
    }
    conditions.sort();
    conditions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_can_be_asked_for() {
        assert_eq!(View::ALL.map(View::as_str), naven_api::event_list::STATES);
    }

    #[test]
    fn the_same_filter_is_the_same_however_it_is_written() {
        let read = |text: &str| filter(&mut Query::new(Some(text)));
        assert_eq!(
            read("state=dead,ready,dead&payload.b=1&payload.a.0=x"),
            read("payload.a%2E0=x&payload.b=1&state=ready,dead"),
        );
        assert_eq!(read("state=dead,ready").states, [View::Ready, View::Dead]);
        assert_eq!(read("state=,").states, []);
    }
}
