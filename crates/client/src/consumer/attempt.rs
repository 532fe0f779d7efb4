//! One attempt at an event, from its claim to its end.
//!
//! Lives here: the order of things. Not here: each of them: keeping the lease (`lease.rs`), the handler (`handler.rs`), saying how
//! it ended (`settling.rs`).

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime;
use tokio::sync::watch;
use tokio::task::{JoinError, JoinHandle};
use tokio::time::{Instant, sleep, timeout};
use tracing::{debug, warn};

use super::delivery::StopReason;
use super::door::{Claimed, Door, Known};
use super::handler::{Handed, Handler, unanswered};
use super::health::{Ended, Health};
use super::hold::{Hold, News};
use super::lease::{Ending, Lease, Proof};
use super::lost::{LostPhase, LostReason};
use super::outcome::Outcome;
use super::settling::{Unsettled, settle};

/// Is told of the event of a lease that was lost.
pub(crate) type OnLost<F> = Arc<dyn Fn(&F, LostReason, LostPhase) + Send + Sync>;

/// What all attempts of a consumer share.
pub(crate) struct Work<D: Door> {
    pub(crate) door: Rc<D>,
    pub(crate) length: Duration,
    pub(crate) grace: Duration,
    /// Where handlers run.
    pub(crate) executor: runtime::Handle,
    pub(crate) handler: Handler<D::Facts>,
    pub(crate) on_lost: Option<OnLost<D::Facts>>,
    pub(crate) health: Health,
    pub(crate) phase: watch::Receiver<Phase>,
}

/// How far the end of a consumer has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// It works.
    Working,
    /// Nothing new is begun.
    Draining,
    /// Handlers are told to stop.
    Stopping,
    /// Handlers are dropped.
    Aborting,
    /// It does not come.
    Never,
}

/// Longest wait for whoever is told of a lost lease.
const ON_LOST_MAX: Duration = Duration::from_secs(5);

/// A handler that runs. Dropped, so is the handler, where it awaits something, and it is told that its lease is lost.
struct Running {
    handle: JoinHandle<Ran>,
    hold: Arc<Hold>,
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.handle.is_finished() {
            self.hold.lose();
            self.handle.abort();
        }
    }
}

/// What became of a handler that was let run.
enum Ran {
    Ended(Outcome),
    /// It was not begun, for it was to stop before that.
    NotBegun,
}

/// Sees `claimed`, for which a claim went out at `left`, to its end.
pub(crate) async fn attempt<D: Door>(work: Rc<Work<D>>, claimed: Claimed<D>, left: Option<Instant>) {
    work.health.begun();
    let Claimed { token, facts, length } = claimed;
    let news = News::default();
    let proof = Proof { door: Rc::clone(&work.door), event: facts.event().clone(), token };
    let mut lease = Lease::new(proof, [work.length, length.unwrap_or(work.length)], left, news.clone());
    let facts = Arc::new(facts);
    let handed = Handed { facts: Arc::clone(&facts), hold: Arc::clone(lease.hold()), news };
    let ended = match work.run(&mut lease, handed).await {
        Ok(outcome) => work.settled(&facts, &outcome, settle(&mut lease, &outcome).await).await,
        Err((reason, phase)) => work.lost(&facts, reason, phase).await,
    };
    work.health.ended(ended);
}

type IsLost = (LostReason, LostPhase);

impl<D: Door> Work<D> {
    /// The outcome of the handler, or how the lease was lost before there was one.
    async fn run(&self, lease: &mut Lease<D>, handed: Handed<D::Facts>) -> Result<Outcome, IsLost> {
        let mut phase = self.phase.clone();
        tokio::select! {
            biased;
            sure = lease.make_sure() => {
                sure.map_err(|ending| (reason_of(ending), LostPhase::NotBegun))?;
            }
            () = reaches(&mut phase, Phase::Aborting) => return Ok(Outcome::Release),
        }
        if *phase.borrow() >= Phase::Draining {
            return Ok(Outcome::Release);
        }
        let hold = Arc::clone(lease.hold());
        let mut running = self.begin(handed, Arc::clone(&hold));
        // Until handlers are told to stop, until they are dropped, and from then on: one that cannot be dropped may answer yet.
        let mut next = Phase::Stopping;
        loop {
            tokio::select! {
                biased;
                ran = &mut running.handle => return self.ran(ran, lease),
                ending = lease.keep() => {
                    hold.lose();
                    self.end(&mut running, &mut phase, lease.event()).await;
                    return Err((reason_of(ending), LostPhase::Running));
                }
                () = reaches(&mut phase, next) => {}
            }
            hold.stop(StopReason::Draining);
            if next == Phase::Stopping {
                next = Phase::Aborting;
            } else {
                running.handle.abort();
                next = Phase::Never;
            }
        }
    }

