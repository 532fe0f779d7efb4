//! The delay before a retry.
//!
//! Lives here: the arithmetic, whole numbers only so that every engine agrees. Not here: the
//! setting (`naven-api`) and the drawing of random numbers (the engine).

use naven_api::Backoff;

/// The delay in ms after the `failures`-th failure (1 is the first). `draw` is 32 random bits.
pub fn delay_ms(backoff: &Backoff, failures: u32, draw: u32) -> i64 {
    let cap = u64::from(backoff.max_seconds) * 1_000;
    let mut delay = (u64::from(backoff.initial_seconds) * 1_000).min(cap);
    // Growth stops at the cap, so the loop is short unless the factor is 1, where it changes nothing.
    for _ in 1..failures {
        if delay == 0 || delay >= cap || backoff.factor_milli <= 1_000 {
            break;
        }
        delay = (delay * u64::from(backoff.factor_milli) / 1_000).min(cap);
    }
    let drawn = delay * u64::from(backoff.jitter_milli) / 1_000;
    let kept = delay - drawn;
    let random = (u128::from(drawn) * u128::from(draw) / u128::from(u32::MAX)) as u64;
    (kept + random) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_default_doubles_from_five_seconds_to_an_hour() {
        let plain = Backoff { jitter_milli: 0, ..Backoff::default() };
        let delays: Vec<i64> = (1..=12).map(|n| delay_ms(&plain, n, 0) / 1_000).collect();
        assert_eq!(delays, [5, 10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 3_600, 3_600]);
    }

    #[test]
    fn full_jitter_spans_zero_to_the_delay() {
        let full = Backoff::default();
        assert_eq!(delay_ms(&full, 1, 0), 0);
        assert_eq!(delay_ms(&full, 1, u32::MAX), 5_000);
        assert_eq!(delay_ms(&full, 1, u32::MAX / 2), 2_499);
    }

    proptest! {
        #[test]
        fn a_delay_is_never_above_its_cap_nor_below_its_sure_part(
            initial in 0u32..=86_400, factor in 1_000u32..=10_000, max in 0u32..=86_400,
            jitter in 0u32..=1_000, failures in any::<u32>(), draw in any::<u32>(),
        ) {
            let backoff = Backoff {
                initial_seconds: initial, factor_milli: factor, max_seconds: max, jitter_milli: jitter,
            };
            let delay = delay_ms(&backoff, failures, draw);
            let longest = delay_ms(&backoff, failures, u32::MAX);
            prop_assert!(delay >= 0 && delay <= i64::from(max) * 1_000);
            prop_assert!(delay <= longest);
            prop_assert!(delay >= longest * i64::from(1_000 - jitter) / 1_000 - 1);
        }
    }
}
