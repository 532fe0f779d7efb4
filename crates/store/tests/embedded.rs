//! The embedded engine: the suite, and random scripts held against the model.
//!
//! Lives here: what every engine must show, on a disk in memory and on a real one. Not here: power
//! cuts and failing syncs (`crash/`).

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use naven_store::conformance::Fresh;
use naven_store::conformance::bench::run;
use naven_store::conformance::play::Scripts;
use naven_store::embedded::disk::{Disk, MemDisk, RealDisk};
use naven_store::embedded::verify::verify;
use naven_store::embedded::{Embedded, Options, Pace};
use naven_store::model::Model;
use naven_store::read::{Page, Read};
use naven_store::reply::{OpError, TxnReply};
use naven_store::txn::Txn;
use naven_store::{BoxFuture, Budget, Caps, Clock, Engine, Health, Hints, Random, Tended, WaitSet};
use tokio::sync::watch;

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

/// Plays a slice of the scripts in which both doors work on the same queues, and sees that nothing is asked in vain.
#[allow(clippy::print_stdout, reason = "what was counted is for people")]
fn both_doors(slice: u64) {
    let scripts = Scripts::of_both_doors(slice, 2_500);
    let tally = scripts.play_counted(fresh_in_memory, fresh_model);
    println!("{tally}");
    // One script that is played again, or a few of them, need not have everything.
    if tally.scripts >= 1_000 {
        assert_eq!(tally.missed(), Vec::<String>::new());
    }
}

#[test]
fn both_doors_at_once_are_answered_as_the_model_answers_them_1_of_4() {
    both_doors(0);
}

#[test]
fn both_doors_at_once_are_answered_as_the_model_answers_them_2_of_4() {
    both_doors(1);
}

#[test]
fn both_doors_at_once_are_answered_as_the_model_answers_them_3_of_4() {
    both_doors(2);
}

#[test]
fn both_doors_at_once_are_answered_as_the_model_answers_them_4_of_4() {
    both_doors(3);
}

#[test]
fn both_doors_at_once_are_answered_as_the_model_answers_them_in_the_cold_and_over_restarts() {
    let reopened = |clock, random| Fresh::new(Reopened::new(clock, random));
    Scripts::of_both_doors(20, 500).play(fresh_in_a_hurry, fresh_model);
    Scripts::of_both_doors(30, 300).play(reopened, fresh_model);
}

#[test]
fn random_scripts_through_the_cold_store_are_answered_as_the_model_answers_them() {
    Scripts::from_env(2_000).play(fresh_in_a_hurry, fresh_model);
}

#[test]
fn random_scripts_over_restarts_are_answered_as_the_model_answers_them() {
    let reopened = |clock, random| Fresh::new(Reopened::new(clock, random));
    Scripts::from_env(1_000).play(reopened, fresh_model);
}

#[test]
fn what_consumers_hold_and_where_a_group_stands_outlive_restarts_and_a_real_disk() {
    use naven_store::conformance::consumers;
    let reopened = |clock, random| Fresh::new(Reopened::new(clock, random));
    for case in [
        consumers::what_a_consumer_takes_it_holds_without_a_token_and_without_an_end,
        consumers::a_reader_of_the_queue_finishes_what_a_consumer_holds_or_nobody,
        consumers::a_group_stands_where_its_last_answered_read_left_it,
        consumers::what_a_deleted_consumer_held_is_dead_and_a_redrive_brings_it_back,
        consumers::a_consumer_made_again_under_the_name_holds_nothing_of_the_old_one,
        consumers::many_holds_of_a_deleted_consumer_end_in_bounded_steps,
    ] {
        run(reopened, case);
        run(fresh_on_a_real_disk, case);
    }
}

#[test]
fn the_ends_of_what_consumers_hold_outlive_restarts_and_a_real_disk() {
    use naven_store::conformance::hold_ends;
    let reopened = |clock, random| Fresh::new(Reopened::new(clock, random));
    for case in [
        hold_ends::past_its_end_a_claim_takes_what_a_consumer_held,
        hold_ends::until_a_claim_comes_a_consumer_has_it_past_its_end,
        hold_ends::whatever_hands_it_to_a_consumer_renews_the_end,
        hold_ends::a_hold_keeps_its_end_until_it_is_renewed,
        hold_ends::what_cannot_be_claimed_past_its_end_is_given_up,
        hold_ends::past_its_end_it_is_due_since_then,
    ] {
        run(reopened, case);
        run(fresh_on_a_real_disk, case);
    }
}

