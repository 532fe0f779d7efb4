//! Listening to the engine on behalf of those who watch queues.
//!
//! Lives here: the one listener of a node, and what it fills. Not here: figures (`stats.rs`) and the
//! ring of changes (`tails.rs`).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use naven_api::limits::STATS_FINE_SECONDS;
use naven_api::{EventId, Timestamp};
use naven_core::View;
use naven_store::queue::QueueRef;
use naven_store::read::{Page, QueueView, Read};
use naven_store::reply::{OpError, Refused};
use naven_store::{Clock, Engine, Hint, Told, WaitSet};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use crate::stats::{Recorder, Sample};
use crate::tails::{Kept, Tails};

/// How often it is looked whether a step is over.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What a node knows of queues beside what the engine holds.
pub(crate) struct Watch {
    recorder: Mutex<Recorder>,
    pub(crate) tails: Tails,
    /// Drawn at each start: numbers of changes mean nothing to another one.
    pub(crate) start: u64,
    /// Shutdown has begun.
    pub(crate) draining: CancellationToken,
}

impl Watch {
    pub(crate) fn new(now: Timestamp, start: u64) -> Self {
        Self {
            recorder: Mutex::new(Recorder::new(now)),
            tails: Tails::new(),
            start,
            draining: CancellationToken::new(),
        }
    }

    pub(crate) fn recorder(&self) -> MutexGuard<'_, Recorder> {
        // No code panics while it holds the lock.
        self.recorder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Listens until `stop` or until the engine closes.
    pub(crate) async fn listen(
        self: Arc<Self>,
        engine: Arc<dyn Engine>,
        clock: Arc<dyn Clock>,
        stop: CancellationToken,
    ) {
        let (mut changes, mut hints) = (engine.changes(), engine.hints(WaitSet::All));
        let mut look = tokio::time::interval(LOOK_EVERY);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut seen = clock.wall();
        loop {
            tokio::select! {
                told = changes.next() => match told {
                    Some(told) => self.hear(told, clock.wall()),
                    None => return,
                },
                hint = hints.next() => match hint {
                    Some(Hint::Queue(queue)) => self.recorder().touch(queue),
                    Some(Hint::Stream(_) | Hint::Missed) => {}
                    None => return,
                },
                _ = look.tick() => {
                    let now = clock.wall();
                    if step_of(now) != step_of(seen) {
                        self.look(&*engine, seen).await;
                    }
                    seen = now;
                }
                () = stop.cancelled() => return,
            }
        }
    }

    fn hear(&self, told: Told, now: Timestamp) {
        match told {
            Told::Changes(changes) => {
                let mut recorder = self.recorder();
                changes.iter().for_each(|change| recorder.add(change));
                drop(recorder);
                self.tails.push(changes.iter().cloned().map(Kept::Change));
            }
            Told::Missed => {
                self.recorder().miss(now);
                self.tails.push([Kept::Gap]);
            }
        }
    }

    /// Looks how the queues stand that have changed within the step that `at` was in, which is over.
    async fn look(&self, engine: &dyn Engine, at: Timestamp) {
        let changed = self.recorder().take_changed();
        for queue in changed {
            match engine.read(Read::Queue(QueueRef::Id(queue))).await {
                Ok(Page::Queue(view)) => self.recorder().note(queue, at, sample_of(&view)),
                Err(OpError::Refused(Refused::QueueNotFound)) => self.recorder().forget(queue),
                // It is looked at again once it changes.
                Ok(_) | Err(_) => {}
            }
        }
    }
}

fn step_of(at: Timestamp) -> i64 {
    at.as_ms().div_euclid(i64::from(STATS_FINE_SECONDS) * 1_000)
}

/// How a queue stands.
pub(crate) fn sample_of(view: &QueueView) -> Sample {
    let states = [View::Ready, View::Scheduled, View::Retrying, View::Leased, View::Held];
    let depth = states.into_iter().map(|state| view.counts.of(state)).sum();
    Sample { depth, oldest_ready: view.oldest_ready }
}

/// Whether an event is one of the one in `sample` that are told: always or never the same one.
pub(crate) fn is_sampled(event: EventId, sample: u32) -> bool {
    // Ids differ in their last bits only, so these are spread over all first.
    let spread = (event.bits() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    spread.is_multiple_of(u64::from(sample.max(1)))
}

#[cfg(test)]
mod tests {
    use naven_api::QueueId;

    use super::*;
    use crate::stats::Span;

    #[test]
    fn what_was_missed_is_a_gap_and_makes_figures_incomplete() {
        let at = |seconds: i64| Timestamp::from_ms(seconds * 1_000);
        let (watch, queue) = (Watch::new(at(0), 1), QueueId::from_bits(1));
        let complete = |from_seconds| {
            let span = Span { from_seconds, points: 2, step_seconds: 60 };
            watch.recorder().recorded(queue, span, (at(1_000), Sample::default())).complete
        };
        assert!(complete(120));
        watch.hear(Told::Missed, at(250));
        assert_eq!(watch.recorder().gaps(), 1);
        assert_eq!([0, 120, 180, 240, 300].map(complete), [true, true, false, false, true]);
        let next = watch.tails.from(1, queue, |_| true, 10);
        assert!(matches!(next.changes.as_slice(), [(1, Kept::Gap)]));
    }

    #[test]
    fn one_in_so_many_events_is_sampled_whatever_its_stream() {
        for stream in [1, 2, 200_u128] {
            let of = |sample| {
                (0..10_000).filter(|&n| is_sampled(EventId::from_bits(stream << 56 | n), sample)).count()
            };
            assert_eq!((of(0), of(1)), (10_000, 10_000));
            for sample in [2, 10, 100] {
                let expected = 10_000 / sample as usize;
                assert!(of(sample).abs_diff(expected) < expected / 2, "{} of {expected}", of(sample));
            }
        }
    }
}
