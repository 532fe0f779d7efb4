//! Ids: a prefix and 26 base32 characters, sortable by creation, never a permission.
//!
//! Lives here: the id types and their text. Not here: who makes them (the engine that stores the
//! thing) and names (`name.rs`).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::base32;

/// Why a text is not an id. Callers answer "not found": an id that does not parse names nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an id: expected {prefix} and 26 base32 characters")]
pub struct ParseIdError {
    prefix: &'static str,
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(u128);

        impl $name {
            /// What the text begins with.
            pub const PREFIX: &'static str = $prefix;

            /// The id made of these bits.
            pub const fn from_bits(bits: u128) -> Self {
                Self(bits)
            }

            /// The 128 bits behind the text.
            pub const fn bits(self) -> u128 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}{}", $prefix, base32::encode_u128(self.0))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = ParseIdError;

            fn from_str(text: &str) -> Result<Self, ParseIdError> {
                text.strip_prefix($prefix)
                    .and_then(base32::decode_u128)
                    .map(Self)
                    .ok_or(ParseIdError { prefix: $prefix })
            }
        }

        impl TryFrom<String> for $name {
            type Error = ParseIdError;

            fn try_from(text: String) -> Result<Self, ParseIdError> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.to_string()
            }
        }
    };
}

id!(
    /// An event. 48 bits of publish time (ms since 1970), then 80 bits by which the engine finds
    /// the event without an index.
    EventId,
    "evt_"
);
id!(
    /// A queue (UUIDv7). New at each creation: a queue deleted and made again under the same name
    /// has another.
    QueueId,
    "evq_"
);
id!(
    /// A bearer key (UUIDv7).
    KeyId,
    "key_"
);

id!(
    /// An operation (UUIDv7).
    OperationId,
    "op_"
);

impl EventId {
    /// The id of the event published at `published_ms` whose place the engine finds by `locator`
    /// (80 bits). Times before 1970 or past 48 bits are clamped: the time only serves sorting.
    pub fn new(published_ms: i64, locator: u128) -> Self {
        let time = published_ms.clamp(0, (1 << 48) - 1) as u128;
        Self((time << 80) | (locator & ((1 << 80) - 1)))
    }

    /// When the event was published, in ms since 1970.
    pub fn published_ms(self) -> i64 {
        (self.0 >> 80) as i64
    }

    /// The 80 bits by which the engine that made the id finds the event.
    pub fn locator(self) -> u128 {
        self.0 & ((1 << 80) - 1)
    }
}

/// The bits of a UUIDv7 made at `wall_ms` from 128 random bits.
pub fn uuid_v7_bits(wall_ms: i64, random: u128) -> u128 {
    let time = (wall_ms.clamp(0, (1 << 48) - 1) as u128) << 80;
    let version = 7u128 << 76;
    let variant = 2u128 << 62;
    let keep = !((0xffff_ffff_ffffu128 << 80) | (0xf << 76) | (3 << 62));
    time | version | variant | (random & keep)
}

/// The same, above `last`: where the clock stands or has stepped back, the time in it is one millisecond later
/// than that of `last`.
pub fn uuid_v7_bits_above(last: u128, drawn: u128) -> u128 {
    if drawn > last {
        return drawn;
    }
    let last_ms = i64::try_from(last >> 80).unwrap_or(i64::MAX);
    uuid_v7_bits(last_ms + 1, drawn)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_comes_back_from_its_text() {
        let id = EventId::new(1_764_426_154_123, 0x1234_5678_9abc_def0_1234);
        let text = id.to_string();
        assert_eq!(text.len(), 30);
        assert_eq!(text.parse(), Ok(id));
        assert_eq!(id.published_ms(), 1_764_426_154_123);
        assert_eq!(id.locator(), 0x1234_5678_9abc_def0_1234);
    }

    #[test]
    fn another_prefix_is_refused() {
        let text = QueueId::from_bits(7).to_string();
        assert!(text.parse::<EventId>().is_err());
        assert!("evt_".parse::<EventId>().is_err());
        assert!("no-such-event".parse::<EventId>().is_err());
    }

    #[test]
    fn a_uuid_v7_has_its_time_version_and_variant() {
        let bits = uuid_v7_bits(0x0123_4567_89ab, u128::MAX);
        assert_eq!(bits >> 80, 0x0123_4567_89ab);
        assert_eq!((bits >> 76) & 0xf, 7);
        assert_eq!((bits >> 62) & 3, 2);
    }

    #[test]
    fn an_id_above_the_last_is_so_whatever_the_clock_does() {
        let last = uuid_v7_bits(5_000, u128::MAX);
        for wall_ms in [0, 4_999, 5_000, 5_001] {
            let drawn = uuid_v7_bits(wall_ms, 7);
            let bits = uuid_v7_bits_above(last, drawn);
            assert!(bits > last, "at {wall_ms} ms");
            assert_eq!((bits >> 76) & 0xf, 7);
            assert_eq!(bits >> 80, 5_001);
        }
        assert_eq!(uuid_v7_bits_above(last, uuid_v7_bits(6_000, 7)), uuid_v7_bits(6_000, 7));
    }

    #[test]
    fn ids_sort_by_time() {
        assert!(EventId::new(1, u128::MAX) < EventId::new(2, 0));
        assert!(EventId::new(1, 9).to_string() < EventId::new(2, 0).to_string());
    }
}
