//! The whole way from a damaged folder to a new one.
//!
//! Lives here: the order of things, and the new folder's own files. Not here: rows and log (the files
//! beside this).
//!
//! The new store has an id of its own, a log that begins anew, a new secret and a higher key epoch: no file
//! and no token of the old one passes for its own.

use std::sync::Arc;

use naven_core::LeaseTime;

use super::copy::{Copied, copy};
use super::events::Mend;
use super::log::{Source, replay};
use super::owners::Owners;
use super::report::Salvaged;
use super::rows::Rows;
use super::{log, meta};
use crate::clock::Random;
use crate::embedded::backup::BackupError;
use crate::embedded::backup::new_folder::NewFolder;
use crate::embedded::cold::{Applied, COLD_FILE, Cold, Remains};
use crate::embedded::disk::Disk;
use crate::embedded::disk::overlay::Overlay;
use crate::embedded::finding::Finding;
use crate::embedded::lock::FolderLock;
use crate::embedded::meta::{Meta, StoreId};
use crate::embedded::storage_error::StorageError;
use crate::embedded::verify::{Report, cold as check};

/// Makes a store in the empty folder `to` of what can be read in `from`, which is not written to. Where
/// there is no `to` nothing is made, and the report says what could be read. No process may have either
/// open. `progress` is told of bytes that were read.
///
/// # Errors
/// `Store` with `NotOurs`, `NotEmpty`, `Newer`, `Older`, `InUse`, `Disk`; with `Damage` where nothing tells
/// which store it was.
pub fn salvage(
    from: Arc<dyn Disk>,
    to: Option<Arc<dyn Disk>>,
    random: &dyn Random,
    progress: &mut dyn FnMut(u64),
) -> Result<Salvaged, BackupError> {
    let mut report = Salvaged::default();
    let over: Arc<dyn Disk> = Arc::new(Overlay::over(Arc::clone(&from)));
    // Looked at before the lock, as a start does.
    meta::find(&over, &mut Salvaged::default())?;
    let _lock = FolderLock::take(&*from)?;
    let meta = meta::find(&over, &mut report)?;
    report.store = meta.store.0;
    let Some(to) = to else {
        look(&over, &meta, &mut report, progress)?;
        return Ok(report);
    };
    let folder = NewFolder::begin(Arc::clone(&to))?;
    let mut store = [0; 16];
    random.fill(&mut store);
    let made = Meta { store: StoreId(store), key_epoch: meta.key_epoch.saturating_add(1), ..meta };
    make(&over, (&meta, &made), &to, random, (&mut report, progress))?;
    folder.finish_with_new_log(&made, random)?;
    report.made = Some(store);
    Ok(report)
}

type Telling<'a> = (&'a mut Salvaged, &'a mut dyn FnMut(u64));

/// The rows that are left, and what they are of.
struct Left {
    copied: Copied,
    applied: Option<Applied>,
    clocks: Applied,
}

/// Says what could be saved.
fn look(
    over: &Arc<dyn Disk>,
    meta: &Meta,
    report: &mut Salvaged,
    progress: &mut dyn FnMut(u64),
) -> Result<(), StorageError> {
    use naven_api::limits::FINDINGS_MAX;
    let Left { copied, applied, clocks } = copy_all(over, meta, None, (report, progress))?;
    replay(&Source { disk: over, meta, applied, clocks }, None, report, progress)?;
    let (streams, queues) = (copied.seen.streams.into_values(), copied.seen.queues.into_values());
    let streams: Vec<_> = streams.filter(|seen| seen.is_there).map(|seen| seen.saved).collect();
    let queues: Vec<_> = queues.map(|seen| seen.saved).collect();
    (report.streams_found, report.queues_found) = (streams.len() as u64, queues.len() as u64);
    report.streams = streams.into_iter().take(FINDINGS_MAX).collect();
    report.queues = queues.into_iter().take(FINDINGS_MAX).collect();
    Ok(())
}

