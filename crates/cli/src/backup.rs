//! `naven backup`: everything of a running server, in one file or in a data folder.
//!
//! Lives here: its arguments, where the bytes go, and what it prints. Not here: taking them from the
//! server (`naven-client`), what is in them (`naven-store`), and opening a folder made of them
//! (`restore.rs`).

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use naven_store::embedded::backup::{Checker, Summary, is_backup};
use serde::Serialize;

use crate::connection::Connection;
use crate::exit::{Exit, Failure};
use crate::print::Lines;
use crate::progress::Progress;
use crate::restore::{Made, backup_failed};

/// Arguments of `naven backup`.
#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    /// Where to: a file, which a backup that is there already makes way for; or an empty folder, where
    /// it ends in / or is one already, which becomes a data folder that can be served.
    target: PathBuf,

    #[command(flatten)]
    connection: Connection,
}

/// What was made.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Done {
    pub(crate) target: String,
    pub(crate) kind: &'static str,
    pub(crate) store: String,
    pub(crate) bytes: u64,
    pub(crate) rows: u64,
    pub(crate) upto_lsn: u64,
}

impl Done {
    pub(crate) fn of(target: &Path, kind: &'static str, summary: Summary) -> Self {
        let store = summary.store.iter().map(|byte| format!("{byte:02x}")).collect();
        let Summary { bytes, rows, upto, .. } = summary;
        Self { target: target.display().to_string(), kind, store, bytes, rows, upto_lsn: upto }
    }

    pub(crate) fn lines(&self) -> Lines {
        vec![
            ("target", self.target.clone()),
            ("kind", self.kind.to_owned()),
            ("store", self.store.clone()),
            ("bytes", self.bytes.to_string()),
            ("rows", self.rows.to_string()),
            ("upto lsn", self.upto_lsn.to_string()),
        ]
    }
}

/// Takes a backup and prints what it holds.
pub(crate) async fn run(args: BackupArgs) -> Result<(), Failure> {
    let client = args.connection.client()?;
    // Refused before anything is asked of the server.
    let mut target = Target::open(&args.target)?;
    let mut progress = Progress::of("backup");
    let mut stream = client.backup().await?;
    while let Some(bytes) = stream.next().await? {
        target.take(&bytes)?;
        progress.add(bytes.len() as u64, target.estimate());
    }
    drop(progress);
    let done = target.finish(&args.target).await?;
    Ok(args.connection.output().one(Some(&done), Done::lines)?)
}

enum Target {
    File(Box<Passing>),
    Folder(Box<Made>),
}

impl Target {
    fn open(path: &Path) -> Result<Self, Failure> {
        let ends_as_folder = path.as_os_str().as_encoded_bytes().ends_with(b"/");
        if ends_as_folder || path.is_dir() {
            return Ok(Self::Folder(Box::new(Made::begin(path)?)));
        }
        Ok(Self::File(Box::new(Passing::open(path)?)))
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        match self {
            Self::File(file) => file.take(bytes),
            Self::Folder(folder) => folder.take(bytes),
        }
    }

    fn estimate(&self) -> Option<u64> {
        match self {
            Self::File(file) => file.checker.estimate(),
            Self::Folder(folder) => folder.estimate(),
        }
    }

    async fn finish(self, path: &Path) -> Result<Done, Failure> {
        match self {
            Self::File(file) => Ok(Done::of(path, "file", file.finish(path)?)),
            Self::Folder(folder) => Ok(Done::of(path, "folder", folder.finish().await?)),
        }
    }
}

/// A backup's file under a passing name, so that the real one is always whole. Dropped before it is
/// finished, it is removed.
struct Passing {
    checker: Checker,
    file: File,
    name: PathBuf,
}

impl Passing {
    fn open(path: &Path) -> Result<Self, Failure> {
        refuse_another_file(path)?;
        let Some(file_name) = path.file_name() else {
            return Err(Failure::usage(format!("{}: not the name of a file", path.display())));
        };
        let mut passing = file_name.to_owned();
        passing.push(".new");
        let name = path.with_file_name(passing);
        // It holds payloads: its owner's alone.
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(true).mode(0o600).open(&name);
        let file = file.map_err(|error| failed(&name, error))?;
        Ok(Self { checker: Checker::new(), file, name })
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.checker.feed(bytes).map_err(|error| backup_failed(&self.name, error))?;
        self.file.write_all(bytes).map_err(|error| failed(&self.name, error))
    }

    fn finish(mut self, path: &Path) -> Result<Summary, Failure> {
        let checker = std::mem::take(&mut self.checker);
        let summary = checker.finish().map_err(|error| backup_failed(path, error))?;
        self.file.sync_all().map_err(|error| failed(&self.name, error))?;
        std::fs::rename(&self.name, path).map_err(|error| failed(path, error))?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| failed(folder, error))?;
        Ok(summary)
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        // After it was renamed there is nothing of this name.
        let _ = std::fs::remove_file(&self.name);
    }
}

/// Only a backup makes way for a backup: a mistyped name must not cost a file.
fn refuse_another_file(path: &Path) -> Result<(), Failure> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(path, error)),
    };
    let mut first = Vec::new();
    Read::by_ref(&mut file).take(8).read_to_end(&mut first).map_err(|error| failed(path, error))?;
    if is_backup(&first) {
        return Ok(());
    }
    Err(Failure::usage(format!("{}: it is there and is no backup: name another file", path.display())))
}

fn failed(path: &Path, error: std::io::Error) -> Failure {
    let failed: anyhow::Result<()> = Err(error).with_context(|| path.display().to_string());
    Failure::new(Exit::Storage, failed.expect_err("it is one"))
}
