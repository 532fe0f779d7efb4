//! What a handler and the keeper of its lease share.
//!
//! Lives here: until when the lease is held here, and whether the handler is to stop. Not here: extending a lease
//! (`lease.rs`), and what handlers see (`delivery.rs`).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use naven_api::Progress;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::delivery::StopReason;
use crate::ledger::Runs;

/// What a handler said of how far it came, and nobody has been told yet: the newest word alone.
#[derive(Debug, Clone, Default)]
pub(crate) struct News(Arc<Mutex<Option<Progress>>>);

impl News {
    pub(crate) fn say(&self, progress: Progress) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(progress);
    }

    pub(crate) fn take_new(&self) -> Option<Progress> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// One lease, as far as its handler is concerned.
#[derive(Debug)]
pub(crate) struct Hold {
    until: Mutex<Until>,
    stop: watch::Sender<Option<StopReason>>,
    effects: Arc<Runs>,
}

#[derive(Debug, Clone, Copy)]
struct Until {
    /// The lease may be over from then on.
    deadline: Instant,
    /// A handler is told to stop then.
    warning: Instant,
}

impl Hold {
    pub(crate) fn new(deadline: Instant, length: Duration) -> Self {
        let until = Mutex::new(Until::new(deadline, length));
        Self { until, stop: watch::Sender::new(None), effects: Arc::default() }
    }

    /// Which effects of the event its handler runs.
    pub(super) fn effects(&self) -> &Arc<Runs> {
        &self.effects
    }

    /// The lease is held until `deadline`.
    pub(crate) fn extend(&self, deadline: Instant, length: Duration) {
        *self.until.lock().unwrap_or_else(PoisonError::into_inner) = Until::new(deadline, length);
    }

    fn until(&self) -> Until {
        *self.until.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How long the lease is surely held yet.
    pub(crate) fn remaining(&self) -> Duration {
        self.until().deadline.saturating_duration_since(Instant::now())
    }

    /// When the lease may be over.
    pub(crate) fn deadline(&self) -> Instant {
        self.until().deadline
    }

    /// When its handler is to stop, unless the lease is extended.
    pub(crate) fn warning(&self) -> Instant {
        self.until().warning
    }

    /// Tells the handler to stop. The first reason stands, until the lease is lost.
    pub(crate) fn stop(&self, reason: StopReason) {
        self.stop.send_if_modified(|known| {
            let is_news = known.is_none_or(|known| known != reason && reason == StopReason::LeaseLost);
            if is_news {
                *known = Some(reason);
            }
            is_news
        });
    }

    /// The lease is over: nothing is left of it.
    pub(crate) fn lose(&self) {
        self.extend(Instant::now(), Duration::ZERO);
        self.stop(StopReason::LeaseLost);
    }

    /// Why the handler is to stop, where it is. The clock is asked too: who keeps the lease may be late. Who was told once
    /// that the lease is lost is told so for good.
    pub(crate) fn stopped(&self) -> Option<StopReason> {
        if Instant::now() >= self.warning() {
            self.stop(StopReason::LeaseLost);
        }
        *self.stop.borrow()
    }

    /// Waits until the handler is to stop.
    ///
    /// Cancel safety: harmless, it only looks.
    pub(crate) async fn until_stopped(&self) -> StopReason {
        self.until_told(|_| true).await
    }

    /// Waits until the lease is lost.
    ///
    /// Cancel safety: harmless, it only looks.
    pub(crate) async fn until_lost(&self) {
        self.until_told(|reason| reason == StopReason::LeaseLost).await;
    }

    async fn until_told(&self, wanted: impl Fn(StopReason) -> bool) -> StopReason {
        let mut told = self.stop.subscribe();
        loop {
            if let Some(reason) = self.stopped().filter(|reason| wanted(*reason)) {
                return reason;
            }
            tokio::select! {
                // The sender lives as long as `self`.
                _ = told.changed() => {}
                () = sleep_until(self.warning()) => {}
            }
        }
    }
}

impl Until {
    fn new(deadline: Instant, length: Duration) -> Self {
        // A tenth of the lease to come to an end in, and at most so long.
        let margin = (length / 10).min(WARNING_MAX);
        Self { deadline, warning: deadline.checked_sub(margin).unwrap_or(deadline) }
    }
}

/// Longest time before a lease's end at which its handler is told to stop.
const WARNING_MAX: Duration = Duration::from_secs(5);
