//! What an effect answers, and when it runs.
//!
//! Lives here: first and later calls. Not here: late handlers (`fences.rs`), and what nobody knows (`doubt.rs`).

use std::sync::Arc;

use naven_client::ledger::{Failed, Holder, OnceError, Store};
use serde::{Deserialize, Serialize};
use tokio::sync::{Barrier, Notify};

use super::Bench;
use super::bench::cases;

pub(super) async fn all<S: Store>(store: &Arc<S>) {
    cases!(
        store,
        a_second_attempt_gets_the_stored_result,
        a_result_is_any_value,
        effects_are_told_apart_by_queue_event_and_name,
        what_surely_did_not_happen_is_run_by_the_next_attempt,
        of_two_calls_by_one_lease_one_is_refused,
        of_two_bearers_of_one_fence_one_is_refused,
        of_many_attempts_at_once_one_runs_it,
    );
}

async fn a_second_attempt_gets_the_stored_result<S: Store>(bench: Bench<S>) {
    let lease = bench.lease(1);
    assert_eq!(lease.once("charge", || bench.gives(7)).await.unwrap(), 7);
    assert_eq!(lease.once("charge", || bench.gives(8)).await.unwrap(), 7);
    let later = bench.lease(5);
    assert_eq!(later.once("charge", || bench.gives(9)).await.unwrap(), 7);
    assert_eq!(later.once_keyed("charge", |_| bench.gives(9)).await.unwrap(), 7);
    let asked = later.once_asked("charge", async |_| panic!("it is known"), |_| bench.gives(9));
    assert_eq!(asked.await.unwrap(), 7);
    assert_eq!(bench.runs(), 1);
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Charge {
    id: String,
    cents: Option<u64>,
}

async fn a_result_is_any_value<S: Store>(bench: Bench<S>) {
    let (first, later) = (bench.lease(1), bench.lease(2));
    first.once("nothing", || bench.gives(())).await.unwrap();
    later.once("nothing", || bench.gives(())).await.unwrap();
    let charge = Charge { id: "ch_é\0\u{1f600}\"".to_owned(), cents: None };
    assert_eq!(later.once("charge", || bench.gives(charge.clone())).await.unwrap(), charge);
    assert_eq!(later.once("charge", || bench.gives(charge.clone())).await.unwrap(), charge);
    assert_eq!(bench.runs(), 2);
    let other = later.once("charge", || bench.gives(5)).await;
    assert!(matches!(other, Err(OnceError::Unreadable(_))), "{other:?}");
}

async fn effects_are_told_apart_by_queue_event_and_name<S: Store>(bench: Bench<S>) {
    let holders = [("a", "e"), ("a", "e2"), ("b", "e"), ("a/e", "2"), ("a b\"{}", "e")];
    for (number, (queue, event)) in holders.into_iter().enumerate() {
        let lease = bench.held_by(Holder::new(queue, event, 1));
        for name in ["n", "N", "n2"] {
            let result = format!("{number}{name}");
            assert_eq!(lease.once(name, || bench.gives(result.clone())).await.unwrap(), result);
            assert_eq!(lease.once(name, || bench.gives(String::new())).await.unwrap(), result);
        }
    }
    assert_eq!(bench.runs(), 15);
}

async fn what_surely_did_not_happen_is_run_by_the_next_attempt<S: Store>(bench: Bench<S>) {
    for fence in [1, 1, 2] {
        let error =
            bench.lease(fence).once("x", || bench.fails(Failed::undone("declined"))).await.unwrap_err();
        assert!(matches!(&error, OnceError::Failed { in_doubt: false, .. }), "{error:?}");
        assert!(!error.may_have_run());
    }
    assert_eq!(bench.lease(2).once("x", || bench.gives(3)).await.unwrap(), 3);
    assert_eq!(bench.runs(), 4);
}

async fn of_two_calls_by_one_lease_one_is_refused<S: Store>(bench: Bench<S>) {
    let (lease, begun, go) = (bench.lease(1), Notify::new(), Notify::new());
    let first = lease.once("x", async || {
        begun.notify_one();
        go.notified().await;
        bench.gives(1).await
    });
    let second = async {
        begun.notified().await;
        let copy = lease.clone();
        let refused = copy.once("x", || bench.gives(2)).await;
        assert!(matches!(refused, Err(OnceError::Running)), "{refused:?}");
        let refused = copy.once_keyed("x", |_| bench.gives(2)).await;
        assert!(matches!(refused, Err(OnceError::Running)), "{refused:?}");
        assert_eq!(copy.once("y", || bench.gives(3)).await.unwrap(), 3);
        go.notify_one();
    };
    let (first, ()) = tokio::join!(first, second);
    assert_eq!(first.unwrap(), 1);
    assert_eq!(lease.once("x", || bench.gives(2)).await.unwrap(), 1);
    assert_eq!(bench.runs(), 2);
}

async fn of_two_bearers_of_one_fence_one_is_refused<S: Store>(bench: Bench<S>) {
    let (one, other) = (bench.dies_in(1, "x").await, bench.lease(1));
    let refused = other.once_keyed("x", |_| bench.gives(2)).await;
    assert!(matches!(refused, Err(OnceError::Running)), "{refused:?}");
    assert_eq!(one.once_keyed("x", |_| bench.gives(3)).await.unwrap(), 3);
    assert_eq!(other.once_keyed("x", |_| bench.gives(4)).await.unwrap(), 3);
    assert_eq!(bench.runs(), 2);
}

async fn of_many_attempts_at_once_one_runs_it<S: Store>(bench: Bench<S>) {
    const ATTEMPTS: u64 = 8;
    let at_once = Arc::new(Barrier::new(ATTEMPTS as usize));
    let attempt = |fence| {
        let (bench, at_once) = (bench.clone(), Arc::clone(&at_once));
        tokio::spawn(async move {
            let lease = bench.lease(fence);
            at_once.wait().await;
            lease.once("x", || bench.gives(fence)).await
        })
    };
    let attempts: Vec<_> = (1..=ATTEMPTS).map(attempt).collect();
    let mut answers = Vec::new();
    for attempt in attempts {
        answers.push(attempt.await.unwrap());
    }
    assert_eq!(bench.runs(), 1, "{answers:?}");
    for answer in answers {
        use OnceError::{InDoubt, Stale};
        assert!(matches!(answer, Ok(_) | Err(InDoubt(_) | Stale { .. })), "{answer:?}");
    }
}