    /// Lets the handler run where handlers do.
    fn begin(&self, handed: Handed<D::Facts>, hold: Arc<Hold>) -> Running {
        let (handler, looking) = (Arc::clone(&self.handler), Arc::clone(&hold));
        let handle = self.executor.spawn(async move {
            // The executor may have come to it late.
            if looking.stopped().is_some() {
                return Ran::NotBegun;
            }
            Ran::Ended(handler(handed).await)
        });
        Running { handle, hold }
    }

    fn ran(&self, ran: Result<Ran, JoinError>, lease: &mut Lease<D>) -> Result<Outcome, IsLost> {
        match ran {
            Ok(Ran::Ended(outcome)) => Ok(outcome),
            Err(error) => Ok(unanswered(error)),
            // A heartbeat may have come through meanwhile, and what was asked for may be but to stop.
            Ok(Ran::NotBegun) if lease.hold().remaining() > Duration::ZERO => Ok(Outcome::Release),
            Ok(Ran::NotBegun) => Err((LostReason::TimeOver, LostPhase::NotBegun)),
        }
    }

    /// Waits for a handler that was told to stop, and drops it where it takes too long.
    async fn end(&self, running: &mut Running, phase: &mut watch::Receiver<Phase>, event: &D::Id) {
        tokio::select! {
            biased;
            _ = &mut running.handle => return,
            () = sleep(self.grace) => {}
            () = reaches(phase, Phase::Aborting) => {}
        }
        debug!(%event, "a handler that was told to stop is dropped");
        running.handle.abort();
        // One that does not await anything goes on, and keeps its slot, but not the end of the process.
        tokio::select! {
            biased;
            _ = &mut running.handle => {}
            () = reaches(phase, Phase::Aborting) => {}
        }
    }

    async fn settled(
        &self,
        facts: &Arc<D::Facts>,
        outcome: &Outcome,
        answer: Result<(), Unsettled>,
    ) -> Ended {
        match answer {
            Ok(()) if outcome.is_done() => Ended::Done,
            Ok(()) => Ended::NotDone,
            Err(Unsettled { reason, may_be_known }) => {
                let phase = LostPhase::Settling { done: outcome.is_done(), may_be_known };
                self.lost(facts, reason, phase).await
            }
        }
    }

    /// Says once that a lease was lost.
    async fn lost(&self, facts: &Arc<D::Facts>, reason: LostReason, phase: LostPhase) -> Ended {
        let (event, queue) = (facts.event(), facts.queue());
        let (attempt, fence) = (facts.attempt(), facts.fence());
        warn!(%event, %queue, attempt, fence, ?reason, ?phase, "the lease of an event was lost");
        if let Some(on_lost) = self.on_lost.clone() {
            let facts = Arc::clone(facts);
            let told = self.executor.spawn(async move { on_lost(&facts, reason, phase) });
            // A panic of it is printed as any other.
            drop(timeout(ON_LOST_MAX, told).await);
        }
        Ended::Lost
    }
}

fn reason_of(ending: Ending) -> LostReason {
    match ending {
        Ending::Lost(reason) => reason,
        // Nobody but us has the token, so this is somebody who was given it.
        Ending::Settled => LostReason::Settled,
    }
}

/// Waits until the end has come so far.
async fn reaches(phase: &mut watch::Receiver<Phase>, wanted: Phase) {
    if phase.wait_for(|phase| *phase >= wanted).await.is_err() {
        // Whoever could say so is gone, and takes us along.
        std::future::pending::<()>().await;
    }
}
