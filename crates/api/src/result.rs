//! What a holder says came of its event: a JSON value, kept byte for byte.
//!
//! Lives here: the checked type. Not here: the ack that brings it (`settle.rs`), and for how long it is
//! kept (`naven-core`).

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::field::Rule;
use crate::limits::{PAYLOAD_DEPTH_MAX, RESULT_BYTES_MAX};
use crate::object::Object;
use crate::payload::depth;

/// The text of a JSON value as its writer wrote it: at most 4 KiB, nested at most 64 deep.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub struct AckResult(Box<RawValue>);

impl AckResult {
    /// The result that `raw` is, if it is within the bounds.
    fn checked(raw: &RawValue) -> Option<Self> {
        let text = raw.get();
        let fits = text.len() <= RESULT_BYTES_MAX && depth(text) <= PAYLOAD_DEPTH_MAX;
        fits.then(|| Self(raw.to_owned()))
    }

    /// The result written in `text`, if that is JSON within the bounds.
    pub fn parse(text: &str) -> Option<Self> {
        let raw: &RawValue = serde_json::from_str(text).ok()?;
        Self::checked(raw)
    }

    /// What an engine gave back: text that was checked when it came in.
    pub fn stored(text: String) -> Option<Self> {
        RawValue::from_string(text).ok().map(Self)
    }

    /// The text.
    pub fn get(&self) -> &str {
        self.0.get()
    }

    /// An optional field `result`; null is a result too.
    pub(crate) fn read(object: &mut Object<'_>) -> Option<Self> {
        let text = format!(
            "a JSON value of at most {RESULT_BYTES_MAX} bytes, nested at most {PAYLOAD_DEPTH_MAX} deep"
        );
        let rule = Rule::bounded(text, 1, RESULT_BYTES_MAX as u64);
        object.opaque_if_there("result", rule, Self::checked)
    }
}

impl PartialEq for AckResult {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for AckResult {}

impl<'de> Deserialize<'de> for AckResult {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::Faults;
    use crate::object::decode;

    fn read(value: &str) -> Option<Option<AckResult>> {
        let body = format!(r#"{{"result":{value}}}"#);
        decode(body.as_bytes(), Faults::default(), |object| Some(AckResult::read(object))).ok()
    }

    #[test]
    fn any_value_is_kept_as_it_was_written() {
        for text in ["null", "0.10", "\"\\u00e9\\ud800\"", "[1, 2]", r#"{"a":1e3,"a":2 }"#, "true"] {
            let result = read(text).unwrap().unwrap();
            assert_eq!(result.get(), text);
            assert_eq!(serde_json::to_string(&result).unwrap(), text);
        }
        assert_eq!(decode(b"{}", Faults::default(), |object| Some(AckResult::read(object))), Ok(None));
    }

    #[test]
    fn it_is_bounded_at_the_edge() {
        let text = |bytes: usize| format!("\"{}\"", "x".repeat(bytes - 2));
        assert!(read(&text(RESULT_BYTES_MAX)).is_some());
        assert!(read(&text(RESULT_BYTES_MAX + 1)).is_none());
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(read(&nested(64)).is_some());
        assert!(read(&nested(65)).is_none());
    }

    #[test]
    fn what_is_not_json_is_none() {
        for bad in ["", "x", "{", "1 2"] {
            assert_eq!(AckResult::parse(bad), None, "{bad}");
        }
    }
}