#[test]
fn random_scripts_on_a_real_disk_are_answered_as_the_model_answers_them() {
    Scripts::from_env(200).play(fresh_on_a_real_disk, fresh_model);
}

#[test]
fn what_random_scripts_leave_passes_every_check() {
    // Some in the cold store through and through, some with a log after it.
    let hasty = |clock, random| Checked::fresh(HASTY, clock, random);
    let slow = |clock, random| Checked::fresh(OPTIONS, clock, random);
    Scripts::from_env(300).play(hasty, fresh_model);
    Scripts::from_env(100).play(slow, fresh_model);
}

/// The disk of an engine, checked once that is closed and gone.
struct Checked(Arc<MemDisk>);

impl Checked {
    fn fresh(options: Options, clock: Arc<dyn Clock>, random: Arc<dyn Random>) -> Fresh {
        let disk = Arc::new(MemDisk::new());
        fresh_on(disk.clone(), options, clock, random).with_guard(Self(disk))
    }
}

impl Drop for Checked {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let report = verify(self.0.clone(), &mut |_| {}).expect("the folder is ours and nobody uses it");
        assert_eq!(report.findings, []);
    }
}

/// An engine that is closed and opened again after every third transaction, from its log or from a
/// checkpoint by turns. The clock of leases stands still meanwhile, and a clean stop loses none of it.
struct Reopened {
    disk: Arc<MemDisk>,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    /// None only while it is closed.
    engine: Mutex<Option<Arc<Embedded>>>,
    submits: AtomicUsize,
}

impl Reopened {
    fn new(clock: Arc<dyn Clock>, random: Arc<dyn Random>) -> Self {
        let disk = Arc::new(MemDisk::new());
        let engine = Embedded::open(disk.clone(), OPTIONS, clock.clone(), random.clone());
        let engine = Mutex::new(Some(Arc::new(engine.expect("an empty disk takes a store"))));
        Self { disk, clock, random, engine, submits: AtomicUsize::new(0) }
    }

    fn engine(&self) -> Arc<Embedded> {
        self.engine.lock().expect("nobody panics under it").clone().expect("it is open")
    }

    async fn reopen(&self, from_checkpoint: bool) {
        let old = self.engine.lock().expect("nobody panics under it").take().expect("it is open");
        if from_checkpoint {
            old.make_checkpoint().expect("the disk is well");
        }
        old.close().await;
        drop(old);
        let mut engine = self.engine.lock().expect("nobody panics under it");
        let new = Embedded::open(self.disk.clone(), OPTIONS, self.clock.clone(), self.random.clone());
        *engine = Some(Arc::new(new.expect("the store opens again")));
    }
}

impl Engine for Reopened {
    fn submit(&self, txns: Vec<Txn>) -> BoxFuture<'_, Vec<TxnReply>> {
        Box::pin(async move {
            let replies = self.engine().submit(txns).await;
            let nth = self.submits.fetch_add(1, Ordering::SeqCst);
            if nth.is_multiple_of(3) {
                self.reopen(nth.is_multiple_of(2)).await;
            }
            replies
        })
    }

    fn read(&self, read: Read) -> BoxFuture<'_, Result<Page, OpError>> {
        Box::pin(async move { self.engine().read(read).await })
    }

    fn hints(&self, waits: WaitSet) -> Hints {
        self.engine().hints(waits)
    }

    fn tend(&self, budget: Budget) -> BoxFuture<'_, Result<Tended, OpError>> {
        Box::pin(async move { self.engine().tend(budget).await })
    }

    fn caps(&self) -> Caps {
        self.engine().caps()
    }

    fn health(&self) -> watch::Receiver<Health> {
        self.engine().health()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move { self.engine().close().await })
    }
}
