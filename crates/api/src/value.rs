//! Reading single JSON values of requests.
//!
//! Lives here: one function for each kind of value, each with its rule. Not here: objects and
//! lists (`object.rs`).

use std::borrow::Cow;

use crate::error_text::ErrorText;
use crate::field::Rule;
use crate::limits::DELAY_SECONDS_MAX;
use crate::object::Object;
use crate::time::Timestamp;

/// The rule for an integer.
pub fn integer_rule(min: u32, max: u32) -> Rule {
    Rule::bounded(format!("an integer from {min} to {max}"), u64::from(min), u64::from(max))
}

/// The integer that `text` is, without fraction or exponent.
pub fn integer(text: &str, min: u32, max: u32) -> Option<u32> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    // JSON's own grammar has already forbidden leading zeros and signs.
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number: i64 = text.parse().ok()?;
    u32::try_from(number).ok().filter(|number| (min..=max).contains(number))
}

/// The rule for a number of up to three decimals.
pub fn decimal_rule(min: u32, max: u32) -> Rule {
    let text = format!("a number from {min} to {max} with at most 3 decimals");
    Rule::bounded(text, u64::from(min), u64::from(max))
}

/// The thousandths of the number that `text` is: at most 3 decimals, no exponent.
pub fn decimal_milli(text: &str, min: u32, max: u32) -> Option<u32> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let plain = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !plain(whole) || !plain(fraction) || fraction.len() > 3 {
        return None;
    }
    let whole: u32 = whole.parse().ok()?;
    let milli: u32 = format!("{fraction:0<3}").parse().ok()?;
    let value = whole.checked_mul(1_000)?.checked_add(milli)?;
    (min * 1_000..=max * 1_000).contains(&value).then_some(value)
}

/// The string that `text` is.
pub fn string(text: &str) -> Option<String> {
    serde_json::from_str(text).ok()
}

/// The rule for a text of bounded length.
pub fn text_rule(bytes_max: usize) -> Rule {
    Rule::bounded(format!("a text of at most {bytes_max} bytes"), 0, bytes_max as u64)
}

/// The string that `text` is, of at most `bytes_max` bytes.
pub fn bounded_string(text: &str, bytes_max: usize) -> Option<String> {
    string(text).filter(|value| value.len() <= bytes_max)
}

/// `true` or `false`.
pub fn boolean(text: &str) -> Option<bool> {
    text.parse().ok()
}

/// The rule for instants at which something is to happen.
pub fn instant_rule() -> Rule {
    Rule::new(Cow::from(format!("{}, at most 10 years ahead", Timestamp::RULE)))
}

/// The instant that `text` is: at most ten years after `now`, however long ago.
pub fn instant(text: &str, now: Timestamp) -> Option<Timestamp> {
    let latest = now.plus_ms(i64::from(DELAY_SECONDS_MAX) * 1_000);
    Timestamp::parse(&string(text)?).ok().filter(|at| *at <= latest)
}

/// An optional field that names a queue: its name or id, any text but none. A queue that a Redis group made may be
/// called what no queue of ours may.
pub(crate) fn queue_ref(object: &mut Object<'_>, name: &'static str) -> Option<String> {
    let text = |text: &str| string(text).filter(|text| !text.is_empty());
    object.optional(name, Rule::new("a queue's name or id, not empty"), text)
}

/// An optional field `error`: a text of any length, kept as [`ErrorText`] says.
pub(crate) fn error_text(object: &mut Object<'_>) -> Option<ErrorText> {
    object.optional("error", Rule::new("a text"), |text| string(text).map(|text| ErrorText::new(&text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_have_no_fraction_exponent_or_quotes() {
        assert_eq!(integer("900", 1, 43_200), Some(900));
        assert_eq!(integer("-0", 0, 1), Some(0));
        for bad in [
            "0",
            "-1",
            "1.5",
            "1.0",
            "\"900\"",
            "1e3",
            "43201",
            "2147483648",
            "9007199254740993",
            "9223372036854775807",
            "18446744073709551616",
            "1e308",
            "null",
            "[]",
            "{}",
            "true",
            "",
            "-",
        ] {
            assert_eq!(integer(bad, 1, 43_200), None, "{bad}");
        }
    }

    #[test]
    fn decimals_have_at_most_three_places() {
        assert_eq!(decimal_milli("2", 1, 10), Some(2_000));
        assert_eq!(decimal_milli("1.5", 1, 10), Some(1_500));
        assert_eq!(decimal_milli("0.001", 0, 1), Some(1));
        assert_eq!(decimal_milli("1.000", 0, 1), Some(1_000));
        for bad in ["1.0001", "1e0", "-1", "11", "10.001", "\"2\"", "null", "1.", ".5", "99999999999"] {
            assert_eq!(decimal_milli(bad, 1, 10), None, "{bad}");
        }
    }

    #[test]
    fn instants_are_bounded_ahead_and_free_behind() {
        let now = Timestamp::parse("2026-11-29T00:00:00Z").unwrap();
        assert!(instant("\"1969-12-31T23:59:59Z\"", now).is_some());
        assert!(instant("\"2036-11-26T00:00:00Z\"", now).is_some());
        for bad in ["\"9999-12-31T23:59:59Z\"", "\"2036-11-27T00:00:01Z\"", "\"tomorrow\"", "17"] {
            assert!(instant(bad, now).is_none(), "{bad}");
        }
    }
}
