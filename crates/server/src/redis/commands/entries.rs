//! Entries and their contents as replies.
//!
//! Lives here: fields of a body in either form. Not here: how fields are packed (`naven-store`), and how they
//! look over HTTP (`http/shown_fields.rs`).
//!
//! A body that was published as JSON shows its top-level keys in order: texts as they are, anything else as its
//! JSON.

use std::fmt;

use bytes::Bytes;
use naven_store::read::EntryView;
use naven_store::reply::HeldEntry;
use naven_store::txn::{Body, Form, Place};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::ids;
use crate::redis::frame::{Protocol, Reply};

/// The one field of a body that cannot be taken apart.
const WHOLE: &[u8] = b"payload";

/// An entry: its place and its fields; null where it was deleted.
pub(super) fn entry(place: Place, body: Option<&Body>) -> Reply {
    Reply::Array(vec![ids::shown(place), body.map_or(Reply::NullArray, |body| flat(&fields(body)))])
}

/// Entries of a stream.
pub(super) fn listed(entries: &[EntryView]) -> Reply {
    Reply::Array(entries.iter().map(|view| entry(view.place, view.body.as_ref())).collect())
}

/// Entries in a consumer's hands.
pub(super) fn held(entries: &[HeldEntry]) -> Vec<Reply> {
    entries.iter().map(|held| entry(held.place, held.body.as_ref())).collect()
}

/// What was read, by key.
pub(super) fn by_key(read: Vec<(Bytes, Reply)>, protocol: Protocol) -> Reply {
    let pairs = read.into_iter().map(|(key, entries)| (Reply::Bulk(key), entries));
    match protocol {
        Protocol::Resp2 => Reply::Array(pairs.map(|(key, list)| Reply::Array(vec![key, list])).collect()),
        Protocol::Resp3 => Reply::Map(pairs.collect()),
    }
}

/// A body's fields and values.
pub(crate) fn fields(body: &Body) -> Vec<(Bytes, Bytes)> {
    let pairs = match body.form {
        Form::Fields => body.fields(),
        Form::Json => serde_json::from_slice(&body.bytes).ok().map(|Members(pairs)| pairs),
    };
    pairs.unwrap_or_else(|| vec![(Bytes::from_static(WHOLE), body.bytes.clone())])
}

fn flat(pairs: &[(Bytes, Bytes)]) -> Reply {
    let texts = pairs.iter().flat_map(|(name, value)| [name, value]);
    Reply::Array(texts.map(|text| Reply::Bulk(text.clone())).collect())
}

/// The members of a JSON object, in order, with their doubles.
struct Members(Vec<(Bytes, Bytes)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut pairs = Vec::new();
                while let Some((Text(name), value)) = map.next_entry::<Text, &RawValue>()? {
                    pairs.push((name, shown(value.get())));
                }
                Ok(Members(pairs))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

/// A value of a member: a text as it is, anything else as it is written.
fn shown(raw: &str) -> Bytes {
    let text = if raw.starts_with('"') { serde_json::from_str(raw).ok() } else { None };
    text.map_or_else(|| Bytes::copy_from_slice(raw.as_bytes()), |Text(text)| text)
}

/// A JSON text as bytes: half of a surrogate pair, which is no character, is written as if it were one.
struct Text(Bytes);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bare;

        impl Visitor<'_> for Bare {
            type Value = Text;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON text")
            }

            fn visit_str<E>(self, text: &str) -> Result<Text, E> {
                Ok(Text(Bytes::copy_from_slice(text.as_bytes())))
            }

            fn visit_bytes<E>(self, text: &[u8]) -> Result<Text, E> {
                Ok(Text(Bytes::copy_from_slice(text)))
            }
        }
        deserializer.deserialize_bytes(Bare)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &'static str) -> Vec<(String, String)> {
        let body = Body { form: Form::Json, bytes: Bytes::from_static(text.as_bytes()) };
        let text = |bytes: Bytes| String::from_utf8_lossy(&bytes).into_owned();
        fields(&body).into_iter().map(|(name, value)| (text(name), text(value))).collect()
    }

    #[test]
    fn json_shows_its_members_in_order_and_texts_bare() {
        let pairs = json(r#"{"b":"x\n\"é\u00e9","a":{"c":[1, "y"]},"n":1.50,"b":null,"\u0061":true,"e":""}"#);
        let wanted = [
            ("b", "x\n\"éé"),
            ("a", r#"{"c":[1, "y"]}"#),
            ("n", "1.50"),
            ("b", "null"),
            ("a", "true"),
            ("e", ""),
        ];
        assert_eq!(pairs, wanted.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!(json("{}"), []);
    }

    #[test]
    fn half_of_a_surrogate_pair_is_shown_for_all_that() {
        let body = Body { form: Form::Json, bytes: Bytes::from_static(br#"{"\ud800":"a\udc00"}"#) };
        let wanted = (Bytes::from_static(b"\xed\xa0\x80"), Bytes::from_static(b"a\xed\xb0\x80"));
        assert_eq!(fields(&body), [wanted]);
    }

    #[test]
    fn a_body_that_is_neither_is_shown_whole() {
        let body = Body { form: Form::Fields, bytes: Bytes::from_static(b"\x05a") };
        assert_eq!(fields(&body), [(Bytes::from_static(b"payload"), Bytes::from_static(b"\x05a"))]);
    }

    #[test]
    fn a_deleted_entry_has_no_fields_at_all() {
        let entry = entry(Place { ms: 1, seq: 2 }, None);
        assert_eq!(entry, Reply::Array(vec![Reply::bulk("1-2"), Reply::NullArray]));
    }
}
