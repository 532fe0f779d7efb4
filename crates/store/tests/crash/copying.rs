//! Backups, restores, checks and openings on a disk that fails, and what must have come of them.
//!
//! Lives here: doing each, and judging it. Not here: which calls fail (`copies.rs`).

use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use naven_api::{EventId, Timestamp};
use naven_store::conformance::bench::append;
use naven_store::conformance::{Bench, ManualClock};
use naven_store::embedded::Pace;
use naven_store::embedded::backup::{BackupError, Checker, Restoring, of_folder};
use naven_store::embedded::disk::{Disk, Fault, Flaw, Lasts, MemDisk, Site};
use naven_store::embedded::folder::{Folder, NewStore};
use naven_store::embedded::meta::{Secret, StoreId};
use naven_store::embedded::storage_error::StorageError;
use naven_store::embedded::verify::verify;
use naven_store::read::Read;
use naven_store::reply::OpReply;
use naven_store::txn::Due;
use naven_store::{Engine, Health};

use crate::audit::{State, state};
use crate::copies::{Calls, Ran};
use crate::folder::{contents, restore, scripted, whole};
use crate::script::try_open;

/// What is copied, checked and opened.
pub(crate) struct Props {
    /// A store at rest, with rows and a log behind them.
    pub(crate) store: MemDisk,
    /// The same, with a `meta` that cannot be read.
    pub(crate) without_meta: MemDisk,
    /// A folder in which a restore was cut short.
    pub(crate) cut_short: MemDisk,
    /// A folder whose making was cut short.
    pub(crate) half_made: MemDisk,
    /// A backup of the store.
    backup: Vec<u8>,
    pub(crate) ids: Vec<EventId>,
    wall: Timestamp,
    /// How many rows a check reads.
    rows: u64,
    /// What can be seen of the store.
    state: State,
}

impl Props {
    pub(crate) fn make() -> Self {
        let disk = Arc::new(MemDisk::new());
        let mut store = scripted(&disk, 40);
        for _ in 0..30 {
            store.publish(3_000);
        }
        store.engine.make_checkpoint().expect("the disk is well");
        for _ in 0..40 {
            store.publish(3_000);
        }
        let (backup, wall) = (whole(store.backup()), store.bench.wall());
        let (ids, state) = (store.ids.clone(), state(&store.bench, &store.ids));
        wait_for_spares(&disk);
        drop(store);
        let cut_short = Arc::new(MemDisk::new());
        let on: Arc<dyn Disk> = cut_short.clone();
        let mut restoring = Restoring::begin(on).expect("an empty folder is taken");
        restoring.feed(&backup[..backup.len() * 3 / 4]).expect("so far it is whole");
        drop(restoring);
        let half_made = MemDisk::new();
        let (site, lasts, flaw) = (Site("meta.write"), Lasts::Once, Flaw::Io);
        half_made.fail(Fault { site, nth: 1, lasts, flaw });
        Folder::open(&half_made, new_store).expect_err("its making was cut short");
        let (store, cut_short) = (disk.copy(), cut_short.copy());
        let without_meta = disk.copy();
        let mut meta = without_meta.peek("meta").expect("a store has it");
        meta[30] ^= 1;
        without_meta.plant("meta", &meta);
        let rows = verify(Arc::new(disk.copy()), &mut |_| {}).expect("it is a store").rows;
        Self { store, without_meta, cut_short, half_made, backup, ids, wall, rows, state }
    }

    pub(crate) fn clock(&self) -> Arc<ManualClock> {
        let clock = Arc::new(ManualClock::default());
        clock.set(self.wall, 0);
        clock
    }

    /// The disk holds the store, and all of it.
    fn must_be_on(&self, disk: &Arc<MemDisk>) -> Result<(), String> {
        let opened = try_open(disk, &self.clock(), Pace::NEVER);
        let (bench, _) = opened.map_err(|error| format!("it does not open: {error}"))?;
        if state(&bench, &self.ids) == self.state { Ok(()) } else { Err("it is not that store".to_owned()) }
    }

    /// These bytes are a backup that holds every event, and makes a store.
    fn must_hold_all(&self, bytes: &[u8]) -> Result<(), String> {
        let disk = Arc::new(MemDisk::new());
        restore(&disk, bytes).map_err(|error| format!("it is not taken: {error}"))?;
        let (bench, _) = try_open(&disk, &self.clock(), Pace::NEVER).map_err(|error| error.to_string())?;
        all_are_there(&bench, &self.ids)
    }
}

/// Waits until the log has all its spare segments, which it makes beside its work: an engine that opens the folder
/// then makes none, so that no call of the disk is counted but those of what is done with it.
fn wait_for_spares(disk: &MemDisk) {
    let spares = || disk.names().iter().filter(|name| name.ends_with(".spare")).count();
    // A minute at most, on a machine that is busy with other things.
    let all_are_there = (0..60_000).any(|_| {
        let are_there = spares() >= 3;
        if !are_there {
            sleep(Duration::from_millis(1));
        }
        are_there
    });
    assert!(all_are_there, "it makes no more spares: {} are there", spares());
}

