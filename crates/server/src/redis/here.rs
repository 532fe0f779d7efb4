//! What a call does to its own connection, or asks of the server itself.
//!
//! Lives here: these calls as values. Not here: reading them (`commands`) and doing them (`run.rs`).

/// One such call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Here {
    /// Answer, then close the connection (`QUIT`).
    Quit,
}
