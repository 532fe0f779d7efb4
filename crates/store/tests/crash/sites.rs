//! Which calls of the disk the sweeps of faults reach: every one that the source names.
//!
//! Lives here: the list, and what is reached by other means. Not here: the sweeps (`faults.rs`,
//! `copies.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use naven_store::embedded::disk::Site;

use crate::{copies, faults};

/// Sites that no disk in memory is asked for, and what fails them instead.
///
/// - `folder.open`: before a folder is looked up, made and checked there is no disk. Real ones are provoked
///   (`log_crash/real.rs`).
const ELSEWHERE: [&str; 1] = ["folder.open"];

/// Names that errors bear which no call of the disk has.
const NO_CALLS: [&str; 6] = ["cold.reopen", "cold.stale", "laws", "sync", "test", "thread.start"];

/// Every site that the engine's source names, sorted.
fn sites_in_the_code() -> BTreeSet<String> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/embedded")];
    let mut sites = BTreeSet::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("the source is there") {
            let path = entry.expect("the source is readable").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(path).expect("the source is text");
            let named = text.split("Site(\"").skip(1).filter_map(|rest| rest.split('"').next());
            sites.extend(named.filter(|site| !NO_CALLS.contains(site)).map(str::to_owned));
        }
    }
    sites
}

#[test]
fn every_call_of_the_disk_in_the_source_is_failed_by_a_sweep() {
    let mut reached: BTreeMap<Site, (u64, u64)> = BTreeMap::new();
    for (site, calls) in faults::calls() {
        reached.entry(site).or_default().0 += calls;
    }
    for (site, calls) in copies::calls() {
        reached.entry(site).or_default().1 += calls;
    }
    println!("{} sites (calls while serving; while copying, checking and opening):", reached.len());
    for (site, (serving, copying)) in &reached {
        println!("  {site}: {serving}, {copying}");
    }
    let in_the_code = sites_in_the_code();
    let is_reached = |site: &String| reached.keys().any(|reached| reached.0 == site);
    let unreached: Vec<&String> = in_the_code.iter().filter(|site| !is_reached(site)).collect();
    assert_eq!(unreached, ELSEWHERE, "every call of the disk is reached, but for these");
}
