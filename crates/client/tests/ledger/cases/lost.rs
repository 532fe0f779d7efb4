//! Steps that get lost, and leases that are over.
//!
//! Lives here: each step of a call, lost before and after the store acted. Not here: processes that die in their effect
//! (`doubt.rs`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use naven_client::ledger::{Abandoned, Begun, FINISH_TRIES, Failed, Finished, OnDoubt, OnceError, Store};

use super::Bench;
use super::bench::cases;

pub(super) async fn all<S: Store>(store: &Arc<S>) {
    cases!(
        store,
        an_effect_whose_beginning_was_not_answered_did_not_run,
        an_effect_whose_end_was_not_answered_is_recorded_once,
        an_effect_whose_end_is_never_answered_may_be_recorded,
        an_effect_whose_end_never_arrives_is_in_doubt,
        an_effect_that_did_not_happen_and_could_not_say_so,
        of_a_lease_that_is_over_nothing_is_asked,
        a_lease_that_ended_while_the_store_answered,
        a_doubt_outlives_a_lease_that_ended_while_the_store_answered,
        a_step_that_comes_late_undoes_nothing_that_its_lease_began_after_it,
    );
}

async fn an_effect_whose_beginning_was_not_answered_did_not_run<S: Store>(bench: Bench<S>) {
    bench.faults.lose_begin_answers.store(1, SeqCst);
    let lease = bench.lease(1);
    let error = lease.once("x", || bench.gives(1)).await.unwrap_err();
    assert!(matches!(error, OnceError::Store(_)) && !error.may_have_run(), "{error:?}");
    assert_eq!(bench.runs(), 0);
    // Nobody else can know that it did not; who asked does.
    assert!(matches!(bench.lease(1).once("x", || bench.gives(2)).await, Err(OnceError::Running)));
    assert_eq!(lease.once("x", || bench.gives(1)).await.unwrap(), 1);
    assert_eq!(bench.runs(), 1);
}

async fn an_effect_whose_end_was_not_answered_is_recorded_once<S: Store>(bench: Bench<S>) {
    bench.faults.lose_finish_answers.store(1, SeqCst);
    bench.faults.lose_finishes.store(FINISH_TRIES - 2, SeqCst);
    assert_eq!(bench.lease(1).once("x", || bench.gives(1)).await.unwrap(), 1);
    assert_eq!(bench.lease(2).once("x", || bench.gives(2)).await.unwrap(), 1);
    assert_eq!(bench.runs(), 1);
}

async fn an_effect_whose_end_is_never_answered_may_be_recorded<S: Store>(bench: Bench<S>) {
    bench.faults.lose_finish_answers.store(FINISH_TRIES, SeqCst);
    let error = bench.lease(1).once("x", || bench.gives(1)).await.unwrap_err();
    assert!(matches!(error, OnceError::Unrecorded(_)) && error.may_have_run(), "{error:?}");
    assert_eq!(bench.lease(2).once("x", || bench.gives(2)).await.unwrap(), 1);
}

async fn an_effect_whose_end_never_arrives_is_in_doubt<S: Store>(bench: Bench<S>) {
    bench.faults.lose_finishes.store(FINISH_TRIES, SeqCst);
    let error = bench.lease(1).once("x", || bench.gives(1)).await.unwrap_err();
    assert!(matches!(error, OnceError::Unrecorded(_)), "{error:?}");
    assert!(matches!(bench.lease(2).once("x", || bench.gives(2)).await, Err(OnceError::InDoubt(_))));
    assert_eq!(bench.runs(), 1);
}

async fn an_effect_that_did_not_happen_and_could_not_say_so<S: Store>(bench: Bench<S>) {
    bench.faults.lose_abandons.store(2, SeqCst);
    let lease = bench.lease(1);
    for name in ["x", "y"] {
        let error = lease.once(name, || bench.fails(Failed::undone("declined"))).await.unwrap_err();
        assert!(matches!(error, OnceError::Failed { in_doubt: true, .. }), "{error:?}");
    }
    assert_eq!(lease.once("x", || bench.gives(1)).await.unwrap(), 1, "this lease knows");
    assert!(matches!(bench.lease(2).once("y", || bench.gives(2)).await, Err(OnceError::InDoubt(_))));
}

