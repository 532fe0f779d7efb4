//! Comparing JSON with what the contract prints.
//!
//! Lives here: [`assert_shape`]. In the expected JSON, `"$time"`, `"$evt"`, `"$evq"`, `"$key"`,
//! `"$text"` and `"$number"` stand for any value of that kind; everything else stands for itself.

use std::collections::BTreeSet;

use serde_json::Value;

/// Panics where `found` is not what `expected` says, naming the place.
#[track_caller]
pub(crate) fn assert_shape(found: &Value, expected: &Value) {
    if let Err(place) = compare(found, expected, "data") {
        panic!("{place}\nin {found:#}");
    }
}

fn compare(found: &Value, expected: &Value, place: &str) -> Result<(), String> {
    let fail = || Err(format!("{place}: expected {expected}, found {found}"));
    match (expected, found) {
        (Value::String(kind), _) if kind.starts_with('$') => {
            if is_a(kind, found) {
                Ok(())
            } else {
                fail()
            }
        }
        (Value::Object(expected), Value::Object(found)) => {
            let names =
                |object: &serde_json::Map<String, Value>| object.keys().cloned().collect::<BTreeSet<_>>();
            if names(expected) != names(found) {
                return Err(format!("{place}: expected {:?}, found {:?}", names(expected), names(found)));
            }
            expected
                .iter()
                .try_for_each(|(name, value)| compare(&found[name], value, &format!("{place}.{name}")))
        }
        (Value::Array(expected), Value::Array(items)) => {
            if expected.len() != items.len() {
                return fail();
            }
            let mut pairs = expected.iter().zip(items).enumerate();
            pairs.try_for_each(|(at, (expected, item))| compare(item, expected, &format!("{place}[{at}]")))
        }
        _ if expected == found => Ok(()),
        _ => fail(),
    }
}

fn is_a(kind: &str, value: &Value) -> bool {
    let text = value.as_str().unwrap_or_default();
    let is_id = |prefix: &str| text.starts_with(prefix) && text.len() == 30;
    match kind {
        "$time" => text.len() == 24 && text.ends_with('Z') && text.as_bytes()[19] == b'.',
        "$evt" => is_id("evt_"),
        "$evq" => is_id("evq_"),
        "$key" => is_id("key_"),
        "$text" => value.is_string(),
        "$number" => value.is_number(),
        other => panic!("no such kind: {other}"),
    }
}
