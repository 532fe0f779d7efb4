//! A consumer of a queue: what it is set to.
//!
//! Lives here: the settings of HTTP. Not here: those that any consumer has, and running it (`running.rs`).

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use naven_api::limits::{LEASE_SECONDS_DEFAULT, WAIT_SECONDS_DEFAULT};
use naven_api::{ConsumerId, LeaseSeconds, WaitSeconds};
use serde::de::DeserializeOwned;

use super::attempt::OnLost;
use super::delivery::{Delivery, Facts};
use super::error::ConsumerError;
use super::handler::{IntoOutcome, handler};
use super::health::{Drained, Health};
use super::http::HttpDoor;
use super::lost::Lost;
use super::outcome::Outcome;
use super::running::{Ended, Settings, run};
use crate::client::Client;

/// A consumer of one queue. See [the module](super).
pub struct Consumer {
    client: Client,
    queue: String,
    concurrency: usize,
    lease: LeaseSeconds,
    wait: WaitSeconds,
    name: Option<ConsumerId>,
    drain_limit: Duration,
    grace: Duration,
    undecodable: Undecodable,
    on_lost: Option<OnLost<Facts>>,
    health: Health,
}

/// What becomes of an event whose payload is not what the handler takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Undecodable {
    /// A dead letter, from which it can be redriven once there is a handler for it.
    #[default]
    DeadLetter,
    /// A retry by the queue's backoff: for consumers of several versions beside each other.
    Retry,
}

impl Undecodable {
    /// What becomes of it; `error` says why it cannot be read.
    pub(crate) fn outcome(self, error: String) -> Outcome {
        match self {
            Self::DeadLetter => Outcome::DeadLetter { error },
            Self::Retry => Outcome::Retry { error, delay: None },
        }
    }
}

impl Consumer {
    /// A consumer of `queue` (its name or id) that works on one event at a time, under leases of 60 s.
    pub fn new(client: Client, queue: impl Into<String>) -> Self {
        let lease = LeaseSeconds::try_from(LEASE_SECONDS_DEFAULT).expect("the default is within its bounds");
        let wait = WaitSeconds::try_from(WAIT_SECONDS_DEFAULT).expect("the default is within its bounds");
        Self {
            client,
            queue: queue.into(),
            concurrency: 1,
            lease,
            wait,
            name: None,
            drain_limit: Duration::from_secs(30),
            grace: Duration::from_secs(5),
            undecodable: Undecodable::default(),
            on_lost: None,
            health: Health::new(),
        }
    }

    /// How many events are worked on at once: 1 to 10,000.
    #[must_use]
    pub fn concurrency(self, concurrency: usize) -> Self {
        Self { concurrency, ..self }
    }

    /// How long each lease holds without a heartbeat. Shorter, and what a dead consumer held is delivered again sooner;
    /// longer, and a longer silence of the network is survived.
    #[must_use]
    pub fn lease(self, lease: LeaseSeconds) -> Self {
        Self { lease, ..self }
    }

    /// How long a claim waits for an event (20 s). Below what proxies on the way cut, often 60 s.
    #[must_use]
    pub fn wait(self, wait: WaitSeconds) -> Self {
        Self { wait, ..self }
    }

    /// What it is called where people look for who holds what.
    #[must_use]
    pub fn name(self, name: ConsumerId) -> Self {
        Self { name: Some(name), ..self }
    }

    /// How long, once told to stop, it waits for what is in flight (30 s, at most 12 h). The grace before its end, and at
    /// most half of it, handlers are told to stop; what has not ended a tenth of it before its end, and at most a second, is
    /// dropped, and its event given back. With none, all is dropped at once; giving back may take a quarter of a second
    /// in any case. The event of a handler that cannot be dropped, for it does not await, is left to its lease.
    #[must_use]
    pub fn drain_limit(self, drain_limit: Duration) -> Self {
        Self { drain_limit, ..self }
    }

    /// How long a handler that is told to stop may take for it (5 s), before it is dropped where it awaits something. One
    /// whose event was cancelled is not dropped: its lease is held, and its word counts.
    #[must_use]
    pub fn grace(self, grace: Duration) -> Self {
        Self { grace, ..self }
    }

    /// What becomes of an event whose payload is not what the handler takes.
    #[must_use]
    pub fn undecodable(self, undecodable: Undecodable) -> Self {
        Self { undecodable, ..self }
    }

    /// Is called once for each lease that was lost, on the executor of the handlers, to reconcile what may already have
    /// happened. The slot is free once it has returned, or after 5 s.
    #[must_use]
    pub fn on_lost(self, on_lost: impl Fn(Lost) + Send + Sync + 'static) -> Self {
        let on_lost = move |facts: &Facts, reason, phase| on_lost(Lost::new(facts, reason, phase));
        Self { on_lost: Some(Arc::new(on_lost)), ..self }
    }

    /// How it is, to be asked while it runs.
    pub fn health(&self) -> Health {
        self.health.clone()
    }

    /// Works until `stop` comes true, then drains. Handlers run on the tokio runtime that this is called on, each as a
    /// task of its own.
    ///
    /// Cancel safety: dropped, it ends at once. Handlers are dropped where they await something, and their events are given
    /// back, as far as the server can still be told; nobody waits for that.
    ///
    /// # Errors
    /// [`ConsumerError::Setup`] where a setting is out of its bounds; [`ConsumerError::Refused`] where claims are refused for
    /// good, after what was in flight has drained.
    pub async fn run<T, F, R>(
        self,
        stop: impl Future<Output = ()>,
        handle: impl Fn(Delivery<T>) -> F + Send + Sync + 'static,
    ) -> Result<Drained, ConsumerError>
    where
        T: DeserializeOwned + Send + 'static,
        F: Future<Output = R> + Send + 'static,
        R: IntoOutcome,
    {
        let (length, wait) = (self.lease.get(), self.wait.get());
        let seconds = |seconds: u32| Duration::from_secs(u64::from(seconds));
        let settings = Settings {
            concurrency: self.concurrency,
            lease: seconds(length),
            wait: seconds(wait),
            drain_limit: self.drain_limit,
            grace: self.grace,
            handler: handler(handle, self.undecodable),
            on_lost: self.on_lost,
            health: self.health,
        };
        let (queue, consumer) = (self.queue.clone(), self.name);
        let client = self.client.with_own_connections();
        let client = client.map_err(|error| ConsumerError::Setup { why: error.to_string() })?;
        let door = move || HttpDoor::new(client, self.queue, consumer, seconds(length));
        run(door, settings, stop).await.map_err(|ended| match ended {
            Ended::Setup { why } => ConsumerError::Setup { why },
            Ended::Refused { source } => ConsumerError::Refused { queue, source },
            Ended::Panicked { why } => ConsumerError::Panicked { why },
        })
    }
}
