//! What random scripts ask of a queue's events.
//!
//! Lives here: drawing it, what it means by now, and pages put together. Not here: other reads
//! (`known.rs`).

use naven_api::{PayloadCondition, Timestamp};
use naven_core::View;

use super::clock::WALL_START_MS;
use super::known::Known;
use super::random::SeededRandom;
use super::script::Pick;
use crate::queue::QueueRef;
use crate::read::{Cursor, EventFilter, EventPage, EventRead, Looked, Read, ScanBound, Wanted};

/// A read of a queue's events.
#[derive(Debug, Clone, Copy)]
pub struct EventLook {
    /// Of which queue.
    pub queue: Pick,
    /// Which states: one bit for each; none: any.
    pub states: u8,
    /// By which filter beside that.
    pub by: u8,
    /// In pages of so many; none: how many there are.
    pub limit: Option<u32>,
    /// Each page looks at so many at most.
    pub rows: u32,
    /// Each page looks at payloads of so many bytes at most.
    pub payload_bytes: u64,
    /// So many are found by their states at most.
    pub by_state: u32,
}

/// Draws a read.
pub(super) fn look(random: &SeededRandom) -> EventLook {
    let bit = |random: &SeededRandom| 1u8 << random.below(8);
    EventLook {
        queue: random.next_u64() as Pick,
        states: match random.below(4) {
            0 => 0,
            1 => bit(random),
            2 => bit(random) | bit(random),
            _ => random.next_u64() as u8,
        },
        by: random.below(10) as u8,
        limit: random.one_of(&[None, Some(1), Some(2), Some(500)]),
        rows: random.one_of(&[1, 3, 20_000, 20_000]),
        payload_bytes: random.one_of(&[1, 30, 1 << 20, 1 << 20]),
        by_state: random.one_of(&[0, 2, 20_000]),
    }
}

/// All events of a queue, in pages; and those of them that are found by their states.
pub(super) fn all_of(queue: QueueRef) -> [Read; 2] {
    let all = EventRead {
        queue,
        filter: EventFilter::default(),
        cursor: None,
        wanted: Wanted::Items { limit: 3, payload: true },
        bound: ScanBound::default(),
    };
    let states = vec![View::Scheduled, View::Leased, View::Held, View::Retrying, View::Dead];
    let some = EventRead { filter: EventFilter { states, ..EventFilter::default() }, ..all.clone() };
    [Read::Events(all), Read::Events(some)]
}

/// The filter of this number, beside states.
fn filter(by: u8) -> EventFilter {
    let all = EventFilter::default();
    let condition = |path: &str, value: &str| PayloadCondition {
        path: path.parse().expect("a path of a payload"),
        value: value.to_owned(),
    };
    match by {
        0 => EventFilter { created_after: Some(Timestamp::from_ms(WALL_START_MS + 5_000)), ..all },
        1 => EventFilter { created_before: Some(Timestamp::from_ms(WALL_START_MS + 60_000)), ..all },
        2 => EventFilter { error: Some("went".to_owned()), ..all },
        3 => EventFilter { payload: vec![condition("n", "xx")], ..all },
        4 => EventFilter { text: Some("xxx".to_owned()), ..all },
        5 => EventFilter { text: Some("{".to_owned()), payload: vec![condition("n", "xx")], ..all },
        _ => all,
    }
}

/// Two pages, one after the other, as one.
pub(super) fn joined(page: EventPage, more: EventPage) -> EventPage {
    let (rows, payload_bytes) =
        (page.looked.rows + more.looked.rows, page.looked.payload_bytes + more.looked.payload_bytes);
    EventPage {
        items: page.items.into_iter().chain(more.items).collect(),
        found: page.found + more.found,
        next: more.next,
        truncated: page.truncated || more.truncated,
        looked: Looked { rows, payload_bytes },
    }
}

impl Known {
    /// The read that `look` means, from `cursor` on.
    pub(super) fn event_read(&self, look: EventLook, cursor: Option<Cursor>) -> Read {
        let wanted = |state: &View| look.states & (1 << *state as u8) != 0;
        let states = View::ALL.into_iter().filter(wanted).collect();
        Read::Events(EventRead {
            queue: self.queue(look.queue),
            filter: EventFilter { states, ..filter(look.by) },
            cursor,
            wanted: match look.limit {
                Some(limit) => Wanted::Items { limit, payload: limit > 1 },
                None => Wanted::Count,
            },
            bound: ScanBound { rows: look.rows, payload_bytes: look.payload_bytes, by_state: look.by_state },
        })
    }
}
