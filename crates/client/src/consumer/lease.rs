//! Keeping a lease.
//!
//! Lives here: when a heartbeat goes out, and what its answer, or none, means. Not here: what a lost lease does to its attempt
//! (`attempt.rs`).

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use naven_api::Progress;
use tokio::time::{Instant, sleep_until, timeout};
use tracing::debug;

use super::backoff::{Backoff, fraction};
use super::door::{Beaten, Door, Failed};
use super::hold::{Hold, News};
use super::lost::LostReason;

/// How many heartbeats go out in the length of a lease: the second and the third are there for the first that is lost.
pub(super) const BEATS: u32 = 3;

type Beat<E> = Pin<Box<dyn Future<Output = Answered<E>>>>;

/// A heartbeat's answer; none where it took too long.
struct Answered<E> {
    /// When it went out: the lease holds at least its length from then.
    left: Instant,
    progress: Option<Progress>,
    answer: Option<Result<Beaten, Failed<E>>>,
}

/// A lease in our hands.
pub(super) struct Lease<D: Door> {
    door: Rc<D>,
    event: D::Id,
    token: D::Token,
    length: Duration,
    hold: Arc<Hold>,
    news: News,
    /// What a heartbeat was to say that did not get through.
    unsaid: Option<Progress>,
    next_beat: Instant,
    /// One at a time.
    in_flight: Option<Beat<D::Error>>,
    /// False until it is known when the lease began: a claim may have waited on the way.
    is_sure: bool,
    backoff: Backoff,
}

/// Why there is nothing to keep any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Lost(LostReason),
    /// The server took what we said of the attempt.
    Settled,
}

/// Of which event, and by what it is proved.
pub(super) struct Proof<D: Door> {
    pub(super) door: Rc<D>,
    pub(super) event: D::Id,
    pub(super) token: D::Token,
}

impl<D: Door> Lease<D> {
    /// The lease of a claim that went out at `left`, and is held from then on for `held`, to be kept `length` by
    /// `length`. Its heartbeats begin at a third of what is held, or at once where that is over, or where it is not known
    /// which of several claims began it: then the lease is not known to be held before one of them is answered.
    pub(super) fn new(
        proof: Proof<D>,
        [length, held]: [Duration; 2],
        left: Option<Instant>,
        news: News,
    ) -> Self {
        let Proof { door, event, token } = proof;
        let (now, held) = (Instant::now(), held.min(length));
        let third = held / BEATS;
        let sure = left.filter(|left| now < *left + third);
        let is_sure = sure.is_some();
        let hold = Arc::new(Hold::new(sure.unwrap_or(now) + held, held));
        let next_beat = sure.map_or(now, |left| left + with_jitter(third));
        let backoff = Backoff::new(length / 24, length / 6);
        let (unsaid, in_flight) = (None, None);
        Self { door, event, token, length, hold, news, unsaid, next_beat, in_flight, is_sure, backoff }
    }

    pub(super) fn hold(&self) -> &Arc<Hold> {
        &self.hold
    }

    pub(super) fn door(&self) -> &Rc<D> {
        &self.door
    }

    pub(super) fn event(&self) -> &D::Id {
        &self.event
    }

    pub(super) fn token(&self) -> &D::Token {
        &self.token
    }

    /// Waits until the lease is known to be held.
    ///
    /// Cancel safety: as for [`keep`](Self::keep).
    pub(super) async fn make_sure(&mut self) -> Result<(), Ending> {
        while !self.is_sure {
            if let Some(ending) = self.step().await {
                return Err(ending);
            }
        }
        Ok(())
    }

    /// Keeps the lease until there is nothing to keep any more.
    ///
    /// Cancel safety: nothing is lost; a heartbeat that is on its way is waited for by the next call.
    pub(super) async fn keep(&mut self) -> Ending {
        loop {
            if let Some(ending) = self.step().await {
                return ending;
            }
        }
    }

    async fn step(&mut self) -> Option<Ending> {
        let deadline = self.hold.deadline();
        let Some(beat) = &mut self.in_flight else {
            sleep_until(self.next_beat.min(deadline)).await;
            if Instant::now() >= deadline {
                return Some(Ending::Lost(LostReason::TimeOver));
            }
            self.begin_beat();
            return None;
        };
        tokio::select! {
            // An answer counts however late we look at it.
            biased;
            answered = beat => {
                self.in_flight = None;
                self.answered(answered)
            }
            () = sleep_until(deadline) => Some(Ending::Lost(LostReason::TimeOver)),
        }
    }

    fn begin_beat(&mut self) {
        // The newest word, or the last one that did not get through: never an older one after a newer.
        let unsaid = self.unsaid.take();
        let progress = self.news.take_new().or(unsaid);
        let (door, event, token, length) =
            (Rc::clone(&self.door), self.event.clone(), self.token.clone(), self.length);
        let left = Instant::now();
        self.in_flight = Some(Box::pin(async move {
            // A call that hangs must leave time for another.
            let call = timeout(length / BEATS, door.beat(&event, &token, length, progress.clone()));
            Answered { left, progress, answer: call.await.ok() }
        }));
    }

    fn answered(&mut self, answered: Answered<D::Error>) -> Option<Ending> {
        let Answered { left, progress, answer } = answered;
        let asked = match answer {
            Some(Ok(Beaten::Settled)) => return Some(Ending::Settled),
            Some(Ok(Beaten::Held { length, cancel_requested })) => {
                let held = length.min(self.length);
                self.is_sure = true;
                self.backoff.reset();
                self.hold.extend(left + held, held);
                // Not in ever smaller steps towards an end that no heartbeat moves.
                self.next_beat = left + with_jitter(held / BEATS).max(self.length / 60);
                if cancel_requested {
                    self.hold.stop(super::delivery::StopReason::CancelRequested);
                }
                return None;
            }
            Some(Err(Failed::Gone(reason))) => return Some(Ending::Lost(reason)),
            Some(Err(Failed::Later { after, why, .. })) => {
                debug!(event = %self.event, error = %why, "a heartbeat did not get through");
                after
            }
            // It may be mended while the lease lasts.
            Some(Err(Failed::Never(why))) => {
                debug!(event = %self.event, error = %why, "a heartbeat was refused");
                None
            }
            None => {
                debug!(event = %self.event, "a heartbeat was not answered in time");
                None
            }
        };
        self.unsaid = progress;
        let now = Instant::now();
        // Whatever the server asks for, one more try has to be in time.
        let in_time = self.hold.deadline().saturating_duration_since(now) / 2;
        // And not in ever smaller steps.
        self.next_beat = now + self.backoff.next(asked).min(in_time).max(self.length / 60);
        None
    }
}

/// A span, shortened by a random tenth at most: leases that began at once are not extended at once for ever.
fn with_jitter(span: Duration) -> Duration {
    span.mul_f64(1.0 - fraction() / 10.0)
}
