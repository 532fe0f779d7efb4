//! Everything that can be seen of a store, to compare what a crash left with what was answered.
//!
//! Lives here: reading it all. Lease ends are left out: the lease clock stands still while a server
//! is down, so they move. Not here: the comparison (`images.rs`).

use std::collections::BTreeMap;

use naven_api::{EventId, Timestamp};
use naven_store::conformance::Bench;
use naven_store::conformance::bench::named;
use naven_store::read::{EventView, Page, QueueView, Read};

/// Everything that can be seen: queues by name, and every event that was ever published.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct State {
    queues: BTreeMap<String, QueueView>,
    events: BTreeMap<EventId, EventView>,
}

/// The state of the bench's engine as the clock stands.
pub(crate) fn state(bench: &Bench, ids: &[EventId]) -> State {
    let listed = Read::Queues { name_prefix: String::new(), cursor: None, limit: 500 };
    let Ok(Page::Queues(views, None)) = bench.read(listed) else { panic!("all queues fit one page") };
    let timeless = |view: QueueView| QueueView { now: Timestamp::default(), ..view };
    let queues = views.into_iter().map(|view| (view.name.clone(), timeless(view))).collect();
    let events = ids.iter().filter_map(|&id| Some((id, event(bench, id)?))).collect();
    State { queues, events }
}

fn event(bench: &Bench, id: EventId) -> Option<EventView> {
    let Ok(Page::Event(mut view)) = bench.read(Read::Event { event: id, payload: true }) else { return None };
    for delivery in &mut view.deliveries {
        delivery.lease_expires_at = None;
    }
    Some(*view)
}

/// The dead letters of an open queue, none where it is not there.
pub(crate) fn dead_letters(bench: &Bench, queue: &str) -> Vec<EventView> {
    let read = Read::DeadLetters { queue: named(queue), cursor: None, limit: 500, payload: false };
    match bench.read(read) {
        Ok(Page::DeadLetters(items, _)) => items,
        _ => Vec::new(),
    }
}
