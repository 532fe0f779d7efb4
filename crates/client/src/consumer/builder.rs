//! A consumer: what it is set to, and running it.
//!
//! Lives here: the settings with their bounds, and the thread on which all but the handlers runs. Not here: what it does there
//! (`pump.rs`).

use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use naven_api::limits::{LEASE_SECONDS_DEFAULT, WAIT_SECONDS_DEFAULT};
use naven_api::{ConsumerId, LeaseSeconds, WaitSeconds};
use serde::de::DeserializeOwned;
use tokio::runtime;
use tokio::sync::{Semaphore, oneshot, watch};
use tokio::task::LocalSet;

use super::attempt::{OnLost, Phase, Work};
use super::delivery::Delivery;
use super::error::ConsumerError;
use super::handler::{Handler, IntoOutcome, handler, said};
use super::health::{Drained, Health};
use super::http::{CALLS_AT_ONCE, HttpDoor};
use super::lost::Lost;
use super::pump::Pump;
use crate::client::Client;

/// Most events in work at once.
const CONCURRENCY_MAX: usize = 10_000;
/// Longest time to drain.
const DRAIN_LIMIT_MAX: Duration = Duration::from_secs(12 * 3_600);

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
    on_lost: Option<OnLost>,
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
        self.check()?;
        let (phase, until_phase) = watch::channel(Phase::Working);
        // However this ends, nothing is held for longer than it takes to give it back.
        let _ends = AbortOnDrop(phase.clone());
        let handler = handler(handle, self.undecodable);
        let (health, queue) = (self.health.clone(), self.queue.clone());
        let mut ended = self.start(handler, phase.clone(), until_phase)?;
        let answer = tokio::select! {
            () = stop => {
                phase.send_if_modified(|phase| *phase == Phase::Working && { *phase = Phase::Draining; true });
                (&mut ended).await
            }
            answer = &mut ended => answer,
        };
        match answer {
            Ok(Ok(Ok(()))) => Ok(health.so_far()),
            Ok(Ok(Err(source))) => Err(ConsumerError::Refused { queue, source }),
            Ok(Err(panic)) => Err(ConsumerError::Panicked { why: said(panic.as_ref()).to_owned() }),
            Err(_) => Err(ConsumerError::Panicked { why: "it is gone".to_owned() }),
        }
    }

    fn check(&self) -> Result<(), ConsumerError> {
        let setup = |why: String| Err(ConsumerError::Setup { why });
        if !(1..=CONCURRENCY_MAX).contains(&self.concurrency) {
            return setup(format!("concurrency is 1 to {CONCURRENCY_MAX}, and not {}", self.concurrency));
        }
        if self.drain_limit > DRAIN_LIMIT_MAX {
            return setup(format!("the drain limit is at most 12 h, and not {:?}", self.drain_limit));
        }
        Ok(())
    }

    /// Starts the thread that does all but to handle.
    fn start(
        self,
        handler: Handler,
        phase: watch::Sender<Phase>,
        until_phase: watch::Receiver<Phase>,
    ) -> Result<oneshot::Receiver<thread::Result<Result<(), crate::Error>>>, ConsumerError> {
        let setup = |why: String| ConsumerError::Setup { why };
        let client = self.client.with_own_connections().map_err(|error| setup(error.to_string()))?;
        let own = runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| setup(format!("no runtime can be made: {error}")))?;
        let executor = runtime::Handle::try_current()
            .map_err(|_| setup("a consumer runs within a tokio runtime".to_owned()))?;
        let (tell, ended) = oneshot::channel();
        let run = move || {
            let (length, wait) = (self.lease.get(), self.wait.get());
            let seconds = |seconds: u32| Duration::from_secs(u64::from(seconds));
            let calls = || Semaphore::new(CALLS_AT_ONCE);
            let (beats, words) = (calls(), calls());
            let door = HttpDoor { client, queue: self.queue, consumer: self.name, beats, words };
            let work = Work {
                door: Rc::new(door),
                length: seconds(length),
                grace: self.grace,
                executor,
                handler,
                on_lost: self.on_lost,
                health: self.health,
                phase: until_phase,
            };
            let pump = Pump {
                work: Rc::new(work),
                slots: self.concurrency,
                wait: seconds(wait),
                drain_limit: self.drain_limit,
                phase,
            };
            let ended = LocalSet::new().block_on(&own, pump.run());
            // Whoever still looks a name up is not waited for.
            own.shutdown_background();
            ended
        };
        thread::Builder::new()
            .name("naven-consumer".to_owned())
            .spawn(move || {
                let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
                // Whoever would be told may have gone.
                let _ = tell.send(ended);
            })
            .map_err(|error| setup(format!("no thread can be started: {error}")))?;
        Ok(ended)
    }
}

struct AbortOnDrop(watch::Sender<Phase>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.send_replace(Phase::Aborting);
    }
}
