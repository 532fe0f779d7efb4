//! Throwing away what waits in a queue, or is dead there.
//!
//! Lives here: what is asked for. Not here: the operation that does it (`bulk.rs`).

use serde::Serialize;

use crate::field::{BadRequest, Faults, Rule};
use crate::object::decode;
use crate::time::Timestamp;
use crate::value;

/// What may be thrown away: what somebody holds, and what is done or cancelled, is not.
pub const PURGE_STATES: [&str; 4] = ["scheduled", "ready", "retrying", "dead"];

/// Throws away what waits in a queue, or is dead there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PurgeRequest {
    /// Some of `scheduled`, `ready`, `retrying`, `dead`; absent: the first three.
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub states: Vec<String>,
    /// Only events that were published before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub older_than: Option<Timestamp>,
    /// True where nothing is to be done but to say how many are meant.
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub dry_run: bool,
}

impl Default for PurgeRequest {
    fn default() -> Self {
        let states = PURGE_STATES[..3].iter().map(ToString::to_string).collect();
        Self { states, older_than: None, dry_run: false }
    }
}

impl PurgeRequest {
    /// Reads a request's body.
    ///
    /// # Errors
    /// See [`BadRequest`].
    pub fn decode(body: &[u8], faults: Faults) -> Result<Self, BadRequest> {
        let rule = Rule::new(format!("a list of one or more of {}", PURGE_STATES.join(", ")));
        decode(body, faults, |object| {
            let states = object.optional("states", rule, |text| {
                let states: Vec<String> = serde_json::from_str(text).ok()?;
                let is_one = |state: &String| PURGE_STATES.contains(&state.as_str());
                let are_some = (1..=PURGE_STATES.len()).contains(&states.len()) && states.iter().all(is_one);
                are_some.then_some(states)
            });
            let older_than = object.optional("olderThan", Rule::new(Timestamp::RULE), |text| {
                Timestamp::parse(&value::string(text)?).ok()
            });
            let dry_run = object.optional("dryRun", Rule::new("true or false"), value::boolean);
            let states = states.unwrap_or_else(|| Self::default().states);
            Some(Self { states, older_than, dry_run: dry_run.unwrap_or(false) })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_somebody_holds_and_what_is_over_cannot_be_named() {
        let read = |body: &str| PurgeRequest::decode(body.as_bytes(), Faults::default());
        assert_eq!(read("{}").unwrap().states, ["scheduled", "ready", "retrying"]);
        let one = read(r#"{"states":["dead"],"olderThan":"2026-11-29T00:00:00Z","dryRun":true}"#).unwrap();
        assert!(one.states == ["dead"] && one.older_than.is_some() && one.dry_run);
        for state in ["leased", "held", "done", "cancelled", "Ready", ""] {
            let bad = read(&format!(r#"{{"states":["ready","{state}"]}}"#)).unwrap_err();
            assert_eq!(bad.code().code(), 40_001, "{state}");
        }
        for body in [
            r#"{"states":[]}"#,
            r#"{"states":"ready"}"#,
            r#"{"states":null}"#,
            r#"{"olderThan":"yesterday"}"#,
            r#"{"dryRun":1}"#,
            r#"{"filter":{}}"#,
        ] {
            assert!(read(body).is_err(), "{body}");
        }
    }
}
