//! Effects of which nobody knows whether they happened.
//!
//! Lives here: how they come about, and each way out. Not here: how steps of the store get lost (`lost.rs`).

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use naven_client::ledger::{FINISH_TRIES, Failed, OnceError, Store};

use super::Bench;
use super::bench::cases;

pub(super) async fn all<S: Store>(store: &Arc<S>) {
    cases!(
        store,
        one_that_died_leaves_a_doubt,
        a_doubt_stays_until_it_is_resolved,
        an_unknown_failure_leaves_a_doubt,
        a_panic_leaves_a_doubt,
        what_is_keyed_runs_again_under_the_same_key,
        whoever_is_asked_says_that_it_happened,
        whoever_is_asked_says_that_it_did_not_happen,
        whoever_is_asked_does_not_know,
        a_repetition_that_did_not_happen_leaves_the_first_in_doubt,
        the_same_lease_is_told_too,
        what_an_effect_does_before_it_awaits_counts,
        what_is_known_to_have_happened_is_not_run_where_that_cannot_be_recorded,
    );
}

fn is_doubt<R>(answer: Result<R, OnceError>, fence: u64) -> bool {
    matches!(answer, Err(OnceError::InDoubt(doubt)) if doubt.earlier_fence == fence)
}

async fn one_that_died_leaves_a_doubt<S: Store>(bench: Bench<S>) {
    bench.dies_in(3, "x").await;
    let error = bench.lease(4).once("x", || bench.gives(4)).await.unwrap_err();
    assert!(!error.may_have_run(), "this very call has not");
    let OnceError::InDoubt(doubt) = error else { panic!("{error:?}") };
    assert_eq!((doubt.earlier_fence, doubt.fence), (3, 4));
    assert_eq!(doubt.key.as_str(), "one_that_died_leaves_a_doubt/x/q");
    assert_eq!(bench.runs(), 1);
    assert_eq!(bench.lease(4).once("y", || bench.gives(4)).await.unwrap(), 4, "other effects are not");
}

async fn a_doubt_stays_until_it_is_resolved<S: Store>(bench: Bench<S>) {
    bench.dies_in(1, "x").await;
    for fence in 2..=4 {
        assert!(is_doubt(bench.lease(fence).once("x", || bench.gives(0)).await, 1));
    }
    assert_eq!(bench.runs(), 1);
}

async fn an_unknown_failure_leaves_a_doubt<S: Store>(bench: Bench<S>) {
    let by_question_mark = async || {
        bench.gives(()).await?;
        Err(std::io::Error::other("timed out"))?;
        Ok(1)
    };
    let error = bench.lease(1).once("x", by_question_mark).await.unwrap_err();
    assert!(matches!(error, OnceError::Failed { in_doubt: true, .. }) && error.may_have_run(), "{error:?}");
    assert!(is_doubt(bench.lease(2).once("x", || bench.gives(2)).await, 1));
    assert_eq!(bench.runs(), 1);
}

async fn a_panic_leaves_a_doubt<S: Store>(bench: Bench<S>) {
    let inner = bench.clone();
    let panics = tokio::spawn(async move {
        let lease = inner.lease(1);
        lease.once::<u32>("x", async || panic!("on purpose")).await
    });
    assert!(panics.await.unwrap_err().is_panic());
    assert!(is_doubt(bench.lease(2).once("x", || bench.gives(2)).await, 1));
}

async fn what_is_keyed_runs_again_under_the_same_key<S: Store>(bench: Bench<S>) {
    bench.dies_in(1, "x").await;
    let error =
        bench.lease(2).once_keyed("x", |_| bench.fails(Failed::unknown("timed out"))).await.unwrap_err();
    assert!(matches!(error, OnceError::Failed { in_doubt: true, .. }), "{error:?}");
    let third = bench.lease(3);
    let keyed = third.once_keyed("x", async |key| {
        assert_eq!(key.as_str(), "what_is_keyed_runs_again_under_the_same_key/x/q");
        bench.gives(key.to_string()).await
    });
    assert!(keyed.await.is_ok());
    bench.lease(4).once("x", || bench.gives(String::new())).await.unwrap();
    assert_eq!(bench.runs(), 3);
}

