//! The events of one open queue, as a list or as a number.
//!
//! Lives here: which are meant, how far one question looks, and its answer. Not here: finding them (the
//! engines), and dead letters with what only they have (`dead.rs`).

use naven_api::limits::{SCAN_PAYLOAD_BYTES_MAX, SCANS_MAX};
use naven_api::{PayloadCondition, Timestamp};
use naven_core::View;

use super::dead::is_error;
use super::{Cursor, DeliveryView, EventView};
use crate::queue::QueueRef;
use crate::txn::{Body, Form};

/// Which events: those for which everything that it says holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EventFilter {
    /// They are in one of these states; empty: in any.
    pub states: Vec<View>,
    /// They were published at this instant or later.
    pub created_after: Option<Timestamp>,
    /// They were published before this instant.
    pub created_before: Option<Timestamp>,
    /// Their last error contains this, or they are dead and their fingerprint is this.
    pub error: Option<String>,
    /// What stands in their payload.
    pub payload: Vec<PayloadCondition>,
    /// The text of their payload contains this.
    pub text: Option<String>,
}

/// States in each of which a queue's events are found without looking at the others.
pub(crate) const FOUND_BY_STATE: [View; 5] =
    [View::Scheduled, View::Leased, View::Held, View::Retrying, View::Dead];

impl EventFilter {
    /// True where it asks for nothing but states.
    pub fn is_of_states(&self) -> bool {
        *self == Self { states: self.states.clone(), ..Self::default() }
    }

    /// True where all that it lets in is found by its state.
    pub(crate) fn is_found_by_state(&self) -> bool {
        !self.states.is_empty() && self.states.iter().all(|state| FOUND_BY_STATE.contains(state))
    }

    /// Whether it lets in an event that was published then.
    pub(crate) fn takes_created(&self, at: Timestamp) -> bool {
        self.created_after.is_none_or(|after| at >= after)
            && self.created_before.is_none_or(|before| at < before)
    }

    /// Whether it lets in an event to which its queue stands so.
    pub(crate) fn takes_delivery(&self, delivery: &DeliveryView) -> bool {
        let has_error = |wanted: &String| is_error(wanted, delivery.dead, delivery.last_error.as_deref());
        (self.states.is_empty() || self.states.contains(&delivery.state))
            && self.error.as_ref().is_none_or(has_error)
    }

    /// Whether it lets in an event with this content. What has none, or none that is JSON, has no text.
    pub(crate) fn takes_body(&self, body: Option<&Body>) -> bool {
        if self.payload.is_empty() && self.text.is_none() {
            return true;
        }
        let text = body.filter(|body| body.form == Form::Json);
        let Some(text) = text.and_then(|body| std::str::from_utf8(&body.bytes).ok()) else { return false };
        self.text.as_ref().is_none_or(|wanted| text.contains(wanted.as_str()))
            && self.payload.iter().all(|condition| condition.is_met_by(text))
    }
}

/// How far one question looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScanBound {
    /// At so many events.
    pub rows: u32,
    /// At no further one once their payloads have so many bytes.
    pub payload_bytes: u64,
    /// Events of the wanted states are found by their states while they are no more than this.
    pub by_state: u32,
}

impl Default for ScanBound {
    fn default() -> Self {
        Self { rows: SCANS_MAX, payload_bytes: SCAN_PAYLOAD_BYTES_MAX, by_state: SCANS_MAX }
    }
}

/// What is wanted of the events that are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// They themselves, the last that was published first.
    Items {
        /// Most items: 1 to 500.
        limit: u32,
        /// True where the payloads are wanted too.
        payload: bool,
    },
    /// How many there are. Where the filter is of states alone, it is what the queue counts.
    Count,
}

/// A question on the events with which an open queue deals or dealt. A dead letter that was given up is
/// none of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRead {
    /// Of which queue.
    pub queue: QueueRef,
    /// Which of them.
    pub filter: EventFilter,
    /// Where the last page ended.
    pub cursor: Option<Cursor>,
    /// What of them.
    pub wanted: Wanted,
    /// How far to look.
    pub bound: ScanBound,
}

/// How far one question has looked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Looked {
    /// At so many events.
    pub rows: u32,
    /// Their payloads have so many bytes.
    pub payload_bytes: u64,
}

/// One page of a queue's events, or of their count.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EventPage {
    /// The events, each with the one delivery that was asked for; none where they are counted.
    pub items: Vec<EventView>,
    /// How many were found.
    pub found: u64,
    /// Where to go on, if there may be more.
    pub next: Option<Cursor>,
    /// True where the page ended because it had looked as far as it was to.
    pub truncated: bool,
    /// How far it looked.
    pub looked: Looked,
}
