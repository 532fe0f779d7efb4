//! Lists of a queue's events.
//!
//! Lives here: what is answered, and the rules of the filters. Not here: one event's own fields
//! (`event.rs`), and dead letters (`dead.rs`).

use serde::{Deserialize, Serialize};

use crate::event::EventReply;
use crate::field::Rule;
use crate::limits::{PAYLOAD_CONDITIONS_MAX, PAYLOAD_TEXT_CHARS_MAX};

/// One page of a queue's events, the last that was published first.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EventsReply {
    /// The events, each as it stands with this queue.
    pub items: Vec<EventReply>,
    /// Where the list goes on; null at its end.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub next_cursor: Option<String>,
    /// True where the page ended because it had looked at 20,000 events, or at 64 MiB of payloads. The next
    /// page looks at the next ones.
    pub scan_truncated: bool,
    /// Only with `includeTotal=true`: how many events the filter lets in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<TotalReply>,
}

/// How many items a whole list has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TotalReply {
    /// So many were found.
    pub value: u64,
    /// True where only the 20,000 newest events, or 64 MiB of payloads, were looked at: there may be more.
    pub capped: bool,
}

/// The states that there are: what `state` takes, several of them with commas between.
pub const STATES: [&str; 8] =
    ["scheduled", "ready", "leased", "held", "retrying", "done", "dead", "cancelled"];

/// What `state` may be.
pub fn state_rule() -> Rule {
    Rule::new(format!("one or more of {}, with commas between", STATES.join(", ")))
}

/// What `q` and the value of a condition on payloads may be.
pub fn payload_text_rule() -> Rule {
    let text = format!("a text of 1 to {PAYLOAD_TEXT_CHARS_MAX} characters");
    Rule::bounded(text, 1, PAYLOAD_TEXT_CHARS_MAX as u64)
}

/// The text, where payloads may be searched for it.
pub fn payload_text(text: String) -> Option<String> {
    // What was no UTF-8 was replaced by this character.
    let is_text = !text.contains('\u{fffd}');
    (is_text && (1..=PAYLOAD_TEXT_CHARS_MAX).contains(&text.chars().count())).then_some(text)
}

/// What is wrong with more conditions than there may be.
pub fn too_many_conditions() -> String {
    format!("at most {PAYLOAD_CONDITIONS_MAX} conditions on the payload")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_bounded_at_the_edge() {
        for (text, taken) in [
            (String::new(), false),
            ("x".to_owned(), true),
            ("é".repeat(PAYLOAD_TEXT_CHARS_MAX), true),
            ("x".repeat(PAYLOAD_TEXT_CHARS_MAX + 1), false),
            ("a\u{fffd}".to_owned(), false),
        ] {
            assert_eq!(payload_text(text.clone()).is_some(), taken, "{text}");
        }
    }
}
