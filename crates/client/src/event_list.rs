//! Lists of a queue's events.
//!
//! Lives here: which are wanted, and the call. Not here: one event (`event.rs`), and dead letters
//! (`dead.rs`).

use naven_api::event_list::TotalReply;
use naven_api::{PayloadCondition, PayloadPath, Timestamp};
use serde::{Deserialize, Serialize};

use crate::client::{Call, Client};
use crate::error::Error;
use crate::event::Event;

/// Which events of a queue are wanted: those for which all that is given holds, and all of them where
/// nothing is.
///
/// ```
/// use naven_client::Events;
///
/// let stuck = Events { limit: Some(10), ..Events::default() }
///     .in_state("leased")
///     .in_state("retrying")
///     .with_payload("user.id".parse()?, "7");
/// # assert_eq!(stuck.states, ["leased", "retrying"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Events {
    /// They are in one of these states, like `leased`; in any where there is none.
    pub states: Vec<String>,
    /// They were published at this time or later.
    pub created_after: Option<Timestamp>,
    /// They were published before this time.
    pub created_before: Option<Timestamp>,
    /// Their last error contains this, or they are dead and their fingerprint is this.
    pub error: Option<String>,
    /// What stands in their payload: at most 4 conditions.
    pub payload: Vec<PayloadCondition>,
    /// The JSON text of their payload contains this: 1 to 256 characters.
    pub text: Option<String>,
    /// True where the payloads are wanted too.
    pub include_payload: bool,
    /// True where it is to be told how many there are.
    pub include_total: bool,
    /// Most events of one page: 1 to 500, 50 where it is none.
    pub limit: Option<u32>,
    /// Where the page before ended: its `next_cursor`.
    pub cursor: Option<String>,
}

/// One page of a queue's events, the last that was published first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct EventPage {
    /// The events, each as it stands with this queue.
    pub items: Vec<Event>,
    /// Where the list goes on; none at its end.
    pub next_cursor: Option<String>,
    /// True where the page ended because it had looked far enough: it may be short, or empty, and the list
    /// goes on at `next_cursor` all the same.
    pub scan_truncated: bool,
    /// How many there are, where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<TotalReply>,
}

impl Events {
    /// Those in this state too.
    #[must_use]
    pub fn in_state(mut self, state: &str) -> Self {
        self.states.push(state.to_owned());
        self
    }

    /// Only those whose payload has this at this path: a string's text, or the JSON text of a number, of
    /// `true`, `false` or `null`.
    #[must_use]
    pub fn with_payload(mut self, path: PayloadPath, value: &str) -> Self {
        self.payload.push(PayloadCondition { path, value: value.to_owned() });
        self
    }

    fn parameters(&self) -> Vec<(String, String)> {
        let states = (!self.states.is_empty()).then(|| self.states.join(","));
        let named = [
            ("state", states),
            ("createdAfter", self.created_after.map(|at| at.to_string())),
            ("createdBefore", self.created_before.map(|at| at.to_string())),
            ("error", self.error.clone()),
            ("q", self.text.clone()),
            ("includePayload", self.include_payload.then(|| "true".to_owned())),
            ("includeTotal", self.include_total.then(|| "true".to_owned())),
            ("limit", self.limit.map(|limit| limit.to_string())),
            ("cursor", self.cursor.clone()),
        ];
        let named = named.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        let conditions = self.payload.iter();
        named.chain(conditions.map(|one| (format!("payload.{}", one.path), one.value.clone()))).collect()
    }
}

impl Client {
    /// The events of `queue` (its name or id) that `events` lets in, whatever became of them, the last that
    /// was published first. A page looks at 20,000 events at most, see [`EventPage::scan_truncated`].
    ///
    /// Cancel safety: harmless, it only reads.
    ///
    /// # Errors
    /// `queue_not_found`, `invalid_field`, `invalid_filter`, `invalid_cursor` and what every call may meet.
    pub async fn events(&self, queue: &str, events: &Events) -> Result<EventPage, Error> {
        let parameters = events.parameters();
        let query: Vec<_> = parameters.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        self.send(Call::get(&["event-queues", queue, "events"], &query)).await
    }
}
