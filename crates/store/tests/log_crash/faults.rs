//! A fault of every call that the log makes: told, nothing succeeds after it, nothing answered is
//! lost.
//!
//! Lives here: the log on the caller's thread. Not here: the log's own thread (`commit.rs`).

use std::collections::BTreeSet;
use std::sync::Arc;

use naven_store::embedded::disk::{Fault, Flaw, Lasts, Loss, MemDisk, Replay, Site};
use naven_store::embedded::log::AppendError;

use super::script::{Script, read};

const GROUPS: usize = 48;

/// Runs the script with one fault, counted from after the store was made. Answers how it went.
fn run_with(fault: Option<Fault>) -> (Script, Result<(), AppendError>) {
    let (mut script, mut log) = Script::new(MemDisk::recorded(), 6);
    if let Some(fault) = fault {
        let before = script.disk.sites().get(&fault.site).copied().unwrap_or(0);
        script.disk.fail(Fault { nth: before + fault.nth, ..fault });
    }
    let went = script.run(&mut log, GROUPS, true);
    // Without room nothing is lost and the same group may come again; else all is over.
    if matches!(went, Err(AppendError::Failed { .. } | AppendError::Dead)) {
        let (written, answered) = (script.written.len(), script.answered.len());
        let after = script.append(&mut log);
        assert!(matches!(after, Err(AppendError::Dead)), "{went:?} and then {after:?}");
        assert_eq!(script.answered.len(), answered);
        script.written.truncate(written);
    }
    (script, went)
}

/// What the next start reads is still there when the power fails right after it, and so is what
/// is answered next.
fn check_next_start(script: &Script) -> Result<(), String> {
    script.disk.mend();
    let ops = script.disk.ops();
    check_power_cut(script, ops)?;
    script.check(&script.disk, ops, 3)?;
    check_power_cut(script, ops)
}

fn check_power_cut(script: &Script, ops: usize) -> Result<(), String> {
    let from = script.first_lsn_at(ops);
    let (log, _, seen) = read(&script.disk, &script.meta, from).map_err(|error| error.to_string())?;
    drop(log);
    let recording = script.disk.recording();
    let mut replay = Replay::new(&recording);
    while replay.advance() {}
    let image = replay.image(Loss::All);
    let (_, _, left) = read(&image, &script.meta, from).map_err(|error| format!("power cut: {error}"))?;
    match left == seen {
        true => Ok(()),
        false => Err(format!("a start read {} batches, and a power cut left {}", seen.len(), left.len())),
    }
}

fn calls_of_a_clean_run() -> Vec<(Site, u64)> {
    let (fresh, _) = Script::new(MemDisk::new(), 6);
    let made = fresh.disk.sites();
    let (script, went) = run_with(None);
    went.unwrap();
    let since = |(site, calls): (Site, u64)| (site, calls - made.get(&site).copied().unwrap_or(0));
    script.disk.sites().into_iter().map(since).filter(|(_, calls)| *calls > 0).collect()
}

#[test]
fn after_a_fault_of_any_call_of_the_log_nothing_succeeds_and_the_next_start_has_all_that_was_answered() {
    let mut runs = 0;
    let mut wrong = Vec::new();
    let sites = calls_of_a_clean_run();
    for (site, calls) in &sites {
        for nth in 1..=*calls {
            for flaw in [Flaw::Io, Flaw::NoRoom, Flaw::Short] {
                let lasts = if nth % 2 == 0 { Lasts::Once } else { Lasts::ForGood };
                let (script, went) = run_with(Some(Fault { site: *site, nth, lasts, flaw }));
                runs += 1;
                if let Err(why) = check_next_start(&script) {
                    wrong.push(format!("{flaw:?} at {site} {nth} {lasts:?} ({went:?}): {why}"));
                }
                let must_fail = ["log.sync", "log.write"].contains(&site.0);
                assert!(!must_fail || went.is_err(), "{flaw:?} at {site} {nth} went unnoticed");
            }
        }
    }
    println!("{runs} runs over {sites:?}");
    assert!(wrong.is_empty(), "{} of {runs}:\n{}", wrong.len(), wrong[..wrong.len().min(10)].join("\n"));
}

#[test]
fn a_fault_of_any_call_while_a_log_is_opened_is_told_and_the_next_start_reads_all() {
    let (mut script, mut log) = Script::new(MemDisk::new(), 7);
    script.run(&mut log, 30, false).unwrap();
    let clean = Arc::new(script.disk.copy());
    let (_, _, all) = read(&clean, &script.meta, 1).unwrap();
    let mut reached = BTreeSet::new();
    for (site, calls) in clean.sites() {
        for nth in 1..=calls {
            for flaw in [Flaw::Io, Flaw::NoRoom, Flaw::Short] {
                let disk = Arc::new(script.disk.copy());
                disk.fail(Fault { site, nth, lasts: Lasts::Once, flaw });
                let told = read(&disk, &script.meta, 1).is_err();
                // Spares may wait for room.
                assert!(told || flaw == Flaw::NoRoom, "{flaw:?} at {site} {nth} went unnoticed");
                disk.mend();
                assert_eq!(read(&disk, &script.meta, 1).unwrap().2, all, "{flaw:?} at {site} {nth}");
                reached.insert(site);
            }
        }
    }
    println!("{reached:?}");
    for site in ["log.list", "log.read", "recover.write", "recover.sync", "segment.open"] {
        assert!(reached.contains(&Site(site)), "{site} was not reached");
    }
}

#[test]
fn what_a_start_has_read_outlives_a_power_cut_though_its_sync_had_failed() {
    let (mut script, mut log) = Script::new(MemDisk::recorded(), 8);
    script.run(&mut log, 5, false).unwrap();
    let syncs = script.disk.sites()[&Site("log.sync")];
    let fault = Fault { site: Site("log.sync"), nth: syncs + 1, lasts: Lasts::Once, flaw: Flaw::Io };
    script.disk.fail(fault);
    assert!(script.append(&mut log).is_err());
    drop(log);
    // The process starts again. The page cache still shows the batch, though no sync covers it.
    let (_, _, seen) = read(&script.disk, &script.meta, 1).unwrap();
    assert_eq!(seen, script.written, "the page cache has it");
    check_next_start(&script).unwrap();
}
