//! Names that people choose: of queues, streams and consumers, and their keys against repetition.
//!
//! Lives here: the checked types. Not here: ids that the engine makes (`id.rs`).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::limits::{
    CONSUMER_BYTES_MAX, DEDUPE_KEY_BYTES_MAX, IDEMPOTENCY_KEY_BYTES_MAX, QUEUE_NAME_BYTES_MAX,
    STREAM_NAME_BYTES_MAX,
};

/// Which rule a name breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected {rule}")]
pub struct InvalidName {
    /// The rule, in words: "1 to 128 of a-z 0-9 . _ -, ...".
    pub rule: &'static str,
}

/// A queue's unique name: `[a-z0-9][a-z0-9._-]{0,127}`, not beginning with `evq_`.
///
/// Queues made through the Redis door carry longer names, which the engine makes itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct QueueName(String);

impl QueueName {
    /// The rule, in words.
    pub const RULE: &'static str = "1 to 128 characters of a-z, 0-9, '.', '_', '-', the first a letter or digit, not beginning with evq_";

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for QueueName {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let fits = (1..=QUEUE_NAME_BYTES_MAX).contains(&text.len())
            && text.bytes().next().is_some_and(plain)
            && text.bytes().all(|byte| plain(byte) || b"._-".contains(&byte))
            && !text.starts_with("evq_");
        if fits { Ok(Self(text.to_owned())) } else { Err(InvalidName { rule: Self::RULE }) }
    }
}

/// Who holds or waits, as the consumer names itself: 1 to 128 printable ASCII bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ConsumerId(String);

impl ConsumerId {
    /// The rule, in words.
    pub const RULE: &'static str = "1 to 128 printable ASCII characters";

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ConsumerId {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let fits = (1..=CONSUMER_BYTES_MAX).contains(&text.len())
            && text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
        if fits { Ok(Self(text.to_owned())) } else { Err(InvalidName { rule: Self::RULE }) }
    }
}

/// A stream's name: 1 to 512 bytes of text without control characters, not `.` or `..`, which most clients
/// cannot send in a path, escaped or not.
///
/// Streams made through the Redis door may have any bytes in theirs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct StreamName(String);

impl StreamName {
    /// The rule, in words.
    pub const RULE: &'static str = "1 to 512 bytes of text without control characters, not . or ..";

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for StreamName {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let fits = (1..=STREAM_NAME_BYTES_MAX).contains(&text.len())
            && !text.chars().any(char::is_control)
            && !matches!(text, "." | "..");
        if fits { Ok(Self(text.to_owned())) } else { Err(InvalidName { rule: Self::RULE }) }
    }
}

/// An event's domain identity in its stream: 1 to 255 bytes of text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DedupeKey(String);

impl DedupeKey {
    /// The rule, in words.
    pub const RULE: &'static str = "a text of 1 to 255 bytes";

    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for DedupeKey {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let fits = (1..=DEDUPE_KEY_BYTES_MAX).contains(&text.len());
        if fits { Ok(Self(text.to_owned())) } else { Err(InvalidName { rule: Self::RULE }) }
    }
}

/// Names a caller's intention, so that its repetition gets the first answer: 1 to 255 visible ASCII
/// characters, in the header `Idempotency-Key`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// The rule, in words.
    pub const RULE: &'static str = "1 to 255 visible ASCII characters, given once";

    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for IdempotencyKey {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let fits = (1..=IDEMPOTENCY_KEY_BYTES_MAX).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_graphic());
        if fits { Ok(Self(text.to_owned())) } else { Err(InvalidName { rule: Self::RULE }) }
    }
}

macro_rules! text {
    ($name:ident) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidName;

            fn try_from(text: String) -> Result<Self, InvalidName> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0
            }
        }
    };
}
text!(QueueName);
text!(StreamName);
text!(ConsumerId);
text!(DedupeKey);
text!(IdempotencyKey);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queue_names_are_checked_at_the_edge() {
        for good in ["a", "0", "mail", "a.b_c-d", &"a".repeat(128), "evq"] {
            assert!(good.parse::<QueueName>().is_ok(), "{good}");
        }
        for bad in ["", "A", ".a", "-a", "_a", "a b", "a/b", "é", "evq_x", &"a".repeat(129)] {
            assert!(bad.parse::<QueueName>().is_err(), "{bad}");
        }
    }

    #[test]
    fn consumer_ids_are_checked_at_the_edge() {
        for good in ["w", "worker 1", "~", &"x".repeat(128)] {
            assert!(good.parse::<ConsumerId>().is_ok(), "{good}");
        }
        for bad in ["", "\n", "é", "\u{7f}", &"x".repeat(129)] {
            assert!(bad.parse::<ConsumerId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn stream_names_and_keys_are_checked_at_the_edge() {
        for good in ["s", "...", "Orders/EU", "é 😀", "evq_x", &"x".repeat(512)] {
            assert!(good.parse::<StreamName>().is_ok(), "{good}");
        }
        for bad in ["", ".", "..", "a\nb", "\u{7f}", "\u{85}", &"x".repeat(513)] {
            assert!(bad.parse::<StreamName>().is_err(), "{bad}");
        }
        assert!("x".repeat(255).parse::<DedupeKey>().is_ok());
        assert!("".parse::<DedupeKey>().is_err() && "x".repeat(256).parse::<DedupeKey>().is_err());
        for good in ["k", "\"8e03978e\"", "~!", &"x".repeat(255)] {
            assert!(good.parse::<IdempotencyKey>().is_ok(), "{good}");
        }
        for bad in ["", "a b", "é", "\t", &"x".repeat(256)] {
            assert!(bad.parse::<IdempotencyKey>().is_err(), "{bad}");
        }
    }
}
