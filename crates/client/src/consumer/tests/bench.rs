//! A consumer under test.
//!
//! Lives here: setting one up over the server in memory, and running it for a while. Not here: the server (`server.rs`).

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::runtime;
use tokio::sync::watch;
use tokio::task::LocalSet;
use tokio::time::{Instant, sleep};

use super::server::Server;
use crate::consumer::attempt::{Phase, Work};
use crate::consumer::builder::Undecodable;
use crate::consumer::delivery::Delivery;
use crate::consumer::handler::{IntoOutcome, handler};
use crate::consumer::health::{Drained, Health};
use crate::consumer::lost::Lost;
use crate::consumer::pump::Pump;

/// The length of leases.
pub(crate) const LEASE: Duration = Duration::from_secs(9);

#[derive(Debug, Clone, serde::Deserialize)]
pub(crate) struct Numbered {
    pub(crate) n: u64,
}

/// What is set, and what came of it.
pub(crate) struct Bench {
    pub(crate) slots: usize,
    pub(crate) drain_limit: Duration,
    pub(crate) grace: Duration,
    /// How long a claim waits.
    pub(crate) wait: Duration,
    /// When it is told to stop.
    pub(crate) stop_after: Duration,
}

/// What a run came to.
pub(crate) struct Run {
    pub(crate) lost: Vec<Lost>,
    /// When each was told, in milliseconds since it began.
    pub(crate) lost_at_ms: Vec<u64>,
    pub(crate) drained: Drained,
    pub(crate) refused: bool,
    /// How long it took to end, once it was told to.
    pub(crate) ended_after: Duration,
}

impl Default for Bench {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            slots: 4,
            drain_limit: seconds(30),
            grace: seconds(1),
            wait: seconds(20),
            stop_after: seconds(60),
        }
    }
}

/// Runs `test` by a clock that jumps to whatever is waited for.
pub(crate) fn by_the_clock<F: Future<Output = ()>>(test: impl FnOnce() -> F) {
    let runtime = runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async { test().await });
}

impl Bench {
    pub(crate) async fn run<F, R>(
        self,
        server: &Rc<Server>,
        handle: impl Fn(Delivery<Numbered>) -> F + Send + Sync + 'static,
    ) -> Run
    where
        F: Future<Output = R> + Send + 'static,
        R: IntoOutcome,
    {
        let (phase, until_phase) = watch::channel(Phase::Working);
        let lost = Arc::new(Mutex::new(Vec::new()));
        let health = Health::new();
        let (tell, began) = (Arc::clone(&lost), Instant::now());
        let ms = move || u64::try_from(began.elapsed().as_millis()).unwrap();
        let work = Work {
            door: Rc::new(Rc::clone(server)),
            length: LEASE,
            grace: self.grace,
            executor: runtime::Handle::current(),
            handler: handler(handle, Undecodable::DeadLetter),
            on_lost: Some(Arc::new(move |facts: &_, reason, phase| {
                tell.lock().unwrap().push((Lost::new(facts, reason, phase), ms()));
            })),
            health: health.clone(),
            phase: until_phase,
        };
        let pump = Pump {
            work: Rc::new(work),
            slots: self.slots,
            wait: self.wait,
            drain_limit: self.drain_limit,
            phase: phase.clone(),
        };
        let told_at = Rc::new(RefCell::new(Instant::now()));
        let refused = LocalSet::new()
            .run_until(async {
                let telling = Rc::clone(&told_at);
                tokio::task::spawn_local(async move {
                    sleep(self.stop_after).await;
                    telling.replace(Instant::now());
                    phase.send_replace(Phase::Draining);
                });
                pump.run().await.is_err()
            })
            .await;
        let (lost, lost_at_ms) = lost.lock().unwrap().iter().cloned().unzip();
        let ended_after = told_at.borrow().elapsed();
        Run { lost, lost_at_ms, drained: health.so_far(), refused, ended_after }
    }
}
