//! Instants on the wire: RFC 3339, UTC, milliseconds and `Z`.
//!
//! Lives here: the type, its text and how callers' texts are read. Not here: reading a clock.

use std::fmt;

use serde::{Serialize, Serializer};

/// An instant of the wall clock, in ms since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

/// Why a text is not an instant that we take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected an RFC 3339 time with an offset, like 2026-11-29T15:00:00.000Z")]
pub struct ParseTimestampError;

impl Timestamp {
    /// The rule, in words.
    pub const RULE: &'static str = "an RFC 3339 time with an offset, like 2026-11-29T15:00:00.000Z";

    /// The instant `ms` milliseconds after 1970.
    pub const fn from_ms(ms: i64) -> Self {
        Self(ms)
    }

    /// Milliseconds since 1970.
    pub const fn as_ms(self) -> i64 {
        self.0
    }

    /// This instant `ms` milliseconds later (earlier where negative), held inside the range of i64.
    #[must_use]
    pub const fn plus_ms(self, ms: i64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// Reads RFC 3339 with any offset. Digits past milliseconds are cut; a second of 60, dates that
    /// do not exist, years outside 0001 to 9999 and texts without an offset are refused.
    ///
    /// # Errors
    /// [`ParseTimestampError`] for everything else.
    pub fn parse(text: &str) -> Result<Self, ParseTimestampError> {
        if !has_rfc3339_shape(text) {
            return Err(ParseTimestampError);
        }
        let instant: jiff::Timestamp = text.parse().map_err(|_| ParseTimestampError)?;
        // Milliseconds are cut, not rounded, before 1970 too.
        let ms = instant.as_nanosecond().div_euclid(1_000_000) as i64;
        // An offset may lead out of the years that we read, and what is taken is shown to be sent again.
        if ms < EARLIEST_MS { Err(ParseTimestampError) } else { Ok(Self(ms)) }
    }
}

/// 0001-01-01T00:00:00Z, in ms since 1970.
const EARLIEST_MS: i64 = -62_135_596_800_000;

/// RFC 3339's own shape: libraries take more (weeks, commas, missing seconds, `:60`).
fn has_rfc3339_shape(text: &str) -> bool {
    let bytes = text.as_bytes();
    let shape = |at: usize, pattern: &[u8]| {
        bytes.len() >= at + pattern.len()
            && pattern.iter().zip(&bytes[at..]).all(|(p, b)| match p {
                b'd' => b.is_ascii_digit(),
                b'T' => matches!(b, b'T' | b't' | b' '),
                other => b == other,
            })
    };
    if !shape(0, b"dddd-dd-ddTdd:dd:dd") || &bytes[..4] == b"0000" || &bytes[17..19] == b"60" {
        return false;
    }
    let mut at = 19;
    if bytes.get(at) == Some(&b'.') {
        let digits = bytes[at + 1..].iter().take_while(|b| b.is_ascii_digit()).count();
        if digits == 0 || digits > 9 {
            return false;
        }
        at += 1 + digits;
    }
    match &bytes[at..] {
        b"Z" | b"z" => true,
        offset => {
            offset.len() == 6
                && matches!(offset[0], b'+' | b'-')
                && shape(at + 1, b"dd:dd")
                && &offset[1..3] <= b"23"
                && &offset[4..] <= b"59"
        }
    }
}

impl fmt::Display for Timestamp {
    /// `2026-11-29T15:00:00.000Z`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Clamped: every instant that we store is far inside what the library can print.
        let instant = jiff::Timestamp::from_millisecond(self.0).unwrap_or(jiff::Timestamp::MAX);
        write!(f, "{instant:.3}")
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_milliseconds_and_z() {
        assert_eq!(Timestamp::from_ms(1_764_426_154_120).to_string(), "2025-11-29T14:22:34.120Z");
        assert_eq!(Timestamp::from_ms(0).to_string(), "1970-01-01T00:00:00.000Z");
    }

    #[test]
    fn any_offset_is_read_and_digits_past_milliseconds_are_cut() {
        let ms = |text| Timestamp::parse(text).map(Timestamp::as_ms);
        assert_eq!(ms("1970-01-01T01:00:00.1239+01:00"), Ok(123));
        assert_eq!(ms("1969-12-31T23:59:59.9999Z"), Ok(-1));
        assert_eq!(ms("1969-12-31T23:59:59Z"), Ok(-1_000));
        assert!(ms("9999-12-30T21:59:59Z").is_ok(), "the last day that we can print");
    }

    #[test]
    fn the_first_instant_that_is_taken_is_shown_as_one_that_is_taken() {
        let first = Timestamp::parse("0001-01-01T00:00:00Z").expect("it is taken");
        assert_eq!(Timestamp::parse(&first.to_string()), Ok(first));
        assert!(Timestamp::parse("0001-01-01T00:59:59.999+01:00").is_err(), "it is in the year 0");
        assert_eq!(Timestamp::parse("0001-01-01T01:00:00+01:00"), Ok(first));
    }

    #[test]
    fn what_is_no_instant_is_refused() {
        for bad in [
            "",
            "tomorrow",
            "+010000-01-01T00:00:00Z",
            "2026-02-30T00:00:00Z",
            "0000-00-00T00:00:00Z",
            "0000-01-01T00:00:00Z",
            "2026-06-30T23:59:60Z",
            "2026-06-30T23:59:59",
            "2026-06-30",
            "2026-06-30T23:59Z",
            "2026-06-30T23:59:59.Z",
            "2026-06-30T23:59:59+0100",
            "2026-06-30T23:59:59Z[UTC]",
            "2026-06-30T24:00:00Z",
        ] {
            assert_eq!(Timestamp::parse(bad), Err(ParseTimestampError), "{bad}");
        }
    }
}
