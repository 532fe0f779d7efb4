//! The lease token as it travels: an opaque text, a secret.
//!
//! Lives here: its type and shape. Not here: making and checking it (`naven-store`, which has the key).

use std::fmt;

use serde::{Deserialize, Serialize};

/// Proof that its bearer holds a lease. Compared by the engine, never logged: `Debug` hides it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LeaseToken(String);

impl LeaseToken {
    /// Any text may be handed in as a token; whether it is one, the engine says.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The secret itself, for the wire.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for LeaseToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LeaseToken(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_hides_the_secret() {
        assert_eq!(format!("{:?}", LeaseToken::new("secret")), "LeaseToken(..)");
    }
}
