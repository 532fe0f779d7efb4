//! Why an import cannot go on.
//!
//! Lives here: what ends it, and what ends one stream only. Not here: exit codes (`exit.rs`).

use std::fmt;

/// Why something was not done.
#[derive(Debug)]
pub(super) enum Trouble {
    /// A side is gone, or speaks another language: nothing further can be done.
    Broken(String),
    /// A side refused, or the stream is not as it should be: other streams are not touched by it.
    Refused(String),
}

impl Trouble {
    pub(super) fn refused(why: impl fmt::Display) -> Self {
        Self::Refused(why.to_string())
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broken(why) | Self::Refused(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Trouble {}
