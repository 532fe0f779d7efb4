//! How the process ends: its exit codes and what it says last.
//!
//! Lives here: the codes, which scripts rely on, and the error that carries one. Not here: who picks
//! which code.

use std::fmt;
use std::process::ExitCode;

/// Why the process ends otherwise than well. The numbers are those of `sysexits.h` where it has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The command was carried out and failed.
    Failed = 1,
    /// The command line, the environment or the config file asks for what cannot be.
    Usage = 2,
    /// The data folder is not ours, is damaged or open to others, or a newer version wrote it.
    NotOurs = 65,
    /// An address to listen on cannot be had: mostly another process has it.
    AddressTaken = 69,
    /// There is no room to make a new store.
    NoRoom = 73,
    /// The storage failed.
    Storage = 74,
    /// Another process uses the data folder.
    InUse = 75,
}

/// An error and the exit code that it ends the process with.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    error: anyhow::Error,
}

impl Failure {
    /// `error`, ending the process with `exit`.
    pub(crate) fn new(exit: Exit, error: impl Into<anyhow::Error>) -> Self {
        Self { exit, error: error.into() }
    }

    /// A usage error that says `why`.
    pub(crate) fn usage(why: impl fmt::Display) -> Self {
        Self::new(Exit::Usage, anyhow::anyhow!("{why}"))
    }

    /// The process' exit code.
    pub(crate) fn code(&self) -> ExitCode {
        ExitCode::from(self.exit as u8)
    }
}

impl fmt::Display for Failure {
    /// The error and what caused it, on one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#}", self.error)
    }
}

/// What nobody gave a code of its own is a plain failure.
impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::new(Exit::Failed, error)
    }
}
