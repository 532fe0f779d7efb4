//! Where something stands in a stream.
//!
//! Lives here: an entry's id and where a queue begins to read. Not here: places as engines keep them
//! (`naven-store`).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// An entry's id: its place in its stream, `ms-seq`, strictly rising.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct EntryId {
    /// Milliseconds since 1970.
    pub ms: u64,
    /// Number within the millisecond.
    pub seq: u64,
}

/// Why a text is not an entry's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected {}", EntryId::RULE)]
pub struct ParseEntryIdError;

impl EntryId {
    /// The rule, in words.
    pub const RULE: &'static str = "an entry's id, like 1764426154123-0";
}

impl FromStr for EntryId {
    type Err = ParseEntryIdError;

    fn from_str(text: &str) -> Result<Self, ParseEntryIdError> {
        let (ms, seq) = text.split_once('-').ok_or(ParseEntryIdError)?;
        let number = |digits: &str| {
            // The library would take a sign.
            let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
            digits.parse().ok().filter(|_| plain).ok_or(ParseEntryIdError)
        };
        Ok(Self { ms: number(ms)?, seq: number(seq)? })
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.ms, self.seq)
    }
}

impl TryFrom<String> for EntryId {
    type Error = ParseEntryIdError;

    fn try_from(text: String) -> Result<Self, ParseEntryIdError> {
        text.parse()
    }
}

impl From<EntryId> for String {
    fn from(id: EntryId) -> String {
        id.to_string()
    }
}

/// Where in its stream a new queue begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(into = "String")]
pub enum StartFrom {
    /// Behind the last entry: only what comes from now on.
    New,
    /// At the first entry that is kept.
    Start,
    /// At the first entry whose place is at or after this instant.
    Time(Timestamp),
    /// Behind this entry, which need not be there any more.
    After(EntryId),
}

impl StartFrom {
    /// The rule, in words.
    pub const RULE: &'static str =
        "\"new\", \"start\", an RFC 3339 time, or an entry's id like 1764426154123-0";

    /// What `text` says.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "new" => Some(Self::New),
            "start" => Some(Self::Start),
            _ => {
                let after = text.parse().ok().map(Self::After);
                after.or_else(|| Timestamp::parse(text).ok().map(Self::Time))
            }
        }
    }
}

impl From<StartFrom> for String {
    fn from(start: StartFrom) -> String {
        match start {
            StartFrom::New => "new".to_owned(),
            StartFrom::Start => "start".to_owned(),
            StartFrom::Time(at) => at.to_string(),
            StartFrom::After(id) => id.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_id_comes_back_from_its_text() {
        for text in ["0-0", "1764426154123-7", "18446744073709551615-18446744073709551615"] {
            assert_eq!(text.parse::<EntryId>().map(|id| id.to_string()), Ok(text.to_owned()));
        }
        for bad in
            ["", "-", "1", "1-", "-1", "1-2-3", "+1-0", "1-+0", "1-a", "18446744073709551616-0", " 1-0"]
        {
            assert!(bad.parse::<EntryId>().is_err(), "{bad}");
        }
        assert!("2-0".parse::<EntryId>().unwrap() > "1-9".parse::<EntryId>().unwrap());
    }

    #[test]
    fn a_start_is_a_word_a_time_or_an_id() {
        let after = EntryId { ms: 5, seq: 1 };
        for (text, start) in [
            ("new", StartFrom::New),
            ("start", StartFrom::Start),
            ("1970-01-01T00:00:01.000Z", StartFrom::Time(Timestamp::from_ms(1_000))),
            ("5-1", StartFrom::After(after)),
        ] {
            assert_eq!(StartFrom::parse(text), Some(start), "{text}");
            assert_eq!(String::from(start), text);
        }
        for bad in ["", "New", "end", "$", "2026-01-01", "5"] {
            assert_eq!(StartFrom::parse(bad), None, "{bad}");
        }
    }
}
