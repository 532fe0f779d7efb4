//! Claiming events for free slots, until told to stop.
//!
//! Lives here: the loop of claims, and the end. Not here: what becomes of an event (`attempt.rs`).

use std::rc::Rc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tracing::{debug, info, warn};

use naven_api::limits::CLAIM_EVENTS_MAX;

use super::attempt::{Phase, Work, attempt};
use super::backoff::{Backoff, random_bits};
use super::door::{Ask, Claimed, Door, Failed};

/// Pauses between claims that fail: a part of the first, up to a part of the last.
const PAUSES: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(30)];
/// The last part of the time to drain is for giving back what did not end: a tenth of it, but no less and no more.
const GIVE_BACK: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(1)];
/// Each part of a drain lasts at least so long, however late it began: who is told something has to come to hear it.
const PART_MIN: Duration = Duration::from_millis(20);
/// How long, at the end, a claim that was dropped in the middle is asked after.
const COLLECT_MAX: Duration = Duration::from_millis(250);
/// A claim that came back empty at once is not made again at once.
const EMPTY_PAUSE: Duration = Duration::from_millis(200);

/// Longest time to tidy up in, at the very end.
const CLOSE_MAX: Duration = Duration::from_millis(250);

/// What a consumer's loop goes by.
pub(super) struct Pump<D: Door> {
    pub(super) work: Rc<Work<D>>,
    pub(super) slots: usize,
    pub(super) wait: Duration,
    pub(super) drain_limit: Duration,
    pub(super) phase: watch::Sender<Phase>,
}

/// A claim, and when it first went out.
type Sent = (Ask, Instant);

/// Why nothing more is claimed.
enum Stopped<E> {
    /// Claims are refused for good.
    Refused(E),
    /// It was told to. A claim that has no answer yet may have taken events.
    Told(Option<Sent>),
}

impl<D: Door> Pump<D> {
    /// Claims and works until told to drain, or until claims are refused for good; then waits for what is in flight.
    /// Runs within a `LocalSet`.
    pub(super) async fn run(self) -> Result<(), D::Error> {
        let mut attempts = JoinSet::new();
        let (refused, dropped) = match self.claim_on(&mut attempts).await {
            Stopped::Refused(error) => (Some(error), None),
            Stopped::Told(dropped) => (None, dropped),
        };
        self.drain(&mut attempts, dropped).await;
        // What it does not come to is no loss.
        let _ = timeout(CLOSE_MAX, self.work.door.close()).await;
        refused.map_or(Ok(()), Err)
    }

    async fn claim_on(&self, attempts: &mut JoinSet<()>) -> Stopped<D::Error> {
        let mut draining = self.phase.subscribe();
        let mut backoff = Backoff::new(PAUSES[0], PAUSES[1]);
        // A claim that has no answer yet: it is asked again as it was, for it may have taken events.
        let mut unanswered: Option<Sent> = None;
        loop {
            while let Some(ended) = attempts.try_join_next() {
                unwind(ended);
            }
            let free = self.slots.saturating_sub(attempts.len());
            if free == 0 {
                tokio::select! {
                    biased;
                    _ = draining.wait_for(|phase| *phase >= Phase::Draining) => {
                        return Stopped::Told(unanswered);
                    }
                    Some(ended) = attempts.join_next() => unwind(ended),
                }
                continue;
            }
            let (ask, left, is_repeated) = self.next_ask(unanswered.take(), free);
            let answer = tokio::select! {
                biased;
                _ = draining.wait_for(|phase| *phase >= Phase::Draining) => {
                    return Stopped::Told(Some((ask, left)));
                }
                answer = self.work.door.claim(&ask) => answer,
            };
            let pause = match answer {
                Ok(claims) => {
                    self.answered(&mut backoff);
                    let is_empty = claims.is_empty();
                    // Which of them took what came is not known, nor whether the server has it back by now.
                    let began = (!is_repeated).then_some(left);
                    claims.into_iter().for_each(|claimed| self.begin(attempts, claimed, began));
                    if is_empty { EMPTY_PAUSE.saturating_sub(left.elapsed()) } else { Duration::ZERO }
                }
                Err(Failed::Never(error)) => return Stopped::Refused(error),
                Err(Failed::Later { after, may_have_applied, why }) => {
                    // A repetition that did not arrive says nothing of what came before.
                    unanswered = (is_repeated || may_have_applied).then_some((ask, left));
                    self.failed(&mut backoff, after, &why)
                }
                // No claim has a lease that could be over.
                Err(Failed::Gone(reason)) => {
                    debug!(?reason, "a claim was answered as a heartbeat is");
                    unanswered = is_repeated.then_some((ask, left));
                    backoff.next(None)
                }
            };
            if pause > Duration::ZERO {
                tokio::select! {
                    _ = draining.wait_for(|phase| *phase >= Phase::Draining) => {
                        return Stopped::Told(unanswered);
                    }
                    () = sleep(pause) => {}
                }
            }
        }
    }

    fn answered(&self, backoff: &mut Backoff) {
        self.work.health.claim_answered();
        if backoff.failures() > 0 {
            info!(failures = backoff.failures(), "claims are answered again");
        }
        backoff.reset();
    }

    /// How long to wait before the next claim.
    fn failed(&self, backoff: &mut Backoff, after: Option<Duration>, why: &D::Error) -> Duration {
        self.work.health.claim_failed();
        let pause = backoff.next(after);
        warn!(failures = backoff.failures(), ?pause, error = why as &dyn std::error::Error, "a claim failed");
        pause
    }

    /// What to claim next, since when, and whether it was asked before.
    fn next_ask(&self, unanswered: Option<Sent>, free: usize) -> (Ask, Instant, bool) {
        match unanswered {
            Some((ask, left)) => (ask, left, true),
            None => (self.ask(free), Instant::now(), false),
        }
    }

    /// A claim for so many free slots.
    fn ask(&self, free: usize) -> Ask {
        let key = format!("naven-consumer-{:016x}{:016x}", random_bits(), random_bits());
        let key = key.parse().expect("these characters make a key");
        let most = free.min(CLAIM_EVENTS_MAX as usize);
        Ask { key, most, length: self.work.length, wait: self.wait, is_last: false }
    }

    /// Asks once more for what a claim that was dropped in the middle may have taken: it goes back at once, and not when
    /// its lease ends.
    async fn collect(&self, attempts: &mut JoinSet<()>, ask: Ask) {
        let time = COLLECT_MAX.min(self.drain_limit / 4);
        let again = Ask { is_last: true, ..ask };
        if let Ok(Ok(claims)) = timeout(time, self.work.door.claim(&again)).await {
            claims.into_iter().for_each(|claimed| self.begin(attempts, claimed, None));
        }
    }

    fn begin(&self, attempts: &mut JoinSet<()>, claimed: Claimed<D>, left: Option<Instant>) {
        attempts.spawn_local(attempt(Rc::clone(&self.work), claimed, left));
    }

    /// Waits for all attempts, and hurries them as the limit comes nearer. What a claim that was dropped may have taken goes
    /// back.
    async fn drain(&self, attempts: &mut JoinSet<()>, dropped: Option<Sent>) {
        let limit = Instant::now() + self.drain_limit;
        if let Some((ask, _)) = dropped {
            self.collect(attempts, ask).await;
        }
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
