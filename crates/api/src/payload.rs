//! An event's payload: a JSON object, kept byte for byte.
//!
//! Lives here: the checked type, and the scans of raw JSON text, which never recurse. Not here:
//! where payloads are stored.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::field::Rule;
use crate::limits::{PAYLOAD_BYTES_MAX, PAYLOAD_DEPTH_MAX};

/// The text of a JSON object as its publisher wrote it: digits, key order, doubled keys and escapes
/// included.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub struct Payload(Box<RawValue>);

impl Payload {
    /// The rule for payloads of at most `bytes_max` bytes.
    pub fn rule(bytes_max: usize) -> Rule {
        let text =
            format!("a JSON object of at most {bytes_max} bytes, nested at most {PAYLOAD_DEPTH_MAX} deep");
        Rule::bounded(text, 2, bytes_max as u64)
    }

    /// The payload that `raw` is, if it is a JSON object within the bounds.
    pub fn checked(raw: &RawValue, bytes_max: usize) -> Option<Self> {
        let text = raw.get();
        let fits = text.starts_with('{') && text.len() <= bytes_max && depth(text) <= PAYLOAD_DEPTH_MAX;
        fits.then(|| Self(raw.to_owned()))
    }

    /// The payload written in `text`, if it is a JSON object within the widest bounds.
    pub fn parse(text: &str) -> Option<Self> {
        let raw: &RawValue = serde_json::from_str(text).ok()?;
        Self::checked(raw, PAYLOAD_BYTES_MAX)
    }

    /// What an engine gave back: text that was checked when it came in.
    pub fn stored(text: String) -> Option<Self> {
        RawValue::from_string(text).ok().map(Self)
    }

    /// The text.
    pub fn get(&self) -> &str {
        self.0.get()
    }
}

impl PartialEq for Payload {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<'de> Deserialize<'de> for Payload {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Self)
    }
}

/// How deep valid JSON `text` nests: 1 for a flat object or list, 0 for a scalar.
pub(crate) fn depth(text: &str) -> usize {
    let (mut depth, mut deepest, mut in_text) = (0usize, 0usize, false);
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' if in_text => {
                bytes.next();
            }
            b'"' => in_text = !in_text,
            b'{' | b'[' if !in_text => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !in_text => depth -= 1,
            _ => {}
        }
    }
    deepest
}

/// True where a string in valid JSON `text` escapes half of a surrogate pair.
pub(crate) fn has_lone_surrogate(text: &str) -> bool {
    let mut rest = text;
    let mut high_open = false;
    // Only escapes can hold surrogates: the text itself is UTF-8.
    while let Some(at) = rest.find('\\') {
        let unit = unit_of(&rest[at + 1..]);
        let is_low = unit.is_some_and(|unit| (0xdc00..0xe000).contains(&unit));
        // An open high half must be followed at once by a low one, and a low one needs a high one.
        if (high_open && at > 0) || high_open != is_low {
            return true;
        }
        high_open = unit.is_some_and(|unit| (0xd800..0xdc00).contains(&unit));
        rest = &rest[at + if unit.is_some() { 6 } else { 2 }..];
    }
    high_open
}

/// The code unit of a `u` and four digits at the start of `text`; none for the other escapes.
fn unit_of(text: &str) -> Option<u32> {
    let digits = text.strip_prefix('u')?.get(..4)?;
    u32::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(levels: usize) -> String {
        format!("{}{}", "{\"a\":".repeat(levels - 1) + "{", "}".repeat(levels))
    }

    #[test]
    fn depth_is_bounded_at_the_edge_and_survives_any() {
        for (levels, taken) in [(1, true), (63, true), (64, true), (65, false), (100_000, false)] {
            assert_eq!(Payload::parse(&nested(levels)).is_some(), taken, "{levels}");
        }
        assert!(
            Payload::parse(&format!("{{\"a\":\"{}\"}}", "[{".repeat(100))).is_some(),
            "text does not nest"
        );
        assert!(Payload::parse(r#"{"a":"\"{{{{","b":"\\"}"#).is_some());
    }

    #[test]
    fn bytes_are_bounded_at_the_edge() {
        let text = |bytes: usize| format!("{{\"a\":\"{}\"}}", "x".repeat(bytes - 8));
        let check = |text: &str| Payload::checked(serde_json::from_str(text).unwrap(), 100).is_some();
        assert!(check(&text(100)));
        assert!(!check(&text(101)));
    }

    #[test]
    fn only_objects_are_payloads() {
        for bad in ["[]", "null", "1", "\"x\"", "true", "", "{", "{}x"] {
            assert!(Payload::parse(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn text_stays_as_written() {
        let text =
            r#"{"a":9007199254740993,"c":0.1000000000000000055,"d":-0,"e":1E5,"f":"\u00e9\ud800","a":1}"#;
        assert_eq!(Payload::parse(text).unwrap().get(), text);
        assert_eq!(serde_json::to_string(&Payload::parse(text).unwrap()).unwrap(), text);
    }

    #[test]
    fn halves_of_pairs_are_found() {
        for bad in [r#""\ud800""#, r#""\udc00""#, r#""\ud800\ud800""#, r#""\ud83dx\ude00""#, r#""\ud800\n""#]
        {
            assert!(has_lone_surrogate(bad), "{bad}");
        }
        for good in
            [r#""\ud83d\ude00""#, r#""\\ud800""#, r#""\u00e9\n""#, r#""é""#, r#""\ud83d\ude00\ud83d\ude00""#]
        {
            assert!(!has_lone_surrogate(good), "{good}");
        }
    }
}
