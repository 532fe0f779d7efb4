//! How the process ends: its exit codes and what it says last.
//!
//! Lives here: the codes, which scripts rely on, and the error that carries one. Not here: who picks
//! which code.

use std::fmt;
use std::process::ExitCode;

use naven_store::embedded::backup::BackupError;
use naven_store::embedded::storage_error::StorageError;

/// Why the process ends otherwise than well. The numbers are those of `sysexits.h` where it has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The command was carried out and failed.
    Failed = 1,
    /// The command line, the environment or the config file asks for what cannot be.
    Usage = 2,
    /// The data folder or the backup is not ours, is damaged or open to others, or a newer version wrote
    /// it; or `verify`, or a look of `salvage`, found something; or a folder that should be empty is not.
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

impl Exit {
    /// How a data folder that cannot be opened ends the process.
    pub(crate) fn of_storage(error: &StorageError) -> Self {
        match error {
            StorageError::NotOurs { .. }
            | StorageError::NotEmpty { .. }
            | StorageError::Newer { .. }
            | StorageError::Older { .. }
            | StorageError::OpenToOthers { .. }
            | StorageError::Damage { .. }
            | StorageError::DamagedRow { .. }
            | StorageError::Record { .. } => Self::NotOurs,
            StorageError::NoRoom(_) => Self::NoRoom,
            StorageError::Disk(_) | StorageError::Closed => Self::Storage,
            StorageError::InUse => Self::InUse,
        }
    }

    /// How a backup that cannot be taken ends the process.
    pub(crate) fn of_backup(error: &BackupError) -> Self {
        match error {
            BackupError::NotABackup { .. }
            | BackupError::OtherFormat { .. }
            | BackupError::Damaged { .. }
            | BackupError::CutShort { .. } => Self::NotOurs,
            BackupError::Store(StorageError::Disk(error)) if error.is_no_room() => Self::NoRoom,
            BackupError::Store(error) => Self::of_storage(error),
        }
    }
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
        f.write_str(&chain(&self.error))
    }
}

/// `error` and what caused it, on one line: of a connection no more than what went wrong at its end, and
/// nothing twice.
pub(crate) fn chain(error: &anyhow::Error) -> String {
    let links: Vec<_> = error.chain().collect();
    let is_of_a_connection = |link: &&(dyn std::error::Error + 'static)| {
        matches!(link.downcast_ref(), Some(naven_client::Error::Transport { .. }))
    };
    let kept = links.iter().position(is_of_a_connection).unwrap_or(links.len());
    let mut text = String::new();
    for (at, link) in links.iter().enumerate() {
        let link = link.to_string();
        let is_between = at > kept && at + 1 < links.len();
        // Some errors say their cause and name it as well.
        if is_between || (at > 0 && text.ends_with(&link)) {
            continue;
        }
        text.push_str(if at == 0 { "" } else { ": " });
        text.push_str(&link);
    }
    text
}

/// What nobody gave a code of its own is a plain failure.
impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::new(Exit::Failed, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_says_nothing_twice() {
        let error = anyhow::anyhow!("no such file").context("open: no such file").context("folder a");
        assert_eq!(chain(&error), "folder a: open: no such file");
        assert_eq!(chain(&anyhow::anyhow!("c").context("b").context("a")), "a: b: c");
    }
}
