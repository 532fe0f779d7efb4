//! The embedded engine: the suite, and random scripts held against the model.
//!
//! Lives here: what every engine must show, on a disk in memory and on a real one. Not here: power
//! cuts and failing syncs (`crash/`).

use std::sync::Arc;

use naven_store::conformance::Fresh;
use naven_store::conformance::play::Scripts;
use naven_store::embedded::disk::{Disk, MemDisk, RealDisk};
use naven_store::embedded::{Embedded, Options, Pace};
use naven_store::model::Model;
use naven_store::{Clock, Random};

const OPTIONS: Options = Options { segment_bytes: Some(64 << 10), checkpoint: None };

/// Almost every step finds rows in the open window, in the one that is being written, and in the cold
/// store.
const HASTY: Options = Options { checkpoint: Some(Pace { rows: 5, bytes: 1 << 20, age_ms: 0 }), ..OPTIONS };

fn fresh_model(clock: Arc<dyn Clock>, random: Arc<dyn Random>) -> Fresh {
    Fresh::new(Model::new(clock, random))
}

fn fresh_on(disk: Arc<dyn Disk>, options: Options, clock: Arc<dyn Clock>, random: Arc<dyn Random>) -> Fresh {
    Fresh::new(Embedded::open(disk, options, clock, random).expect("an empty disk takes a store"))
}

fn fresh_in_memory(clock: Arc<dyn Clock>, random: Arc<dyn Random>) -> Fresh {
    fresh_on(Arc::new(MemDisk::new()), OPTIONS, clock, random)
}

fn fresh_in_a_hurry(clock: Arc<dyn Clock>, random: Arc<dyn Random>) -> Fresh {
    fresh_on(Arc::new(MemDisk::new()), HASTY, clock, random)
}

fn fresh_on_a_real_disk(clock: Arc<dyn Clock>, random: Arc<dyn Random>) -> Fresh {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let disk = RealDisk::open(folder.path()).expect("the folder is ours");
    fresh_on(Arc::new(disk), OPTIONS, clock, random).with_guard(folder)
}

naven_store::conformance!(fresh_in_memory);

mod through_the_cold_store {
    naven_store::conformance!(super::fresh_in_a_hurry);
}

#[test]
fn random_scripts_are_answered_as_the_model_answers_them() {
    Scripts::from_env(20_000).play(fresh_in_memory, fresh_model);
}

#[test]
fn random_scripts_through_the_cold_store_are_answered_as_the_model_answers_them() {
    Scripts::from_env(2_000).play(fresh_in_a_hurry, fresh_model);
}

#[test]
fn random_scripts_on_a_real_disk_are_answered_as_the_model_answers_them() {
    Scripts::from_env(200).play(fresh_on_a_real_disk, fresh_model);
}
