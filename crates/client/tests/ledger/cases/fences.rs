//! Late handlers.
//!
//! Lives here: what is refused under a fencing number that is not the highest seen. Not here: leases that are over by the local
//! clock (`lost.rs`).

use std::sync::Arc;

use naven_client::ledger::{OnceError, Store};

use super::Bench;
use super::bench::cases;

pub(super) async fn all<S: Store>(store: &Arc<S>) {
    cases!(
        store,
        a_late_handler_is_refused_before_its_effect,
        a_late_handler_is_not_told_a_stored_result,
        a_handler_that_became_late_in_its_effect_is_not_recorded,
        one_that_took_over_wins,
        nothing_is_taken_back_by_a_late_handler,
        fences_are_compared_as_numbers,
    );
}

async fn a_late_handler_is_refused_before_its_effect<S: Store>(bench: Bench<S>) {
    bench.lease(2).once("another", || bench.gives(())).await.unwrap();
    let late = bench.lease(1);
    let error = late.once("x", || bench.gives(1)).await.unwrap_err();
    assert!(matches!(error, OnceError::Stale { fence: 1, seen: 2, ran: false }), "{error:?}");
    assert!(late.once_keyed("x", |_| bench.gives(1)).await.is_err());
    let asked = late.once_asked("x", async |_| Ok(Some(1)), |_| bench.gives(1));
    assert!(matches!(asked.await, Err(OnceError::Stale { .. })));
    assert_eq!(bench.runs(), 1);
    assert_eq!(bench.lease(2).once("x", || bench.gives(2)).await.unwrap(), 2);
}

async fn a_late_handler_is_not_told_a_stored_result<S: Store>(bench: Bench<S>) {
    let first = bench.lease(1);
    first.once("x", || bench.gives(1)).await.unwrap();
    // Told the result alone, the next attempt is seen all the same.
    bench.lease(2).once("x", || bench.gives(2)).await.unwrap();
    let error = first.once("x", || bench.gives(3)).await.unwrap_err();
    assert!(matches!(error, OnceError::Stale { fence: 1, seen: 2, ran: false }), "{error:?}");
    // And so it is where it is told that the effect is in doubt.
    let (third, fourth) = (bench.dies_in(3, "y").await, bench.lease(4));
    assert!(matches!(fourth.once("y", || bench.gives(1)).await, Err(OnceError::InDoubt(_))));
    assert!(matches!(third.once("z", || bench.gives(1)).await, Err(OnceError::Stale { seen: 4, .. })));
}

async fn a_handler_that_became_late_in_its_effect_is_not_recorded<S: Store>(bench: Bench<S>) {
    let late = bench.lease(1);
    let answer = late.once("x", async || {
        bench.lease(2).once("another", || bench.gives(())).await.unwrap();
        bench.gives(1).await
    });
    let error = answer.await.unwrap_err();
    assert!(matches!(error, OnceError::Stale { fence: 1, seen: 2, ran: true }), "{error:?}");
    assert!(error.may_have_run());
    let error = bench.lease(2).once("x", || bench.gives(2)).await.unwrap_err();
    let OnceError::InDoubt(doubt) = error else { panic!("{error:?}") };
    assert_eq!((doubt.earlier_fence, doubt.fence), (1, 2));
    assert_eq!(bench.runs(), 2);
}

async fn one_that_took_over_wins<S: Store>(bench: Bench<S>) {
    let late = bench.lease(1);
    let answer = late.once_keyed("x", async |key| {
        let again = async |other| {
            assert_eq!(other, key);
            bench.gives(2).await
        };
        assert_eq!(bench.lease(2).once_keyed("x", again).await.unwrap(), 2);
        let third = bench.lease(3).once("x", || bench.gives(3)).await.unwrap();
        bench.gives(third).await
    });
    assert!(matches!(answer.await, Err(OnceError::Stale { fence: 1, seen: 3, ran: true })));
}

async fn nothing_is_taken_back_by_a_late_handler<S: Store>(bench: Bench<S>) {
    use naven_client::ledger::Failed;
    let late = bench.lease(1);
    let answer = late.once::<u32>("x", async || {
        let doubt = bench.lease(2).once("x", || bench.gives(2)).await;
        assert!(matches!(doubt, Err(OnceError::InDoubt(_))), "{doubt:?}");
        Err(Failed::undone("it says"))
    });
    assert!(matches!(answer.await, Err(OnceError::Failed { in_doubt: true, .. })));
    assert!(matches!(bench.lease(2).once("x", || bench.gives(2)).await, Err(OnceError::InDoubt(_))));
    assert_eq!(bench.runs(), 0);
}

async fn fences_are_compared_as_numbers<S: Store>(bench: Bench<S>) {
    // One more digit; two that are the same as a 64-bit float; the highest.
    let rising = [9, 10, 99, 100, (1 << 53) + 1, (1 << 53) + 2, i64::MAX as u64 - 1, i64::MAX as u64];
    for (at, fence) in rising.into_iter().enumerate() {
        bench.lease(fence).once(&format!("n{at}"), || bench.gives(())).await.unwrap();
        if at > 0 {
            let late = bench.lease(rising[at - 1]).once("late", || bench.gives(())).await;
            assert!(matches!(late, Err(OnceError::Stale { seen, .. }) if seen == fence), "{fence}: {late:?}");
        }
    }
    assert_eq!(bench.runs(), 8);
}
