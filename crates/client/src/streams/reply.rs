//! What answers mean.
//!
//! Lives here: taking them apart. Not here: asking (`link.rs`).

use naven_api::EntryId;
use redis::Value;

use super::fields::Fields;

/// An entry as a read hands it out; without fields where it was deleted.
pub(super) type Read = (EntryId, Option<Fields>);

/// A line of a pending list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) id: EntryId,
    pub(super) consumer: Vec<u8>,
    pub(super) idle_ms: u64,
    pub(super) count: u64,
}

/// A list.
pub(super) fn list(value: Value) -> Option<Vec<Value>> {
    match value {
        Value::Array(items) => Some(items),
        _ => None,
    }
}

/// Bytes.
pub(super) fn bytes(value: Value) -> Option<Vec<u8>> {
    match value {
        Value::BulkString(bytes) => Some(bytes),
        Value::SimpleString(text) => Some(text.into_bytes()),
        Value::Okay => Some(b"OK".to_vec()),
        _ => None,
    }
}

/// A text.
pub(super) fn text(value: Value) -> Option<String> {
    String::from_utf8(bytes(value)?).ok()
}

/// A count.
pub(super) fn count(value: Value) -> Option<u64> {
    match value {
        Value::Int(count) => u64::try_from(count).ok(),
        _ => None,
    }
}

/// An entry's id.
pub(super) fn id(value: Value) -> Option<EntryId> {
    text(value)?.parse().ok()
}

/// A list of ids.
pub(super) fn ids(value: Value) -> Option<Vec<EntryId>> {
    list(value)?.into_iter().map(id).collect()
}

/// Names and values in turn.
pub(super) fn fields(value: Value) -> Option<Fields> {
    let texts: Option<Vec<Vec<u8>>> = list(value)?.into_iter().map(bytes).collect();
    Some(Fields::from_flat(texts?))
}

/// Entries as `XRANGE` and `XCLAIM` answer them.
pub(super) fn entries(value: Value) -> Option<Vec<Read>> {
    let entry = |value| {
        let [of, held] = <[Value; 2]>::try_from(list(value)?).ok()?;
        let held = if matches!(held, Value::Nil) { None } else { Some(fields(held)?) };
        Some((id(of)?, held))
    };
    // Redis 6 answers a claim of what was deleted by nothing.
    let is_there = |value: &Value| !matches!(value, Value::Nil);
    list(value)?.into_iter().filter(is_there).map(entry).collect()
}

/// Entries of the one stream that was read.
pub(super) fn streams(value: Value) -> Option<Vec<Read>> {
    if matches!(value, Value::Nil) {
        return Some(Vec::new());
    }
    let Some(stream) = list(value)?.pop() else { return Some(Vec::new()) };
    entries(list(stream)?.pop()?)
}

/// Lines of `XPENDING` with a range.
pub(super) fn rows(value: Value) -> Option<Vec<Row>> {
    let row = |value| {
        let [of, consumer, idle_ms, deliveries] = <[Value; 4]>::try_from(list(value)?).ok()?;
        // A clock that stepped back is no idle time.
        let idle_ms = count(idle_ms).unwrap_or(0);
        Some(Row { id: id(of)?, consumer: bytes(consumer)?, idle_ms, count: count(deliveries)? })
    };
    list(value)?.into_iter().map(row).collect()
}
