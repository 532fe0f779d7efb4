//! `naven restore`: a data folder made of a backup.
//!
//! Lives here: its arguments, and opening what was made. Not here: making it (`naven-store`), and taking
//! backups (`backup.rs`).

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::anyhow;
use clap::Args;
use naven_api::limits::BACKUP_PIECE_BYTES;
use naven_server::{SystemClock, SystemRandom};
use naven_store::Engine;
use naven_store::backup::Backup;
use naven_store::embedded::backup::{BackupError, Restoring, Summary, of_folder};
use naven_store::embedded::disk::RealDisk;
use naven_store::embedded::storage_error::StorageError;
use naven_store::embedded::{Embedded, Options};

use crate::backup::Done;
use crate::exit::{Exit, Failure};
use crate::print::Output;
use crate::progress::Progress;

/// Arguments of `naven restore`.
#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    /// The backup: a file that `naven backup` made, or a data folder that no server uses.
    source: PathBuf,

    /// The folder to make: it must be empty, or not there. What a restore that was cut short left in it
    /// is removed.
    #[arg(long, env = "NAVEN_DATA", value_name = "DIR")]
    data: PathBuf,

    /// How to print: table on a terminal and jsonl in a pipe, unless it is named.
    #[arg(long, value_enum)]
    output: Option<Output>,
}

/// Restores and prints what the backup held.
pub(crate) async fn run(args: RestoreArgs) -> Result<(), Failure> {
    let mut source = Source::open(&args.source)?;
    let mut made = Made::begin(&args.data)?;
    let mut progress = Progress::of("restore");
    while let Some(bytes) = source.next()? {
        made.restoring.feed(&bytes).map_err(|error| backup_failed(&args.source, error))?;
        progress.add(bytes.len() as u64, made.estimate());
    }
    drop(progress);
    let summary = made.finish().await?;
    let output = args.output.unwrap_or_else(Output::for_stdout);
    Ok(output.one(Some(&Done::of(&args.data, "folder", summary)), Done::lines)?)
}

/// Where a backup's bytes come from.
enum Source {
    File(PathBuf, File),
    /// A data folder at rest: it is read as a backup would be made of it, and not written to.
    Folder(PathBuf, Box<dyn Backup>),
}

impl Source {
    fn open(path: &Path) -> Result<Self, Failure> {
        if path.is_dir() {
            let opened = RealDisk::read_only(path).and_then(|disk| of_folder(Arc::new(disk)));
            let backup = opened.map_err(|error| backup_failed(path, error.into()))?;
            return Ok(Self::Folder(path.to_owned(), backup));
        }
        match File::open(path) {
            Ok(file) => Ok(Self::File(path.to_owned(), file)),
            Err(error) => Err(unreadable(path, error)),
        }
    }

    fn next(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        match self {
            Self::File(path, file) => {
                let mut bytes = vec![0; BACKUP_PIECE_BYTES];
                let count = file.read(&mut bytes).map_err(|error| unreadable(path, error))?;
                bytes.truncate(count);
                Ok((count > 0).then_some(bytes))
            }
            Self::Folder(path, backup) => {
                let piece = backup.next_piece();
                // What fails here is what lies in the folder.
                let piece = piece
                    .map_err(|error| Failure::new(Exit::NotOurs, anyhow!("{}: {error}", path.display())))?;
                Ok(piece.map(|piece| piece.to_vec()))
            }
        }
    }
}

fn unreadable(path: &Path, error: std::io::Error) -> Failure {
    Failure::new(Exit::Storage, anyhow!("{}: {error}", path.display()))
}

/// A data folder in the making.
pub(crate) struct Made {
    folder: PathBuf,
    disk: Arc<RealDisk>,
    restoring: Restoring,
}

impl Made {
    /// Takes an empty folder, or one that is not there.
    ///
    /// # Errors
    /// With the exit code that says why it cannot be taken.
    pub(crate) fn begin(folder: &Path) -> Result<Self, Failure> {
        let disk = RealDisk::open(folder).map_err(|error| backup_failed(folder, error.into()))?;
        let disk = Arc::new(disk);
        let restoring = Restoring::begin(Arc::<RealDisk>::clone(&disk));
        let restoring = restoring.map_err(|error| backup_failed(folder, error))?;
        Ok(Self { folder: folder.to_owned(), disk, restoring })
    }

    /// The backup's next bytes.
    ///
    /// # Errors
    /// What is wrong with them.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.restoring.feed(bytes).map_err(|error| backup_failed(&self.folder, error))
    }

    /// About how many bytes will come.
    pub(crate) fn estimate(&self) -> Option<u64> {
        self.restoring.estimate()
    }

    /// Makes it a store, and opens and closes that once, as a server does.
    ///
    /// # Errors
    /// Where the backup was not whole; where the store does not open.
    pub(crate) async fn finish(self) -> Result<Summary, Failure> {
        let Self { folder, disk, restoring } = self;
        let failed = |error| backup_failed(&folder, error);
        let summary = restoring.finish(&SystemRandom).map_err(failed)?;
        let (clock, random) = (Arc::new(SystemClock::new()), Arc::new(SystemRandom));
        let engine = Embedded::open(disk, Options::default(), clock, random);
        let engine = engine.map_err(|error: StorageError| failed(error.into()))?;
        engine.close().await;
        Ok(summary)
    }
}

/// A backup, or a folder made of one, that cannot be taken.
pub(crate) fn backup_failed(path: &Path, error: BackupError) -> Failure {
    let exit = Exit::of_backup(&error);
    Failure::new(exit, anyhow::Error::new(error).context(path.display().to_string()))
}