/// Puts the new cold store together, and proves that it is sound.
fn make(
    over: &Arc<dyn Disk>,
    (meta, made): (&Meta, &Meta),
    to: &Arc<dyn Disk>,
    random: &dyn Random,
    (report, progress): Telling<'_>,
) -> Result<(), StorageError> {
    let mut rows = Rows::over(Cold::open(Arc::clone(to), made)?)?;
    let left = copy_all(over, meta, Some(&mut rows), (report, progress))?;
    let Left { copied, applied, clocks } = left;
    let mut owners = Owners::find(&mut rows, &copied, (clocks.wall, random), report)?;
    // On a whole store this changes nothing, which a test holds it to.
    mend(&mut rows, (&mut owners, &copied, &mut *report))?;
    let source = Source { disk: over, meta, applied, clocks };
    let (rows, at) = replay(&source, Some(rows), report, progress)?;
    let mut rows = rows.expect("rows went in");
    let lost = |no: u32| owners.streams.get(&no).is_some_and(|stream| stream.is_head_lost);
    if owners.streams.values().any(|stream| stream.is_head_lost) {
        log::jump_heads(&mut rows, lost)?;
    }
    let again: Vec<(u32, u64)> = owners.queues.iter().map(|(no, queue)| (*no, queue.again)).collect();
    // The log may have removed some of them since.
    let nothing = Copied::default();
    let mut owners = Owners::find(&mut rows, &nothing, (clocks.wall, random), &mut Salvaged::default())?;
    for (no, again) in again {
        owners.queues.entry(no).and_modify(|queue| queue.again = again);
    }
    let mut mend = Mend { owners: &mut owners, copied: &copied, report };
    mend.count(&mut rows)?;
    mend.owners.write(&mut rows)?;
    rows.write(Applied { lsn: 0, ..at })?;
    drop(rows);
    prove(to, made, progress)
}

fn mend(
    rows: &mut Rows,
    (owners, copied, report): (&mut Owners, &Copied, &mut Salvaged),
) -> Result<(), StorageError> {
    owners.write_names(rows, copied)?;
    let mut mend = Mend { owners, copied, report };
    mend.events(rows)?;
    mend.dealings(rows)?;
    mend.indexes(rows)?;
    if mend.report.found > 0 {
        mend.lost_dealings(rows)?;
    }
    mend.expiries(rows)?;
    mend.keys(rows)?;
    mend.consumers(rows)?;
    mend.audit_log(rows)?;
    mend.operations(rows)?;
    mend.count(rows)?;
    mend.owners.write(rows)
}

/// The check of `naven verify` has the last word.
fn prove(to: &Arc<dyn Disk>, made: &Meta, progress: &mut dyn FnMut(u64)) -> Result<(), StorageError> {
    let mut report = Report::default();
    check::check(to, made, &mut report, progress);
    match report.findings.first() {
        None => Ok(()),
        Some(finding) => {
            let key = finding.key.as_deref().unwrap_or_default();
            let table = finding.table.as_deref().unwrap_or_default();
            let what = format!("what was made of it is not sound: {table} {key}: {}", finding.what);
            Err(StorageError::damage(COLD_FILE, 0, what))
        }
    }
}

/// Copies the rows that are left.
fn copy_all(
    over: &Arc<dyn Disk>,
    meta: &Meta,
    to: Option<&mut Rows>,
    (report, progress): Telling<'_>,
) -> Result<Left, StorageError> {
    let nothing = |applied| Left { copied: Copied::default(), applied, clocks: Applied::default() };
    let remains = match Remains::open(over) {
        Ok(Some(remains)) => remains,
        Ok(None) => return Ok(nothing(Some(Applied::default()))),
        Err(StorageError::Disk(error)) => return Err(error.into()),
        Err(error) => {
            report.add(Finding::of(&error, COLD_FILE));
            // A log that begins at the beginning is enough.
            return Ok(nothing(Some(Applied::default())));
        }
    };
    if remains.store.is_some_and(|store| store != meta.store) {
        report.add(Finding::at(COLD_FILE, 0, "it is of another store: nothing is taken from it"));
        return Ok(nothing(Some(Applied::default())));
    }
    let applied = match remains.applied(meta.store) {
        Ok(applied) => Some(applied),
        Err(error @ StorageError::Newer { .. }) => return Err(error),
        Err(error) => {
            report.add(Finding::of(&error, COLD_FILE));
            None
        }
    };
    let copied = copy(&remains, to, report, progress)?;
    let seen = &copied.seen;
    let told = Applied { lsn: 0, wall: seen.newest, lease: LeaseTime::from_ms(seen.lease_end_ms) };
    Ok(Left { clocks: applied.unwrap_or(told), copied, applied })
}
