//! What fields of a taken request may be, by the contract's words.
//!
//! Lives here: the bounds, found by the fields' names, written from the contract and not from the readers. Not
//! here: that a request comes back from its text (`requests.rs`).

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::limits::{
    BATCH_ITEMS_MAX, CLAIM_EVENTS_MAX, CONSUMER_BYTES_MAX, DEDUPE_KEY_BYTES_MAX, DEDUPE_WINDOW_SECONDS_MAX,
    DELAY_SECONDS_MAX, DESCRIPTION_BYTES_MAX, ERROR_BYTES_MAX, HEADER_BYTES_MAX, HEADERS_MAX,
    KEY_OVERLAP_SECONDS_MAX, KEY_PATTERNS_MAX, KEY_RATE_MAX, LATE_ACK_GRACE_SECONDS_MAX, LEASE_SECONDS_MAX,
    LEASE_SECONDS_MIN, MAX_ATTEMPTS_MAX, MAX_ATTEMPTS_MIN, MAX_LEASE_SECONDS_MAX, PAYLOAD_BYTES_DEFAULT,
    PERCENT_MAX, PROGRESS_NOTE_BYTES_MAX, QUEUE_NAME_BYTES_MAX, REASON_BYTES_MAX, RESULT_BYTES_MAX,
    RETENTION_SECONDS_MAX, STREAM_NAME_BYTES_MAX, TRIM_LENGTH_MAX, WAIT_SECONDS_MAX,
};

/// Whole numbers: their fields, the smallest, the largest. A change may have null for each.
const NUMBERS: [(&str, u32, u32); 19] = [
    ("leaseSeconds", LEASE_SECONDS_MIN, LEASE_SECONDS_MAX),
    ("defaultLeaseSeconds", LEASE_SECONDS_MIN, LEASE_SECONDS_MAX),
    ("redisLeaseSeconds", LEASE_SECONDS_MIN, LEASE_SECONDS_MAX),
    ("maxLeaseSeconds", 0, MAX_LEASE_SECONDS_MAX),
    ("waitSeconds", 0, WAIT_SECONDS_MAX),
    ("delaySeconds", 0, DELAY_SECONDS_MAX),
    ("retryDelaySeconds", 0, DELAY_SECONDS_MAX),
    ("lateAckGraceSeconds", 0, LATE_ACK_GRACE_SECONDS_MAX),
    ("dedupeWindowSeconds", 0, DEDUPE_WINDOW_SECONDS_MAX),
    ("overlapSeconds", 0, KEY_OVERLAP_SECONDS_MAX),
    ("initialSeconds", 0, 86_400),
    ("maxSeconds", 0, 86_400),
    ("maxAttempts", MAX_ATTEMPTS_MIN, MAX_ATTEMPTS_MAX),
    ("maxEvents", 1, CLAIM_EVENTS_MAX),
    ("maxLength", 0, TRIM_LENGTH_MAX),
    ("rateLimit", 1, KEY_RATE_MAX),
    ("percent", 0, PERCENT_MAX),
    ("done", 0, RETENTION_SECONDS_MAX),
    ("dead", 0, RETENTION_SECONDS_MAX),
];

/// Texts: their fields, the fewest bytes, the most.
const TEXTS: [(&str, usize, usize); 9] = [
    ("name", 1, QUEUE_NAME_BYTES_MAX),
    ("stream", 1, STREAM_NAME_BYTES_MAX),
    ("consumerId", 1, CONSUMER_BYTES_MAX),
    ("dedupeKey", 1, DEDUPE_KEY_BYTES_MAX),
    ("description", 0, DESCRIPTION_BYTES_MAX),
    // Of a pause, a cancel and a filter.
    ("reason", 0, REASON_BYTES_MAX),
    ("note", 0, PROGRESS_NOTE_BYTES_MAX),
    ("error", 0, ERROR_BYTES_MAX),
    ("targetQueue", 1, PAYLOAD_BYTES_DEFAULT),
];

/// Lists: their fields and the most items; never none.
const LISTS: [(&str, usize); 6] = [
    ("events", BATCH_ITEMS_MAX),
    ("items", BATCH_ITEMS_MAX),
    ("ids", BATCH_ITEMS_MAX),
    ("queues", KEY_PATTERNS_MAX),
    ("scopes", 4),
    ("states", 4),
];

/// Checks the fields of an object, and of those within it.
///
/// # Panics
/// Where one is out of its bounds.
pub(super) fn check_bounds(object: &str) {
    let fields: BTreeMap<String, &RawValue> = serde_json::from_str(object).expect("a request is an object");
    for (name, value) in fields {
        check_field(&name, value.get());
    }
}

fn check_field(name: &str, value: &str) {
    if value == "null" {
        return;
    }
    match name {
        // Values of their own, kept as they came.
        "payload" => return assert!(value.len() <= PAYLOAD_BYTES_DEFAULT, "a payload of {}", value.len()),
        "result" => return assert!(value.len() <= RESULT_BYTES_MAX, "a result of {}", value.len()),
        "headers" => return check_headers(value),
        _ => {}
    }
    if let Some((_, min, max)) = NUMBERS.iter().find(|(known, ..)| *known == name) {
        let number: Option<u32> = value.parse().ok();
        assert!(number.is_some_and(|number| (*min..=*max).contains(&number)), "{name} is {value}");
    }
    if let Some((_, min, max)) = TEXTS.iter().find(|(known, ..)| *known == name) {
        let text: String = serde_json::from_str(value).unwrap_or_else(|_| panic!("{name} is {value}"));
        assert!((*min..=*max).contains(&text.len()), "{name} has {} bytes", text.len());
    }
    if let Some((_, max)) = LISTS.iter().find(|(known, _)| *known == name) {
        let items: Vec<&RawValue> = serde_json::from_str(value).expect("a list");
        assert!((1..=*max).contains(&items.len()), "{name} has {} items", items.len());
        items.iter().filter(|item| item.get().starts_with('{')).for_each(|item| check_bounds(item.get()));
    }
    if value.starts_with('{') {
        check_bounds(value);
    }
}

fn check_headers(value: &str) {
    let headers: BTreeMap<String, String> = serde_json::from_str(value).expect("texts by their names");
    assert!(headers.len() <= HEADERS_MAX, "{} headers", headers.len());
    for (name, value) in headers {
        assert!(
            !name.is_empty() && value.len() <= HEADER_BYTES_MAX,
            "header {name:?}: {} bytes",
            value.len()
        );
    }
}
