//! Running a consumer, whatever its server.
//!
//! Lives here: the settings that any consumer has, with their bounds, and the thread on which all but the handlers runs. Not
//! here: what it does there (`pump.rs`).

use std::future::Future;
use std::rc::Rc;
use std::thread;
use std::time::Duration;

use tokio::runtime;
use tokio::sync::{oneshot, watch};
use tokio::task::LocalSet;

use super::attempt::{OnLost, Phase, Work};
use super::door::Door;
use super::handler::{Handler, said};
use super::health::{Drained, Health};
use super::pump::Pump;

/// Most events in work at once.
const CONCURRENCY_MAX: usize = 10_000;
/// Longest time to drain.
const DRAIN_LIMIT_MAX: Duration = Duration::from_secs(12 * 3_600);

/// What a consumer is set to, whatever its server; `F` is what is known of an event there.
pub(crate) struct Settings<F> {
    pub(crate) concurrency: usize,
    pub(crate) lease: Duration,
    pub(crate) wait: Duration,
    pub(crate) drain_limit: Duration,
    pub(crate) grace: Duration,
    pub(crate) handler: Handler<F>,
    pub(crate) on_lost: Option<OnLost<F>>,
    pub(crate) health: Health,
}

/// Why a consumer ended that was not told to.
#[derive(Debug)]
pub(crate) enum Ended<E> {
    /// A setting breaks a rule.
    Setup { why: String },
    /// Claims are refused for good.
    Refused { source: E },
    /// A fault of ours.
    Panicked { why: String },
}

/// How the thread ended: it panicked, or claims were refused for good, or it was told to end.
type Answer<E> = thread::Result<Result<(), E>>;

/// Works until `stop` comes true, then drains. `door` is made on the thread that uses it. Handlers run on the tokio
/// runtime that this is called on.
///
/// Cancel safety: dropped, it ends at once, as `Consumer::run` says.
pub(crate) async fn run<D: Door>(
    door: impl FnOnce() -> D + Send + 'static,
    settings: Settings<D::Facts>,
    stop: impl Future<Output = ()>,
) -> Result<Drained, Ended<D::Error>> {
    settings.check().map_err(|why| Ended::Setup { why })?;
    let (phase, until_phase) = watch::channel(Phase::Working);
    // However this ends, nothing is held for longer than it takes to give it back.
    let _ends = AbortOnDrop(phase.clone());
    let health = settings.health.clone();
    let started = start(door, settings, phase.clone(), until_phase);
    let mut ended = started.map_err(|why| Ended::Setup { why })?;
    let answer = tokio::select! {
        () = stop => {
            phase.send_if_modified(|phase| *phase == Phase::Working && { *phase = Phase::Draining; true });
            (&mut ended).await
        }
        answer = &mut ended => answer,
    };
    match answer {
        Ok(Ok(Ok(()))) => Ok(health.so_far()),
        Ok(Ok(Err(source))) => Err(Ended::Refused { source }),
        Ok(Err(panic)) => Err(Ended::Panicked { why: said(panic.as_ref()).to_owned() }),
        Err(_) => Err(Ended::Panicked { why: "it is gone".to_owned() }),
    }
}

impl<F> Settings<F> {
    fn check(&self) -> Result<(), String> {
        if !(1..=CONCURRENCY_MAX).contains(&self.concurrency) {
            return Err(format!("concurrency is 1 to {CONCURRENCY_MAX}, and not {}", self.concurrency));
        }
        if self.drain_limit > DRAIN_LIMIT_MAX {
            return Err(format!("the drain limit is at most 12 h, and not {:?}", self.drain_limit));
        }
        Ok(())
    }
}

/// Starts the thread that does all but to handle.
fn start<D: Door>(
    door: impl FnOnce() -> D + Send + 'static,
    settings: Settings<D::Facts>,
    phase: watch::Sender<Phase>,
    until_phase: watch::Receiver<Phase>,
) -> Result<oneshot::Receiver<Answer<D::Error>>, String> {
    let own = runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("no runtime can be made: {error}"))?;
    let executor =
        runtime::Handle::try_current().map_err(|_| "a consumer runs within a tokio runtime".to_owned())?;
    let (tell, ended) = oneshot::channel();
    let run = move || {
        let work = Work {
            door: Rc::new(door()),
            length: settings.lease,
            grace: settings.grace,
            executor,
            handler: settings.handler,
            on_lost: settings.on_lost,
            health: settings.health,
            phase: until_phase,
        };
        let pump = Pump {
            work: Rc::new(work),
            slots: settings.concurrency,
            wait: settings.wait,
            drain_limit: settings.drain_limit,
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
        .map_err(|error| format!("no thread can be started: {error}"))?;
    Ok(ended)
}

struct AbortOnDrop(watch::Sender<Phase>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.send_replace(Phase::Aborting);
    }
}
