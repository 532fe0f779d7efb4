//! Sizes and names.
//!
//! Lives here: each bound at its edge and one past it. Not here: which characters names may have (`src/ledger/effect.rs`).

use std::sync::Arc;

use naven_client::ledger::{Holder, NameError, OnceError, RESULT_BYTES_MAX, Store};

use super::Bench;
use super::bench::cases;

pub(super) async fn all<S: Store>(store: &Arc<S>) {
    cases!(
        store,
        a_result_of_the_largest_size_is_kept,
        an_effect_whose_result_is_too_large_is_done_all_the_same,
        names_of_the_longest_sizes_are_kept,
        bad_names_run_nothing,
    );
}

async fn a_result_of_the_largest_size_is_kept<S: Store>(bench: Bench<S>) {
    // With its quotes.
    let largest = "x".repeat(RESULT_BYTES_MAX - 2);
    assert_eq!(bench.lease(1).once("x", || bench.gives(largest.clone())).await.unwrap(), largest);
    assert_eq!(bench.lease(2).once("x", || bench.gives(String::new())).await.unwrap(), largest);
}

async fn an_effect_whose_result_is_too_large_is_done_all_the_same<S: Store>(bench: Bench<S>) {
    let error = bench.lease(1).once("x", || bench.gives("x".repeat(RESULT_BYTES_MAX - 1))).await.unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, OnceError::ResultNotKept { .. }) && error.may_have_run(), "{error:?}");
    assert!(text.ends_with("its result is 65537 bytes of JSON, and 65536 is the most"), "{text}");
    for fence in [1, 2] {
        let lease = bench.lease(fence);
        let again = lease.once_keyed("x", |_| bench.gives(String::new())).await;
        assert!(matches!(again, Err(OnceError::ResultNotKept { .. })), "{again:?}");
    }
    assert_eq!(bench.runs(), 1);
}

async fn names_of_the_longest_sizes_are_kept<S: Store>(bench: Bench<S>) {
    // In bytes that compress badly: what is stored must be small enough as it is.
    let mut seed = 1_u64;
    let mut letters = |count: usize| -> String {
        let mut letter = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            char::from(b'0' + u8::try_from((seed >> 33) % 75).unwrap())
        };
        (0..count).map(|_| letter()).filter(|letter| letter.is_ascii_alphanumeric()).collect()
    };
    let mut long = |count: usize| -> String { letters(count * 2).chars().take(count).collect() };
    let (queue, event, name) = (long(1_200), long(200), long(200));
    assert_eq!((queue.len(), event.len(), name.len()), (1_200, 200, 200));
    for fence in [1, 2] {
        let lease = bench.held_by(Holder::new(&queue, &event, fence));
        assert_eq!(lease.once(&name, || bench.gives(fence)).await.unwrap(), 1);
    }
}

async fn bad_names_run_nothing<S: Store>(bench: Bench<S>) {
    let long = "x".repeat(201);
    for name in ["", "a b", "a/b", "é", long.as_str()] {
        let error = bench.lease(1).once(name, || bench.gives(1)).await.unwrap_err();
        assert!(matches!(error, OnceError::Name(NameError::Effect(_))), "{name:?}: {error:?}");
    }
    for holder in [Holder::new("", "e", 1), Holder::new("q", "e/", 1), Holder::new("q", "e", 0)] {
        let error = bench.held_by(holder).once("x", || bench.gives(1)).await.unwrap_err();
        assert!(matches!(error, OnceError::Name(_)), "{error:?}");
    }
    assert_eq!(bench.runs(), 0);
}
