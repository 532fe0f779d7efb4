//! What goes wrong between us and a Redis.
//!
//! Lives here: errors of single calls, and why a consumer ended that was not told to. Not here: which are repeated (`door.rs`).

use redis::RedisError;

/// A call to a Redis that did not succeed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// What was asked for cannot be.
    #[error("{why}")]
    Setup {
        /// Which setting breaks which rule.
        why: String,
    },
    /// There is no connection, or no answer came.
    #[error("{at} does not answer")]
    Unreachable {
        /// The server's address.
        at: String,
        /// True where the call may have arrived.
        may_have_arrived: bool,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The server answered with an error.
    #[error("{at} answered: {code} {said}")]
    Answered {
        /// The server's address.
        at: String,
        /// The first word of the answer, such as `NOGROUP`.
        code: String,
        /// The rest of it.
        said: String,
    },
    /// The answer is not one to what was asked.
    #[error("{at} answered what is not understood: {what}")]
    Unexpected {
        /// The server's address.
        at: String,
        /// What was looked for.
        what: String,
    },
}

/// Why a consumer ended that was not told to. A program that ends with it, and is started again by whoever watches over
/// it, is right.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConsumerError {
    /// What was asked for cannot be.
    #[error("{why}")]
    Setup {
        /// Which setting breaks which rule.
        why: String,
    },
    /// Entries are refused, and will be for as long as nobody changes something.
    #[error("entries of '{stream}' cannot be read by the group '{group}'")]
    Refused {
        /// The stream.
        stream: String,
        /// The group.
        group: String,
        /// The server's answer.
        source: Error,
    },
    /// The thread that keeps the leases panicked, which is a fault of this library.
    #[error("the thread that keeps the leases panicked: {why}")]
    Panicked {
        /// What it said.
        why: String,
    },
}

impl Error {
    pub(super) fn from_redis(at: &str, error: RedisError, may_have_arrived: bool) -> Self {
        let at = at.to_owned();
        match error.code() {
            Some(code) => {
                let said = error.detail().unwrap_or_default().to_owned();
                Self::Answered { at, code: code.to_owned(), said }
            }
            None => Self::Unreachable { at, may_have_arrived, source: error.into() },
        }
    }

    pub(super) fn no_answer(at: &str) -> Self {
        Self::Unreachable { at: at.to_owned(), may_have_arrived: true, source: "no answer in time".into() }
    }

    /// True where there is no such stream, or no such group of it. Inside of a script some versions put words of their own
    /// before those of the command.
    pub(super) fn is_no_group(&self) -> bool {
        let Self::Answered { code, said, .. } = self else { return false };
        // A reader is unblocked for other reasons too: its server is not the primary any more, or somebody asked for it.
        let is_gone = code == "UNBLOCKED" && said.contains("no longer exists");
        code == "NOGROUP" || is_gone || said.contains("NOGROUP")
    }

    /// True where the connection is of no use any more: it is broken, or leads to a server that takes no writes, or not
    /// those of this stream.
    pub(super) fn ends_connection(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Answered { code, said, .. } => {
                ["READONLY", "MOVED", "ASK", "CLUSTERDOWN"].contains(&code.as_str())
                    || said.contains("READONLY")
            }
            Self::Setup { .. } | Self::Unexpected { .. } => false,
        }
    }

    /// True where nobody is let in, or not for this.
    pub(super) fn is_refusal(&self) -> bool {
        match self {
            Self::Answered { code, said, .. } => {
                ["NOAUTH", "NOPERM", "WRONGPASS"].contains(&code.as_str()) || said.contains("NOPERM")
            }
            // So the connection's own greeting was answered.
            Self::Unreachable { source, .. } => source
                .downcast_ref::<RedisError>()
                .is_some_and(|error| error.kind() == redis::ErrorKind::AuthenticationFailed),
            Self::Setup { .. } | Self::Unexpected { .. } => false,
        }
    }

    /// True where the same call can never succeed.
    pub(super) fn is_for_good(&self) -> bool {
        match self {
            Self::Setup { .. } => true,
            Self::Answered { code, said, .. } => {
                code == "WRONGTYPE"
                    || code == "CROSSSLOT"
                    || said.contains("WRONGTYPE")
                    || said.starts_with("unknown command")
            }
            Self::Unreachable { .. } | Self::Unexpected { .. } => false,
        }
    }

    /// True where the call may have taken effect.
    pub(super) fn may_have_applied(&self) -> bool {
        match self {
            Self::Unreachable { may_have_arrived, .. } => *may_have_arrived,
            Self::Unexpected { .. } => true,
            Self::Setup { .. } | Self::Answered { .. } => false,
        }
    }
}