fn new_store() -> NewStore {
    NewStore { store: StoreId([7; 16]), secret: Secret([1; 32]), segment_bytes: Some(64 << 10) }
}

pub(crate) fn all_are_there(bench: &Bench, ids: &[EventId]) -> Result<(), String> {
    for &event in ids {
        // The script may have deleted it, with its queue: what was there then is compared elsewhere.
        bench.read(Read::Event { event, payload: true }).map_err(|error| format!("{event}: {error}"))?;
    }
    Ok(())
}

/// Plans the fault, counted from now. Answers the calls so far.
pub(crate) fn plan(disk: &MemDisk, fault: Option<Fault>) -> Calls {
    let before = disk.sites();
    if let Some(fault) = fault {
        let so_far = before.get(&fault.site).copied().unwrap_or(0);
        disk.fail(Fault { nth: so_far + fault.nth, ..fault });
    }
    before
}

/// Calls since then.
pub(crate) fn since(disk: &MemDisk, before: &Calls) -> Calls {
    let now = disk.sites().into_iter();
    let new = now.map(|(site, calls)| (site, calls - before.get(&site).copied().unwrap_or(0)));
    new.filter(|(_, calls)| *calls > 0).collect()
}

/// An error says which call failed, and of which file.
pub(crate) fn must_name(fault: Option<Fault>, said: &str) -> Result<(), String> {
    let Some(fault) = fault else { return Err(format!("without a fault: {said}")) };
    if said.contains(fault.site.0) && said.contains(" of '") {
        return Ok(());
    }
    Err(format!("it does not say what failed: {said}"))
}

pub(crate) fn has_struck(fault: Option<Fault>, calls: &Calls) -> bool {
    fault.is_some_and(|fault| calls.get(&fault.site).is_some_and(|calls| *calls >= fault.nth))
}

/// Sites of the file that the engine serves from: what fails there ends it, and the log has all.
fn ends_the_engine(fault: Option<Fault>) -> bool {
    fault.is_some_and(|fault| fault.site.0.starts_with("cold."))
}

/// A backup of an engine that serves: between two pieces an event is published.
pub(crate) fn serving(props: &Props, disk: &Arc<MemDisk>, fault: Option<Fault>) -> Result<Ran, String> {
    let opened = try_open(disk, &props.clock(), Pace::NEVER);
    let (bench, engine) = opened.map_err(|error| format!("opening: {error}"))?;
    let (mut calls, mut bytes, mut ids) = (Calls::new(), Vec::new(), props.ids.clone());
    let mut before = plan(disk, fault);
    let mut backup = bench.block_on(engine.backup()).map_err(|refused| format!("refused: {refused}"))?;
    let ended = loop {
        let piece = backup.next_piece();
        since(disk, &before).into_iter().for_each(|(site, new)| *calls.entry(site).or_default() += new);
        match piece {
            Ok(Some(piece)) => bytes.extend_from_slice(&piece),
            Ok(None) => break Ok(()),
            Err(error) => break Err(error.to_string()),
        }
        match bench.ask(append("mail", "{}", Due::Now)) {
            Ok(OpReply::Event(view)) => ids.push(view.id),
            other if ends_the_engine(fault) => break Err(format!("publishing meanwhile: {other:?}")),
            other => return Err(format!("publishing meanwhile: {other:?}")),
        }
        before = disk.sites();
    };
    let is_told = ended.is_err();
    // How long it will be is only told to whoever waits.
    let may_pass = fault.is_some_and(|fault| fault.site == Site("backup.count"));
    if has_struck(fault, &calls) && !is_told && !may_pass {
        return Err("it went on all the same".to_owned());
    }
    match ended {
        Ok(()) => props.must_hold_all(&bytes)?,
        Err(why) => {
            must_name(fault, &why)?;
            must_not_pass(&bytes)?;
            if matches!(backup.next_piece(), Ok(Some(_))) {
                return Err("it goes on after it failed".to_owned());
            }
        }
    }
    drop(backup);
    disk.mend();
    if ends_the_engine(fault) && is_told {
        drop((bench, engine));
        let (bench, _) = try_open(disk, &props.clock(), Pace::NEVER).map_err(|error| error.to_string())?;
        all_are_there(&bench, &ids)?;
        return Ok(Ran { calls, is_told });
    }
    let is_well = *engine.health().borrow() == Health::Well;
    let published = bench.ask(append("mail", "{}", Due::Now));
    if !is_well || published.is_err() {
        return Err(format!("well: {is_well}; {published:?}"));
    }
    engine.make_checkpoint().map_err(|error| format!("the next checkpoint: {error}"))?;
    let next = bench.block_on(engine.backup()).map_err(|refused| format!("the next: {refused}"))?;
    props.must_hold_all(&whole(next))?;
    Ok(Ran { calls, is_told })
}

