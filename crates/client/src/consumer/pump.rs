//! Claiming events for free slots, until told to stop.
//!
//! Lives here: the loop of claims, and the end. Not here: what becomes of an event (`attempt.rs`).

use std::rc::Rc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep, sleep_until};
use tracing::{debug, info, warn};

use naven_api::limits::CLAIM_EVENTS_MAX;

use super::attempt::{Phase, Work, attempt};
use super::backoff::Backoff;
use super::door::{Claimed, Door, Failed};

/// Pauses between claims that fail: a part of the first, up to a part of the last.
const PAUSES: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(30)];
/// The last part of the time to drain is for giving back what did not end: a tenth of it, but no less and no more.
const GIVE_BACK: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(1)];
/// Each part of a drain lasts at least so long, however late it began: who is told something has to come to hear it.
const PART_MIN: Duration = Duration::from_millis(20);
/// A claim that came back empty at once is not made again at once.
const EMPTY_PAUSE: Duration = Duration::from_millis(200);

/// What a consumer's loop goes by.
pub(super) struct Pump<D: Door> {
    pub(super) work: Rc<Work<D>>,
    pub(super) slots: usize,
    pub(super) wait: Duration,
    pub(super) drain_limit: Duration,
    pub(super) phase: watch::Sender<Phase>,
}

impl<D: Door> Pump<D> {
    /// Claims and works until told to drain, or until claims are refused for good; then waits for what is in flight.
    /// Runs within a `LocalSet`.
    pub(super) async fn run(self) -> Result<(), D::Error> {
        let mut attempts = JoinSet::new();
        let refused = self.claim_on(&mut attempts).await;
        self.drain(&mut attempts).await;
        refused.map_or(Ok(()), Err)
    }

    /// Answers why claims are refused, where that is what ended it.
    async fn claim_on(&self, attempts: &mut JoinSet<()>) -> Option<D::Error> {
        let mut draining = self.phase.subscribe();
        let mut backoff = Backoff::new(PAUSES[0], PAUSES[1]);
        loop {
            while let Some(ended) = attempts.try_join_next() {
                unwind(ended);
            }
            let free = self.slots.saturating_sub(attempts.len());
            let most = free.min(CLAIM_EVENTS_MAX as usize);
            let left = Instant::now();
            let answer = tokio::select! {
                biased;
                _ = draining.wait_for(|phase| *phase >= Phase::Draining) => return None,
                Some(ended) = attempts.join_next(), if free == 0 => {
                    unwind(ended);
                    continue;
                }
                // Dropped while it waits, it takes nothing. What is on its way back then is left to its lease.
                answer = self.work.door.claim(most, self.work.length, self.wait), if free > 0 => answer,
            };
            let pause = match answer {
                Ok(claims) => {
                    self.work.health.claim_answered();
                    if backoff.failures() > 0 {
                        info!(failures = backoff.failures(), "claims are answered again");
                    }
                    backoff.reset();
                    let is_empty = claims.is_empty();
                    claims.into_iter().for_each(|claimed| self.begin(attempts, claimed, left));
                    if is_empty { EMPTY_PAUSE.saturating_sub(left.elapsed()) } else { Duration::ZERO }
                }
                Err(Failed::Never(error)) => return Some(error),
                Err(Failed::Later { after, why, .. }) => {
                    self.work.health.claim_failed();
                    let pause = backoff.next(after);
                    warn!(
                        failures = backoff.failures(),
                        ?pause,
                        error = &why as &dyn std::error::Error,
                        "a claim failed"
                    );
                    pause
                }
                // No claim has a lease that could be over.
                Err(Failed::Gone(reason)) => {
                    debug!(?reason, "a claim was answered as a heartbeat is");
                    backoff.next(None)
                }
            };
            if pause > Duration::ZERO {
                tokio::select! {
                    _ = draining.wait_for(|phase| *phase >= Phase::Draining) => return None,
                    () = sleep(pause) => {}
                }
            }
        }
    }

    fn begin(&self, attempts: &mut JoinSet<()>, claimed: Claimed<D>, left: Instant) {
        attempts.spawn_local(attempt(Rc::clone(&self.work), claimed, left));
    }

    /// Waits for all attempts, and hurries them as the limit comes nearer.
    async fn drain(&self, attempts: &mut JoinSet<()>) {
        let limit = Instant::now() + self.drain_limit;
        let give_back = (self.drain_limit / 10).clamp(GIVE_BACK[0], GIVE_BACK[1]);
        let grace = self.work.grace.min(self.drain_limit / 2);
        let before = |limit: Instant, part: Duration| limit.checked_sub(part).unwrap_or(limit);
        let abort_at = before(limit, give_back);
        let parts = [
            (Phase::Draining, before(abort_at, grace), PART_MIN),
            (Phase::Stopping, abort_at, PART_MIN),
            (Phase::Aborting, limit, GIVE_BACK[0]),
        ];
        for (phase, until, least) in parts {
            let until = until.max(Instant::now() + least);
            self.phase.send_if_modified(|present| {
                let is_further = *present < phase;
                *present = phase.max(*present);
                is_further
            });
            if self.phase.borrow().to_owned() > phase {
                continue;
            }
            let all = async {
                while let Some(ended) = attempts.join_next().await {
                    unwind(ended);
                }
            };
            tokio::select! {
                biased;
                () = all => return,
                () = sleep_until(until) => {}
            }
        }
        warn!(
            events = attempts.len(),
            "the time to drain is over: leases that are held run out by themselves"
        );
        (0..attempts.len()).for_each(|_| self.work.health.abandoned());
    }
}

/// A panic of an attempt is a fault of ours, and is not passed over. Those of handlers are caught where they run.
fn unwind(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && let Ok(panic) = error.try_into_panic()
    {
        std::panic::resume_unwind(panic);
    }
}
