//! Durations on the wire: whole seconds, each with its own bounds.
//!
//! Lives here: the checked types. Not here: instants (`time.rs`).

use serde::{Deserialize, Serialize};

use crate::limits;

/// A number outside its bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected an integer from {min} to {max}, found {found}")]
pub struct OutOfRange {
    /// The number that was given.
    pub found: u32,
    /// The smallest that is taken.
    pub min: u32,
    /// The largest that is taken.
    pub max: u32,
}

macro_rules! seconds {
    ($(#[$doc:meta])* $name:ident, $min:expr, $max:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "u32", into = "u32")]
        pub struct $name(u32);

        impl $name {
            /// The smallest value.
            pub const MIN: u32 = $min;
            /// The largest value.
            pub const MAX: u32 = $max;

            /// The seconds as a number.
            pub const fn get(self) -> u32 {
                self.0
            }

            /// The same span in milliseconds.
            pub const fn as_ms(self) -> i64 {
                self.0 as i64 * 1_000
            }
        }

        impl TryFrom<u32> for $name {
            type Error = OutOfRange;

            fn try_from(found: u32) -> Result<Self, OutOfRange> {
                if (Self::MIN..=Self::MAX).contains(&found) {
                    Ok(Self(found))
                } else {
                    Err(OutOfRange { found, min: Self::MIN, max: Self::MAX })
                }
            }
        }

        impl From<$name> for u32 {
            fn from(value: $name) -> u32 {
                value.0
            }
        }
    };
}

seconds!(
    /// How long a lease holds: 1 to 43,200 s (12 hours).
    LeaseSeconds, limits::LEASE_SECONDS_MIN, limits::LEASE_SECONDS_MAX
);
seconds!(
    /// How long a claim waits for an event: 0 to 60 s.
    WaitSeconds, 0, limits::WAIT_SECONDS_MAX
);
seconds!(
    /// How long a publish or a retry is put off: 0 to 315,360,000 s (ten years).
    DelaySeconds, 0, limits::DELAY_SECONDS_MAX
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_hold_at_the_edge_and_one_past_it() {
        assert!(LeaseSeconds::try_from(0).is_err());
        assert_eq!(LeaseSeconds::try_from(1).map(LeaseSeconds::as_ms), Ok(1_000));
        assert_eq!(LeaseSeconds::try_from(43_200).map(LeaseSeconds::get), Ok(43_200));
        assert!(LeaseSeconds::try_from(43_201).is_err());
        assert!(WaitSeconds::try_from(60).is_ok());
        assert!(WaitSeconds::try_from(61).is_err());
        assert!(DelaySeconds::try_from(315_360_000).is_ok());
        assert!(DelaySeconds::try_from(315_360_001).is_err());
    }
}