async fn whoever_is_asked_says_that_it_happened<S: Store>(bench: Bench<S>) {
    bench.dies_in(1, "x").await;
    let ask = async |doubt: naven_client::ledger::Doubt| {
        assert_eq!((doubt.earlier_fence, doubt.fence), (1, 2));
        Ok(Some(7))
    };
    assert_eq!(bench.lease(2).once_asked("x", ask, |_| bench.gives(2)).await.unwrap(), 7);
    assert_eq!(bench.lease(3).once("x", || bench.gives(3)).await.unwrap(), 7);
    assert_eq!(bench.runs(), 1);
}

async fn whoever_is_asked_says_that_it_did_not_happen<S: Store>(bench: Bench<S>) {
    bench.dies_in(1, "x").await;
    let undone = |_| bench.fails(Failed::undone("declined"));
    let error = bench.lease(2).once_asked("x", async |_| Ok(None), undone).await.unwrap_err();
    assert!(matches!(error, OnceError::Failed { in_doubt: false, .. }), "{error:?}");
    assert_eq!(bench.lease(3).once("x", || bench.gives(3)).await.unwrap(), 3, "nothing is in doubt any more");
    assert_eq!(bench.runs(), 3);
}

async fn whoever_is_asked_does_not_know<S: Store>(bench: Bench<S>) {
    bench.dies_in(1, "x").await;
    let ask = async |_| Err(Failed::unknown("no answer"));
    let error = bench.lease(2).once_asked("x", ask, |_| bench.gives(2)).await.unwrap_err();
    assert!(matches!(error, OnceError::Unanswered(_)), "{error:?}");
    assert!(is_doubt(bench.lease(2).once("x", || bench.gives(2)).await, 1));
    assert_eq!(bench.runs(), 1);
}

async fn a_repetition_that_did_not_happen_leaves_the_first_in_doubt<S: Store>(bench: Bench<S>) {
    bench.dies_in(1, "x").await;
    let error =
        bench.lease(2).once_keyed("x", |_| bench.fails(Failed::undone("declined"))).await.unwrap_err();
    assert!(matches!(error, OnceError::Failed { in_doubt: true, .. }), "{error:?}");
    assert!(is_doubt(bench.lease(3).once("x", || bench.gives(3)).await, 2));
    assert_eq!(bench.runs(), 2);
}

async fn the_same_lease_is_told_too<S: Store>(bench: Bench<S>) {
    let lease = bench.dies_in(1, "x").await;
    assert!(is_doubt(lease.once("x", || bench.gives(1)).await, 1));
    assert!(is_doubt(lease.clone().once("x", || bench.gives(1)).await, 1));
    assert_eq!(lease.once_keyed("x", |_| bench.gives(2)).await.unwrap(), 2);
    assert_eq!(bench.runs(), 2);
}

async fn what_an_effect_does_before_it_awaits_counts<S: Store>(bench: Bench<S>) {
    let lease = bench.lease(1);
    let copy = lease.clone();
    let eager = tokio::spawn(async move {
        let panics = |_| -> std::future::Ready<Result<u32, Failed>> { panic!("on purpose") };
        copy.once_keyed("x", panics).await
    });
    assert!(eager.await.unwrap_err().is_panic());
    assert!(is_doubt(lease.once("x", || bench.gives(1)).await, 1));
}

async fn what_is_known_to_have_happened_is_not_run_where_that_cannot_be_recorded<S: Store>(bench: Bench<S>) {
    bench.dies_in(1, "x").await;
    bench.faults.lose_finishes.store(FINISH_TRIES, SeqCst);
    let lease = bench.lease(2);
    let asked = lease.once_asked("x", async |_| Ok(Some(7)), |_| bench.gives(2)).await;
    assert!(matches!(asked, Err(OnceError::Unrecorded(_))), "{asked:?}");
    assert!(is_doubt(lease.once("x", || bench.gives(2)).await, 2));
    assert_eq!(bench.runs(), 1);
}
