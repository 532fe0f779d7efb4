//! A salvage on disks that fail, and what must have come of it.
//!
//! Lives here: doing it, and judging it. Not here: which calls fail (`copies.rs`), and what is saved of what
//! is damaged (`tests/backup`).

use std::sync::Arc;

use naven_store::conformance::SeededRandom;
use naven_store::embedded::Pace;
use naven_store::embedded::backup::BackupError;
use naven_store::embedded::disk::{Disk, Fault, MemDisk};
use naven_store::embedded::salvage::{Salvaged, salvage};
use naven_store::embedded::storage_error::StorageError;
use naven_store::embedded::verify::verify;

use crate::copies::{Calls, Ran};
use crate::copying::{Props, all_are_there, has_struck, must_name, plan, since};
use crate::folder::contents;
use crate::script::try_open;

fn save(from: &Arc<MemDisk>, to: &Arc<MemDisk>) -> Result<Salvaged, BackupError> {
    let (from, to): (Arc<dyn Disk>, Arc<dyn Disk>) = (from.clone(), to.clone());
    salvage(from, Some(to), &SeededRandom::new(5), &mut |_| {})
}

/// The disk holds a sound store with every event.
fn must_be_whole(props: &Props, disk: &Arc<MemDisk>) -> Result<(), String> {
    let report = verify(disk.clone(), &mut |_| {}).map_err(|error| format!("verify: {error}"))?;
    if !report.findings.is_empty() {
        return Err(format!("verify: {:?}", report.findings));
    }
    let opened = try_open(disk, &props.clock(), Pace::NEVER);
    let (bench, _) = opened.map_err(|error| format!("it does not open: {error}"))?;
    all_are_there(&bench, &props.ids)
}

/// A salvage that failed leaves no store behind it, and the next one makes it.
fn must_begin_again(props: &Props, from: &Arc<MemDisk>, to: &Arc<MemDisk>) -> Result<(), String> {
    let started = Arc::new(to.copy());
    let is_untouched = to.names().iter().all(|name| name == "lock");
    let start = try_open(&started, &props.clock(), Pace::NEVER).map(drop);
    match (start, save(from, to)) {
        (Err(StorageError::NotOurs { .. }), Ok(_)) => {}
        // It failed before it began.
        (Ok(()), Ok(_)) if is_untouched => {}
        // It was a whole store already, and only its last mark is left.
        (Ok(()), Err(BackupError::Store(StorageError::NotEmpty { .. }))) if !is_untouched => {}
        (start, again) => return Err(format!("then a start: {start:?}, a salvage: {again:?}")),
    }
    must_be_whole(props, to)
}

/// A salvage of a folder whose disk fails.
pub(crate) fn saving_from(props: &Props, disk: &Arc<MemDisk>, fault: Option<Fault>) -> Result<Ran, String> {
    let (files, to) = (contents(disk), Arc::new(MemDisk::new()));
    let without = save(&Arc::new(disk.copy()), &Arc::new(MemDisk::new()));
    let usual = without.map_err(|error| format!("without a fault: {error}"))?.found;
    let before = plan(disk, fault);
    let went = save(disk, &to);
    let calls: Calls = since(disk, &before);
    disk.mend();
    if contents(disk) != files {
        return Err("something was written".to_owned());
    }
    let is_told = match &went {
        Ok(report) if report.found > usual => true,
        Ok(_) => {
            must_be_whole(props, &to)?;
            false
        }
        Err(error) => {
            let said = error.to_string();
            // The library can keep an error of the file to itself and only say at the next call that it had
            // one.
            let is_late = said.starts_with("cold.stale of 'cold.redb'");
            must_name(fault, &said).or_else(|why| if is_late { Ok(()) } else { Err(why) })?;
            must_begin_again(props, disk, &to)?;
            true
        }
    };
    if has_struck(fault, &calls) && !is_told {
        // What is read twice, or only to say how long it will be, may fail once.
        must_be_whole(props, &to)?;
    }
    Ok(Ran { calls, is_told })
}

/// A salvage onto a disk that fails.
pub(crate) fn saving_to(props: &Props, disk: &Arc<MemDisk>, fault: Option<Fault>) -> Result<Ran, String> {
    let from = Arc::new(props.store.copy());
    let before = plan(disk, fault);
    let went = save(&from, disk);
    let calls = since(disk, &before);
    disk.mend();
    match &went {
        Ok(_) => must_be_whole(props, disk)?,
        Err(error) => {
            must_name(fault, &error.to_string())?;
            must_begin_again(props, &from, disk)?;
        }
    }
    Ok(Ran { calls, is_told: went.is_err() })
}
