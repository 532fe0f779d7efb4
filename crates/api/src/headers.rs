//! Names and values that travel with an event.
//!
//! Lives here: the checked list and its JSON, an object of texts. Not here: HTTP's own headers.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::field::{Rule, echo};
use crate::limits::{HEADER_BYTES_MAX, HEADERS_MAX};
use crate::object::Object;
use crate::value;

/// At most 32 names, each with one text, both of at most 1 KiB, in their publisher's order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Headers(Vec<(String, String)>);

impl Headers {
    /// Headers that were checked when they came in.
    pub fn stored(list: Vec<(String, String)>) -> Self {
        Self(list)
    }

    /// The list.
    pub fn into_list(self) -> Vec<(String, String)> {
        self.0
    }

    /// Name and value of each, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, text)| (name.as_str(), text.as_str()))
    }

    /// True where there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The optional field `headers` of `object`; none where it is there and wrong.
    pub(crate) fn read(object: &mut Object<'_>) -> Option<Self> {
        let Some(mut map) = object.object("headers", false) else { return Some(Self::default()) };
        let entries = map.entries();
        if entries.len() > HEADERS_MAX {
            let rule = format!("an object of at most {HEADERS_MAX} headers");
            object.refuse("headers", &Rule::bounded(rule, 0, HEADERS_MAX as u64));
            return None;
        }
        let mut list: Vec<(String, String)> = Vec::with_capacity(entries.len());
        let mut good = true;
        for (name, raw) in entries {
            let text = value::bounded_string(raw.get(), HEADER_BYTES_MAX);
            let name_fits = (1..=HEADER_BYTES_MAX).contains(&name.len());
            let is_new = list.iter().all(|(known, _)| *known != name);
            match text {
                Some(text) if name_fits && is_new => list.push((name, text)),
                Some(_) | None => {
                    good = false;
                    map.refuse(&echo(&name), &Self::rule(is_new));
                }
            }
        }
        good.then_some(Self(list))
    }

    fn rule(is_new: bool) -> Rule {
        if is_new {
            let text = format!(
                "a name of 1 to {HEADER_BYTES_MAX} bytes and a text of at most {HEADER_BYTES_MAX} bytes"
            );
            Rule::bounded(text, 0, HEADER_BYTES_MAX as u64)
        } else {
            Rule::new("given once")
        }
    }
}

impl Serialize for Headers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, text) in &self.0 {
            map.serialize_entry(name, text)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Headers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Headers;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of texts")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Headers, A::Error> {
                let mut list = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    list.push(pair);
                }
                Ok(Headers(list))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}
