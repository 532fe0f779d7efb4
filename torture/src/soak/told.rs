//! What answers say, in the words of a history.
//!
//! Lives here: that translation. Not here: the calls (`actor.rs`).

use naven_api::{EventId, Timestamp};
use serde_json::Value;

use super::http::Heard;
use crate::history::{Answer, Grant, Reason, Seen};

/// One event that was handed out.
#[derive(Debug, Clone)]
pub(super) struct Lease {
    pub(super) event: EventId,
    pub(super) fence: u64,
    pub(super) attempt: u32,
    pub(super) token: String,
    pub(super) ends_at_ms: i64,
    pub(super) payload: Value,
}

impl Lease {
    pub(super) fn read(claim: &Value) -> Option<Self> {
        let event = &claim["event"];
        Some(Self {
            event: event["id"].as_str()?.parse().ok()?,
            fence: event["deliveryCount"].as_u64()?,
            attempt: u32::try_from(event["attemptCount"].as_u64()?).ok()?,
            token: claim["leaseToken"].as_str()?.to_owned(),
            ends_at_ms: instant(&claim["leaseExpiresAt"])?,
            payload: event["payload"].clone(),
        })
    }

    pub(super) const fn grant(&self) -> Grant {
        Grant { event: self.event, fence: self.fence, attempt: self.attempt, round: None }
    }
}

/// What an answer gives, or what it says instead; none where the request was never sent. A code that it may never
/// have is told as an error.
pub(super) fn said(heard: &Heard) -> Result<Result<&Value, Option<Answer>>, String> {
    match heard {
        Heard::Unsent => Ok(Err(None)),
        Heard::Silent => Ok(Err(Some(Answer::Unknown))),
        Heard::Reply(reply) => match coded(reply.code) {
            Some(Ok(())) => Ok(Ok(&reply.data)),
            Some(Err(answer)) => Ok(Err(Some(answer))),
            None => Err(format!("{} {}: {}", reply.status, reply.code, reply.data)),
        },
    }
}

/// What a code says; none where no call of ours may be answered so.
pub(super) const fn coded(code: u32) -> Option<Result<(), Answer>> {
    Some(Err(match code {
        0 | 20_700 => return Some(Ok(())),
        40_900 => Answer::Conflict(Reason::Expired),
        40_901 => Answer::Conflict(Reason::Lost),
        40_902 => Answer::Conflict(Reason::Settled),
        40_908 => Answer::Conflict(Reason::WrongState),
        40_402 => Answer::NotFound,
        50_301 | 50_302 => Answer::Refused,
        50_400 => Answer::Unknown,
        _ => return None,
    }))
}

/// What a settle call gave.
pub(super) fn done(data: &Value) -> Answer {
    Answer::Done {
        next_at_ms: instant(&data["nextAttemptAt"]),
        replayed: data["replayed"].as_bool().unwrap_or(false),
    }
}

fn instant(text: &Value) -> Option<i64> {
    Timestamp::parse(text.as_str()?).ok().map(Timestamp::as_ms)
}

/// How an event looked in one of its queues.
pub(super) fn seen(event: &Value, queue: &str) -> Answer {
    let deliveries = event["deliveries"].as_array().map_or(&[][..], Vec::as_slice);
    let state = deliveries.iter().find(|delivery| delivery["queue"] == queue);
    match state.and_then(|delivery| delivery["state"].as_str()) {
        Some("done") => Answer::Saw(Seen::Done),
        Some("dead") => Answer::Saw(Seen::Dead),
        Some("cancelled") => Answer::Saw(Seen::Cancelled),
        Some("leased" | "held") => Answer::Saw(Seen::Leased),
        Some(_) => Answer::Saw(Seen::Waiting),
        None => Answer::NotFound,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::http::Reply;
    use super::*;

    #[test]
    fn a_code_that_no_call_may_have_is_an_error() {
        let reply = |code| Heard::Reply(Reply { status: 500, code, data: Value::Null });
        assert!(said(&reply(50_000)).is_err());
        assert_eq!(said(&reply(40_901)), Ok(Err(Some(Answer::Conflict(Reason::Lost)))));
        assert_eq!(said(&Heard::Silent), Ok(Err(Some(Answer::Unknown))));
        assert_eq!(said(&Heard::Unsent), Ok(Err(None)));
        assert_eq!(said(&reply(0)), Ok(Ok(&Value::Null)));
    }

    #[test]
    fn an_event_is_seen_in_the_queue_that_is_asked_for() {
        let event =
            json!({"deliveries": [{"queue": "a", "state": "done"}, {"queue": "b", "state": "retrying"}]});
        assert_eq!(seen(&event, "a"), Answer::Saw(Seen::Done));
        assert_eq!(seen(&event, "b"), Answer::Saw(Seen::Waiting));
        assert_eq!(seen(&event, "c"), Answer::NotFound);
    }

    #[test]
    fn a_claim_is_read_whole_or_not_at_all() {
        let claim = json!({
            "event": {"id": EventId::from_bits(9).to_string(), "deliveryCount": 2, "attemptCount": 1, "payload": {}},
            "leaseToken": "t", "leaseExpiresAt": "1970-01-01T00:00:01.500Z",
        });
        let lease = Lease::read(&claim).unwrap();
        assert_eq!((lease.event, lease.fence, lease.ends_at_ms), (EventId::from_bits(9), 2, 1_500));
        assert!(Lease::read(&json!({"event": {}})).is_none());
    }
}