/// Bytes of a backup that failed are refused.
fn must_not_pass(bytes: &[u8]) -> Result<(), String> {
    let mut checker = Checker::new();
    let fed = checker.feed(bytes).and_then(|()| checker.finish());
    match fed {
        Err(BackupError::CutShort { at }) if at == bytes.len() as u64 => Ok(()),
        other => Err(format!("what came of it is said to be: {other:?}")),
    }
}

/// A backup of a folder that nobody uses.
pub(crate) fn resting(props: &Props, disk: &Arc<MemDisk>, fault: Option<Fault>) -> Result<Ran, String> {
    let (on, files): (Arc<dyn Disk>, _) = (disk.clone(), contents(disk));
    let before = plan(disk, fault);
    let mut bytes = Vec::new();
    let take = || {
        let mut backup = of_folder(on).map_err(|error| error.to_string())?;
        while let Some(piece) = backup.next_piece().map_err(|error| error.to_string())? {
            bytes.extend_from_slice(&piece);
        }
        Ok(())
    };
    let ended: Result<(), String> = take();
    let calls = since(disk, &before);
    disk.mend();
    match &ended {
        Ok(()) => props.must_hold_all(&bytes)?,
        Err(why) => {
            must_name(fault, why)?;
            must_not_pass(&bytes)?;
        }
    }
    if contents(disk) != files {
        return Err("something was written".to_owned());
    }
    Ok(Ran { calls, is_told: ended.is_err() })
}

/// A restore.
pub(crate) fn restoring(props: &Props, disk: &Arc<MemDisk>, fault: Option<Fault>) -> Result<Ran, String> {
    let before = plan(disk, fault);
    let went = restore(disk, &props.backup);
    let calls = since(disk, &before);
    disk.mend();
    let Err(error) = &went else {
        props.must_be_on(disk)?;
        return Ok(Ran { calls, is_told: false });
    };
    must_name(fault, &error.to_string())?;
    let started = Arc::new(disk.copy());
    let start = try_open(&started, &props.clock(), Pace::NEVER).map(drop);
    if start.is_ok() && started.peek("restoring").is_some() {
        return Err("a store that serves bears the mark of a restore".to_owned());
    }
    let is_untouched = disk.names().iter().all(|name| name == "lock");
    match (start, restore(disk, &props.backup)) {
        (Err(StorageError::NotOurs { why }), Ok(_)) if why.contains("restore") => {}
        // It failed before it began.
        (Ok(()), Ok(_)) if is_untouched => {}
        // It was a whole store already, and only its last mark is left.
        (Ok(()), Err(BackupError::Store(StorageError::NotEmpty { .. }))) if !is_untouched => {}
        (start, again) => return Err(format!("{error}; then a start: {start:?}, a restore: {again:?}")),
    }
    props.must_be_on(disk)?;
    Ok(Ran { calls, is_told: true })
}

/// A check of a folder that nobody uses.
pub(crate) fn verifying(props: &Props, disk: &Arc<MemDisk>, fault: Option<Fault>) -> Result<Ran, String> {
    let (on, files): (Arc<dyn Disk>, _) = (disk.clone(), contents(disk));
    let before = plan(disk, fault);
    let checked = verify(on, &mut |_| {});
    let calls = since(disk, &before);
    disk.mend();
    if contents(disk) != files {
        return Err("something was written".to_owned());
    }
    let rows = checked.as_ref().map_or(0, |report| report.rows);
    let said: Vec<String> = match checked {
        Ok(report) => report.findings.iter().map(|finding| finding.what.clone()).collect(),
        Err(error) => vec![error.to_string()],
    };
    let is_told = !said.is_empty();
    if is_told && !said.iter().any(|what| must_name(fault, what).is_ok()) {
        return Err(format!("it does not say what failed: {said:?}"));
    }
    // redb closes a file with a last write, over a disk that keeps none of it: all rows were read by then.
    let is_at_the_end = ends_the_engine(fault) && rows == props.rows;
    if has_struck(fault, &calls) && !is_told && !is_at_the_end {
        return Err("all is whole, it says".to_owned());
    }
    Ok(Ran { calls, is_told })
}

/// The opening of a folder whose making was cut short.
pub(crate) fn opening(_: &Props, disk: &Arc<MemDisk>, fault: Option<Fault>) -> Result<Ran, String> {
    let before = plan(disk, fault);
    let opened = Folder::open(&**disk, new_store).map(drop);
    let calls = since(disk, &before);
    disk.mend();
    if let Err(error) = &opened {
        must_name(fault, &error.to_string())?;
    }
    if has_struck(fault, &calls) && opened.is_ok() {
        return Err("it was opened all the same".to_owned());
    }
    let again = Folder::open(&**disk, new_store).map_err(|error| format!("the next opening: {error}"))?;
    if again.is_new != opened.is_err() && opened.is_ok() {
        return Err("it was made twice".to_owned());
    }
    Ok(Ran { calls, is_told: opened.is_err() })
}