async fn of_a_lease_that_is_over_nothing_is_asked<S: Store>(bench: Bench<S>) {
    let lease = bench.held_by(bench.holder(1).watched(|| true));
    assert!(matches!(lease.once("x", || bench.gives(1)).await, Err(OnceError::LeaseOver)));
    assert!(matches!(lease.once_keyed("x", |_| bench.gives(1)).await, Err(OnceError::LeaseOver)));
    let asked = lease.once_asked("x", async |_| Ok(Some(1)), |_| bench.gives(1));
    assert!(matches!(asked.await, Err(OnceError::LeaseOver)));
    assert_eq!((bench.runs(), bench.faults.asked.load(SeqCst)), (0, 0));
}

async fn a_lease_that_ended_while_the_store_answered<S: Store>(bench: Bench<S>) {
    static IS_OVER: AtomicBool = AtomicBool::new(false);
    IS_OVER.store(false, SeqCst);
    *bench.faults.after_begin.lock().unwrap() = Some(|| IS_OVER.store(true, SeqCst));
    let lease = bench.held_by(bench.holder(1).watched(|| IS_OVER.load(SeqCst)));
    assert!(matches!(lease.once("x", || bench.gives(1)).await, Err(OnceError::LeaseOver)));
    assert_eq!(bench.runs(), 0);
    assert_eq!(bench.lease(2).once("x", || bench.gives(2)).await.unwrap(), 2, "nothing is in doubt");
}

async fn a_doubt_outlives_a_lease_that_ended_while_the_store_answered<S: Store>(bench: Bench<S>) {
    static ANSWERS: AtomicBool = AtomicBool::new(false);
    ANSWERS.store(false, SeqCst);
    bench.dies_in(1, "x").await;
    *bench.faults.after_begin.lock().unwrap() = Some(|| ANSWERS.store(true, SeqCst));
    let lease = bench.held_by(bench.holder(2).watched(|| ANSWERS.load(SeqCst)));
    assert!(matches!(lease.once_keyed("x", |_| bench.gives(2)).await, Err(OnceError::LeaseOver)));
    let doubt = bench.lease(3).once("x", || bench.gives(3)).await;
    assert!(matches!(doubt, Err(OnceError::InDoubt(_))), "{doubt:?}");
    assert_eq!(bench.runs(), 1);
}

async fn a_step_that_comes_late_undoes_nothing_that_its_lease_began_after_it<S: Store>(bench: Bench<S>) {
    let (holder, store) = (bench.holder(1), bench.store());
    let (first, second) = (holder.effect("x").unwrap(), holder.effect("x").unwrap());
    assert_eq!(store.begin(&first, OnDoubt::Leave).await.unwrap(), Begun::Now);
    // Its word that nothing happened is on its way.
    assert_eq!(store.begin(&second, OnDoubt::Denied).await.unwrap(), Begun::Now);
    assert_eq!(store.abandon(&first).await.unwrap(), Abandoned::Kept);
    let doubt = bench.lease(2).once("x", || bench.gives(2)).await;
    assert!(matches!(doubt, Err(OnceError::InDoubt(_))), "{doubt:?}");
    // And so for its word that it is done: that is true whichever call says it.
    assert_eq!(
        store.begin(&holder.effect("y").unwrap(), OnDoubt::Leave).await.unwrap(),
        Begun::Stale { seen: 2 }
    );
    let holder = bench.holder(3);
    let (first, second) = (holder.effect("x").unwrap(), holder.effect("x").unwrap());
    assert_eq!(store.begin(&first, OnDoubt::RunAgain).await.unwrap(), Begun::Now);
    assert_eq!(store.begin(&second, OnDoubt::RunAgain).await.unwrap(), Begun::Now);
    assert_eq!(store.finish(&first, b"3").await.unwrap(), Finished::Recorded);
    assert_eq!(bench.lease(4).once("x", || bench.gives(4)).await.unwrap(), 3);
}
