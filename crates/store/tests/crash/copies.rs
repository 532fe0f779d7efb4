//! Every call that backups, restores, checks and the opening of a folder make to the disk fails, once and
//! for good: what failed says where, and nothing half done passes for whole.
//!
//! Lives here: the sweep over every call of every site. Not here: what is done, and what must have come of
//! it (`copying.rs`), and the engine's own work (`faults.rs`).

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use naven_store::embedded::disk::{Fault, Flaw, Lasts, MemDisk, Site};

use crate::copying::{Props, opening, resting, restoring, serving, verifying};
use crate::saving::{saving_from, saving_to};

/// How often each site was called.
pub(crate) type Calls = BTreeMap<Site, u64>;

/// What came of it, where it went as it must.
pub(crate) struct Ran {
    /// Calls from when the fault was planned.
    pub(crate) calls: Calls,
    /// It failed, and said so.
    pub(crate) is_told: bool,
}

/// Does a thing on a disk where the fault is planned, counted from there, and says what is wrong with what
/// came of it.
type Play = fn(&Props, &Arc<MemDisk>, Option<Fault>) -> Result<Ran, String>;

/// A thing to do, and the disk that it is done on.
struct Scene {
    name: &'static str,
    on: MemDisk,
    play: Play,
}

/// All of them.
fn scenes(props: &Props) -> Vec<Scene> {
    let scene = |name, on: &MemDisk, play| Scene { name, on: on.copy(), play };
    vec![
        scene("a backup while serving", &props.store, serving),
        scene("a backup of a folder at rest", &props.store, resting),
        scene("a restore", &MemDisk::new(), restoring),
        scene("a restore after one that was cut short", &props.cut_short, restoring),
        scene("a check", &props.store, verifying),
        scene("a salvage, of what it reads", &props.without_meta, saving_from),
        scene("a salvage, of what it writes", &MemDisk::new(), saving_to),
        scene("an opening after a making that was cut short", &props.half_made, opening),
    ]
}

/// How often each site is called where nothing fails.
pub(crate) fn calls() -> Calls {
    let props = Props::make();
    let mut all = Calls::new();
    for scene in scenes(&props) {
        let ran = (scene.play)(&props, &Arc::new(scene.on.copy()), None);
        let ran = ran.unwrap_or_else(|why| panic!("{}, on a disk without faults: {why}", scene.name));
        ran.calls.into_iter().for_each(|(site, calls)| *all.entry(site).or_default() += calls);
    }
    all
}

/// What a sweep over one scene came to.
#[derive(Default)]
struct Sweep {
    runs: u64,
    /// For each site how many of its calls were failed, and how many failures were told.
    sites: BTreeMap<Site, (u64, u64)>,
    wrong: Vec<String>,
}

impl Sweep {
    fn over(scene: &Scene, props: &Props) -> Self {
        let mut sweep = Self::default();
        let clean = (scene.play)(props, &Arc::new(scene.on.copy()), None);
        let clean = clean.unwrap_or_else(|why| panic!("{}, on a disk without faults: {why}", scene.name));
        assert!(!clean.is_told, "{}", scene.name);
        for &site in clean.calls.keys() {
            let nth = (1..).take_while(|&nth| sweep.strikes(scene, props, (site, nth))).count();
            sweep.sites.entry(site).or_default().0 += nth as u64;
        }
        sweep
    }

    /// Fails the n-th call of a site in every way. False where there is none.
    fn strikes(&mut self, scene: &Scene, props: &Props, (site, nth): (Site, u64)) -> bool {
        let mut strikes = false;
        for lasts in [Lasts::Once, Lasts::ForGood] {
            for flaw in [Flaw::Io, Flaw::NoRoom, Flaw::Short] {
                let fault = Fault { site, nth, lasts, flaw };
                let disk = Arc::new(scene.on.copy());
                let ran = catch_unwind(AssertUnwindSafe(|| (scene.play)(props, &disk, Some(fault))));
                self.runs += 1;
                match ran.unwrap_or_else(|_| Err("it panicked".to_owned())) {
                    Ok(ran) => {
                        strikes |= ran.calls.get(&site).is_some_and(|&calls| calls >= nth);
                        self.sites.entry(site).or_default().1 += u64::from(ran.is_told);
                    }
                    Err(why) => {
                        strikes = true;
                        self.wrong.push(format!("{}: {fault:?}: {why}", scene.name));
                    }
                }
            }
        }
        // What is wrong at every call is not sought for ever.
        strikes && self.wrong.len() < 100
    }
}

#[expect(clippy::print_stdout, reason = "the list of sites is what a run of the sweep shows")]
fn swept(name: &str) {
    let props = Props::make();
    let scene = scenes(&props).into_iter().find(|scene| scene.name == name).expect("it has that name");
    let sweep = Sweep::over(&scene, &props);
    println!("{name}: {} runs (calls, and how many of six failures each were told):", sweep.runs);
    for (site, (calls, told)) in &sweep.sites {
        println!("  {site}: {calls}, {told}");
    }
    let wrong = sweep.wrong;
    assert!(wrong.is_empty(), "{} of {} runs are wrong: {wrong:#?}", wrong.len(), sweep.runs);
}

#[test]
fn a_backup_that_fails_while_serving_says_where_and_serving_goes_on() {
    swept("a backup while serving");
}

#[test]
fn a_backup_of_a_folder_at_rest_that_fails_says_where_and_changes_nothing() {
    swept("a backup of a folder at rest");
}

#[test]
fn a_restore_that_fails_leaves_no_store_and_the_next_one_makes_it() {
    swept("a restore");
}

#[test]
fn a_restore_that_fails_over_one_that_was_cut_short_leaves_it_to_the_next() {
    swept("a restore after one that was cut short");
}

#[test]
fn a_check_that_cannot_read_says_so_and_never_that_all_is_whole() {
    swept("a check");
}

#[test]
fn a_salvage_that_cannot_read_says_what_and_changes_nothing() {
    swept("a salvage, of what it reads");
}

#[test]
fn a_salvage_that_cannot_write_leaves_no_store_and_the_next_one_makes_it() {
    swept("a salvage, of what it writes");
}

#[test]
fn an_opening_that_fails_says_where_and_the_next_one_opens() {
    swept("an opening after a making that was cut short");
}
