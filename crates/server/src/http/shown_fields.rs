//! Fields that were published over the Redis door, as a JSON object.
//!
//! Lives here: their text. Not here: JSON that is read over the Redis door (`redis/commands/entries.rs`), and how
//! fields are packed (`naven-store`).
//!
//! Names stand in order with their doubles, values are texts. A value that is not UTF-8 is
//! `{"$base64": "..."}`; in a name, what is not UTF-8 is shown as U+FFFD.

use bytes::Bytes;

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The text of the object of `pairs`.
pub(super) fn object(pairs: &[(Bytes, Bytes)]) -> String {
    let mut text = String::from("{");
    for (at, (name, value)) in pairs.iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        quote(&mut text, &String::from_utf8_lossy(name));
        text.push(':');
        match std::str::from_utf8(value) {
            Ok(value) => quote(&mut text, value),
            Err(_) => {
                text.push_str("{\"$base64\":\"");
                encode(&mut text, value);
                text.push_str("\"}");
            }
        }
    }
    text.push('}');
    text
}

fn quote(text: &mut String, value: &str) {
    text.push_str(&serde_json::Value::from(value).to_string());
}

/// Appends `bytes` in base64 with its padding.
fn encode(text: &mut String, bytes: &[u8]) {
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * at) & 0x3f) as usize];
            text.push(if at > chunk.len() { '=' } else { digit.into() });
        }
    }
}

#[cfg(test)]
mod tests {
    use naven_store::txn::{Body, Form};
    use proptest::prelude::*;

    use super::*;
    use crate::http::shown::payload;
    use crate::redis::fields_of;

    fn bytes(text: &[u8]) -> Bytes {
        Bytes::copy_from_slice(text)
    }

    #[test]
    fn values_that_are_no_text_are_in_base64() {
        for (value, wanted) in [
            (&b"\xff"[..], r#"{"f":{"$base64":"/w=="}}"#),
            (b"\xff\xfe", r#"{"f":{"$base64":"//4="}}"#),
            (b"\xff\xfe\xfd", r#"{"f":{"$base64":"//79"}}"#),
            (b"\xff\x00\x10\x83", r#"{"f":{"$base64":"/wAQgw=="}}"#),
            (b"a\"\n", r#"{"f":"a\"\n"}"#),
            (b"", r#"{"f":""}"#),
        ] {
            assert_eq!(object(&[(bytes(b"f"), bytes(value))]), wanted);
        }
        let doubles = [(bytes(b"f"), bytes(b"1")), (bytes(b"e"), bytes(b"2")), (bytes(b"f"), bytes(b"3"))];
        assert_eq!(object(&doubles), r#"{"f":"1","e":"2","f":"3"}"#);
        assert_eq!(object(&[(bytes(b"\xff"), bytes(b"1"))]), "{\"\u{fffd}\":\"1\"}");
        assert_eq!(object(&[]), "{}");
    }

    proptest! {
        /// Texts cross both doors unchanged: what is published as fields is shown as JSON, and that JSON, were it
        /// published, would be read as the same fields.
        #[test]
        fn texts_are_exact_both_ways(pairs in proptest::collection::vec((any::<String>(), any::<String>()), 0..6)) {
            let pairs: Vec<(Bytes, Bytes)> = pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
            let shown = payload(Body::of_fields(&pairs)).expect("fields are shown");
            let json = Body { form: Form::Json, bytes: bytes(shown.get().as_bytes()) };
            prop_assert_eq!(fields_of(&json), pairs);
        }

        /// The other way round: a JSON object of texts, read as fields and shown as JSON again.
        #[test]
        fn an_event_with_payload_and_ts_is_the_same_over_either_door(event in any::<String>(), inner in any::<String>(), ts in any::<u64>()) {
            let inner = serde_json::json!({ "inner": inner }).to_string();
            let json = serde_json::json!({ "event": event, "payload": inner, "ts": ts.to_string() }).to_string();
            let body = Body { form: Form::Json, bytes: bytes(json.as_bytes()) };
            let read = fields_of(&body);
            prop_assert_eq!(read.len(), 3);
            let again = payload(Body::of_fields(&read)).expect("fields are shown");
            let (one, other): (serde_json::Value, serde_json::Value) = (
                serde_json::from_str(&json).expect("it is JSON"),
                serde_json::from_str(again.get()).expect("it is JSON"),
            );
            prop_assert_eq!(one, other);
        }
    }
}
