//! What must hold of the filters that queries say.
//!
//! Lives here: the laws of each filter, and of times. Not here: cursors (`cursors.rs`).
//!
//! The first line of an input names what is asked for, the second is the query, and the rest is a payload to
//! which conditions are put, and a time.

use std::fmt::Debug;

use naven_api::limits::{
    ERROR_FILTER_BYTES_MAX, PAGE_ITEMS_MAX, PAYLOAD_CONDITIONS_MAX, PAYLOAD_TEXT_CHARS_MAX, STATS_POINTS_MAX,
    TAIL_SAMPLE_MAX,
};
use naven_api::{PayloadCondition, QueueId, StartFrom, Timestamp};
use naven_store::read::EventFilter;
use naven_store::txn::StreamRef;
use serde_json::Value;

use crate::failure::Failure;
use crate::http::query::{Query, pairs};
use crate::http::{dead_filter, event_list, pending, stats, stream, tail};

/// The wall clock of all queries.
const NOW: Timestamp = Timestamp::from_ms(1_795_000_000_000);

/// Holds one input to all laws.
///
/// # Panics
/// Where a law is broken.
pub fn check(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let (name, rest) = text.split_once('\n').unwrap_or((&text, ""));
    let (query, rest) = rest.split_once('\n').unwrap_or((rest, ""));
    match name {
        "dead" => drop(read(query, |query| check_dead(&dead_filter::of_query(query)))),
        "tail" => drop(read(query, |query| check_tail(&tail::Filter::of(query)))),
        "stats" => drop(read(query, |query| check_stats(stats::span(query, NOW)))),
        "pending" => drop(read(query, |query| format!("{:?}", pending::asked(query, QueueId::from_bits(7))))),
        "entries" => drop(read(query, |query| {
            format!("{:?}", stream::Asked::read(query, &StreamRef(bytes::Bytes::from_static(b"s"))))
        })),
        _ => check_events(query, rest),
    }
    check_time(rest);
}

/// What `reader` makes of the query. It says the same however the query is written, and a refusal names what is
/// wrong.
fn read<T: Debug + PartialEq>(text: &str, reader: impl Fn(&mut Query) -> T) -> Option<T> {
    let of = |text: &str| {
        let mut query = Query::new(Some(text));
        let said = reader(&mut query);
        let limit = query.limit();
        assert!((1..=PAGE_ITEMS_MAX).contains(&limit), "limit {limit}");
        (said, query.end())
    };
    let (said, end) = of(text);
    let (again, end_again) = of(&escaped(text));
    let code = |end: &Result<(), Failure>| end.as_ref().map_err(|failure| failure.code).copied();
    assert_eq!(code(&end), code(&end_again), "{text} and {}", escaped(text));
    match end {
        Ok(()) => {
            assert_eq!(said, again, "{text} and {}", escaped(text));
            Some(said)
        }
        Err(failure) => {
            check_refusal(&failure);
            None
        }
    }
}

fn check_refusal(failure: &Failure) {
    assert!(!failure.text.is_empty() && !failure.text.chars().any(char::is_control), "{:?}", failure.text);
    for fault in &failure.fields {
        assert!(!fault.rule.is_empty() && !fault.path.chars().any(char::is_control), "{fault:?}");
    }
}

/// The same query with every byte of its names and values escaped.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for (name, value) in pairs(text) {
        name.bytes().for_each(|byte| out.push_str(&format!("%{byte:02X}")));
        out.push('=');
        value.iter().for_each(|byte| out.push_str(&format!("%{byte:02x}")));
        out.push('&');
    }
    out
}

fn check_events(query: &str, payload: &str) {
    let Some(filter) = read(query, event_list::filter) else { return };
    let EventFilter { states, error, payload: conditions, text, .. } = &filter;
    assert!(states.is_sorted_by(|one, next| one < next), "{states:?}");
    assert!(error.as_ref().is_none_or(|error| (1..=ERROR_FILTER_BYTES_MAX).contains(&error.len())));
    let texts = conditions.iter().map(|condition| &condition.value).chain(text);
    assert!(texts.into_iter().all(|text| (1..=PAYLOAD_TEXT_CHARS_MAX).contains(&text.chars().count())));
    assert!(conditions.len() <= PAYLOAD_CONDITIONS_MAX, "{conditions:?}");
    let value: Option<Value> = serde_json::from_str(payload).ok();
    for condition in conditions {
        let path = condition.path.to_string();
        assert_eq!(path.parse().as_ref(), Ok(&condition.path), "{path}");
        let is_met = condition.is_met_by(payload);
        if let Some(wanted) = value.as_ref().and_then(|value| is_met_slowly(condition, value)) {
            assert_eq!(is_met, wanted, "{condition:?} of {payload}");
        }
    }
}

/// Whether the condition is met, step by step; none where numbers would be compared, of which only the text
/// tells.
fn is_met_slowly(condition: &PayloadCondition, mut at: &Value) -> Option<bool> {
    for name in condition.path.to_string().split('.') {
        let inner = match at {
            Value::Object(fields) => fields.get(name),
            Value::Array(items) => {
                let place = name.parse::<usize>().ok().filter(|place| place.to_string() == name);
                place.and_then(|place| items.get(place))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        };
        match inner {
            Some(inner) => at = inner,
            None => return Some(false),
        }
    }
    match at {
        Value::Number(_) => None,
        Value::String(text) => Some(*text == condition.value),
        Value::Null => Some(condition.value == "null"),
        Value::Bool(is) => Some(condition.value.parse() == Ok(*is)),
        Value::Array(_) | Value::Object(_) => Some(false),
    }
}

fn check_dead(filter: &naven_store::read::DeadFilter) -> String {
    let bounds = 1..=ERROR_FILTER_BYTES_MAX;
    assert!(filter.error.as_ref().is_none_or(|error| bounds.contains(&error.len())), "{filter:?}");
    format!("{filter:?}")
}

fn check_tail(filter: &tail::Filter) -> String {
    assert!((1..=TAIL_SAMPLE_MAX).contains(&filter.sample), "sample {}", filter.sample);
    format!("{:?} {}", filter.states, filter.sample)
}

fn check_stats(span: crate::stats::Span) -> String {
    assert!((1..=i64::from(STATS_POINTS_MAX)).contains(&span.points), "{span:?}");
    assert!(span.step_seconds > 0 && span.from() <= span.to(), "{span:?}");
    format!("{span:?}")
}

/// A time that is taken is shown as one that is taken, and is the same.
fn check_time(text: &str) {
    if let Ok(at) = Timestamp::parse(text) {
        assert_eq!(Timestamp::parse(&at.to_string()), Ok(at), "{text} is shown as {at}");
    }
    if let Some(start) = StartFrom::parse(text) {
        assert_eq!(StartFrom::parse(&String::from(start)), Some(start), "{text}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_saved_inputs_of_the_fuzzer_keep_every_law_of_filters() {
        crate::laws::saved_inputs("filters", check);
    }
}
