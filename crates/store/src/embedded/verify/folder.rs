//! A data folder, from its meta to its last row.
//!
//! Lives here: the order of the checks, and the report. Not here: log (`log.rs`) and rows (`cold.rs`).

use std::sync::Arc;

use naven_api::limits::FINDINGS_MAX;

use super::{cold, log};
use crate::embedded::cold::{COLD_FILE, RESERVE_FILE};
use crate::embedded::disk::overlay::Overlay;
use crate::embedded::disk::{Disk, Site};
use crate::embedded::finding::Finding;
use crate::embedded::lock::{FolderLock, LOCK_FILE};
use crate::embedded::log::segment::LOG_FOLDER;
use crate::embedded::meta::{META_FILE, Meta, SECRET_FILE, Secret};
use crate::embedded::storage_error::StorageError;

/// What was found in a data folder.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// The store's id; none where even that cannot be read.
    pub store: Option<[u8; 16]>,
    /// The last place of the log that can be read.
    pub lsn: u64,
    /// Rows that were read.
    pub rows: u64,
    /// Segments of the log.
    pub segments: u64,
    /// Bytes of all files of a store.
    pub bytes: u64,
    /// Bytes of an unfinished tail, which the next start cuts off: no damage.
    pub tail_bytes: u64,
    /// What is wrong: at most [`FINDINGS_MAX`] are listed.
    pub findings: Vec<Finding>,
    /// How many there are.
    pub found: u64,
}

impl Report {
    pub(super) fn add(&mut self, finding: Finding) {
        self.found += 1;
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(finding);
        }
    }

    /// True where something was found at that place of a file before.
    pub(super) fn knows(&self, finding: &Finding) -> bool {
        self.findings.iter().any(|known| known.file == finding.file && known.offset == finding.offset)
    }
}

/// Reads everything in the data folder on `disk`, which no process may have open meanwhile; nothing is
/// written to it. `progress` is told of bytes that were read.
///
/// # Errors
/// `NotOurs`, `Newer`, `Older`; `InUse`; `Disk` where the folder cannot be read at all. What is damaged is
/// in the report.
pub fn verify(disk: Arc<dyn Disk>, progress: &mut dyn FnMut(u64)) -> Result<Report, StorageError> {
    let mut report = Report::default();
    count_bytes(&*disk, &mut report)?;
    let read_meta = || match Meta::read(&*disk) {
        Ok(None) => Err(StorageError::NotOurs { why: format!("there is no '{META_FILE}' in it") }),
        other => other,
    };
    // Looked at before the lock, as a start does.
    let meta = match read_meta() {
        Ok(meta) => meta.expect("a missing one was refused"),
        Err(error @ StorageError::Damage { .. }) => {
            report.add(Finding::of(&error, META_FILE));
            return Ok(report);
        }
        Err(error) => return Err(error),
    };
    let _lock = FolderLock::take(&*disk)?;
    report.store = Some(meta.store.0);
    if let Err(error) = Secret::read(&*disk) {
        report.add(Finding::of(&error, SECRET_FILE));
    }
    let over: Arc<dyn Disk> = Arc::new(Overlay::over(disk));
    let applied = cold::check(&over, &meta, &mut report, progress);
    log::check(&over, &meta, applied, &mut report, progress);
    Ok(report)
}

/// Counts the bytes of all files; one of ours that cannot even be opened is found here.
fn count_bytes(disk: &dyn Disk, report: &mut Report) -> Result<(), StorageError> {
    const COUNT: Site = Site("verify.count");
    for folder in ["", LOG_FOLDER] {
        let names = match disk.list(COUNT, folder) {
            Ok(names) => names,
            Err(error) if error.is_missing() && !folder.is_empty() => continue,
            Err(error) => return Err(error.into()),
        };
        for name in names {
            // The log's folder has no length of its own, and what is not ours may be unreadable.
            if folder.is_empty() && !is_own_file(&name) {
                continue;
            }
            let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
            match disk.open(COUNT, &path).and_then(|file| file.len(COUNT)) {
                Ok(len) => report.bytes += len,
                Err(error) => report.add(Finding::of(&error.into(), &path)),
            }
        }
    }
    Ok(())
}

/// True for what a store keeps beside its log, and what is left where making that was cut short.
fn is_own_file(name: &str) -> bool {
    let whole = name.strip_suffix(".new").unwrap_or(name);
    [META_FILE, SECRET_FILE, LOCK_FILE, COLD_FILE, RESERVE_FILE].contains(&whole)
}
