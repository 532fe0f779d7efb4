//! Conditions on what stands at a path of an event's payload.
//!
//! Lives here: paths, and whether a payload meets a condition. Not here: the parameters of lists
//! (`event_list.rs`), and finding events (`naven-store`).

use std::fmt;
use std::str::FromStr;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::limits::{PAYLOAD_PATH_BYTES_MAX, PAYLOAD_PATH_DEPTH_MAX};

/// Where in a payload something stands: names joined by dots, outermost first, like `user.address.city`.
/// In a list the name is a number, 0 for the first item. A name that has a dot in it cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PayloadPath(String);

/// A text that is no path of a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a path of a payload is 1 to {PAYLOAD_PATH_DEPTH_MAX} names joined by dots, \
     of at most {PAYLOAD_PATH_BYTES_MAX} bytes"
)]
pub struct InvalidPayloadPath;

/// What has to stand at a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PayloadCondition {
    /// Where.
    pub path: PayloadPath,
    /// A string's text, or the JSON text of a number, of `true`, `false` or `null`. No object and no list
    /// is ever equal to it.
    pub value: String,
}

impl FromStr for PayloadPath {
    type Err = InvalidPayloadPath;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_path = text.len() <= PAYLOAD_PATH_BYTES_MAX
            && text.split('.').count() <= PAYLOAD_PATH_DEPTH_MAX
            && text.split('.').all(|name| !name.is_empty());
        if is_path { Ok(Self(text.to_owned())) } else { Err(InvalidPayloadPath) }
    }
}

impl fmt::Display for PayloadPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl PayloadCondition {
    /// Whether the JSON text of a payload has this value at this path. Of a key that is there twice the
    /// last one counts.
    pub fn is_met_by(&self, payload: &str) -> bool {
        let mut at = payload;
        for name in self.path.0.split('.') {
            match member(at, name) {
                Some(inner) => at = inner,
                None => return false,
            }
        }
        match at.as_bytes().first() {
            Some(b'"') => serde_json::from_str::<String>(at).is_ok_and(|text| text == self.value),
            Some(b'{' | b'[') | None => false,
            Some(_) => at == self.value,
        }
    }
}

/// The text of what `name` names in the JSON text of an object or a list.
fn member<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    Member(name).deserialize(&mut serde_json::Deserializer::from_str(text)).ok()?.map(RawValue::get)
}

/// Reads one member of an object or a list, and skips the others.
struct Member<'n>(&'n str);

impl<'de> DeserializeSeed<'de> for Member<'_> {
    type Value = Option<&'de RawValue>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Member<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or a list")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(is_it) = members.next_key_seed(IsName(self.0))? {
            if is_it {
                found = Some(members.next_value()?);
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let wanted = self.0.parse::<usize>().ok().filter(|wanted| wanted.to_string() == self.0);
        let (mut found, mut at) = (None, 0);
        while let Some(item) = items.next_element()? {
            if wanted == Some(at) {
                found = Some(item);
            }
            at += 1;
        }
        Ok(found)
    }
}

/// Whether a key is this name. It is read as bytes, as keys may hold half of a surrogate pair.
struct IsName<'n>(&'n str);

impl<'de> DeserializeSeed<'de> for IsName<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_bytes(self)
    }
}

impl Visitor<'_> for IsName<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_bytes<E>(self, key: &[u8]) -> Result<bool, E> {
        Ok(key == self.0.as_bytes())
    }

    fn visit_str<E>(self, key: &str) -> Result<bool, E> {
        Ok(key == self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_met(payload: &str, path: &str, value: &str) -> bool {
        let path = path.parse().expect("a path");
        PayloadCondition { path, value: value.to_owned() }.is_met_by(payload)
    }

    #[test]
    fn a_path_has_names_and_a_bounded_depth() {
        for good in ["a", "a.b", "1.2.3.4.5.6.7.8", "$x", " "] {
            assert_eq!(good.parse::<PayloadPath>().map(|path| path.to_string()), Ok(good.to_owned()));
        }
        for bad in ["", ".", "a.", ".a", "a..b", "1.2.3.4.5.6.7.8.9"] {
            assert_eq!(bad.parse::<PayloadPath>(), Err(InvalidPayloadPath), "{bad}");
        }
        assert!("n".repeat(PAYLOAD_PATH_BYTES_MAX).parse::<PayloadPath>().is_ok());
        assert!("n".repeat(PAYLOAD_PATH_BYTES_MAX + 1).parse::<PayloadPath>().is_err());
    }

    #[test]
    fn strings_are_compared_by_their_text_and_scalars_by_their_json() {
        let payload =
            r#" {"s":"a\u0062","n":1.50,"t":true,"z":null,"d":"7","o":{"x":{"y":7}},"l":[{"k":"v"},2]}"#;
        for (path, value) in [
            ("s", "ab"),
            ("n", "1.50"),
            ("t", "true"),
            ("z", "null"),
            ("d", "7"),
            ("o.x.y", "7"),
            ("l.0.k", "v"),
            ("l.1", "2"),
        ] {
            assert!(is_met(payload, path, value), "{path}={value}");
        }
        for (path, value) in [
            ("s", "a"),
            ("s", "\"ab\""),
            ("n", "1.5"),
            ("x", "ab"),
            ("o", r#"{"x":{"y":7}}"#),
            ("s.b", "ab"),
            ("l.00.k", "v"),
            ("l.2", "2"),
            ("l.k", "v"),
            ("y", "7"),
        ] {
            assert!(!is_met(payload, path, value), "{path}={value}");
        }
    }

    #[test]
    fn the_last_of_two_keys_counts_and_odd_text_does_no_harm() {
        assert!(is_met(r#"{"a":1,"a":2}"#, "a", "2"));
        assert!(!is_met(r#"{"a":1,"a":2}"#, "a", "1"));
        assert!(is_met(r#"{"\ud800":0,"a":"x"}"#, "a", "x"), "a key with half of a pair");
        assert!(!is_met(r#"{"a":"\ud800"}"#, "a", "x"));
        assert!(is_met("{\"\\u0061\":1}", "a", "1"), "an escaped key");
        for odd in ["", "{", "[]", "7", "{\"a\"", "\u{0}"] {
            assert!(!is_met(odd, "a", "1"), "{odd:?}");
        }
        let deep = format!("{}1{}", "{\"a\":".repeat(64), "}".repeat(64));
        assert!(!is_met(&deep, "a.a", "1"));
    }
}
