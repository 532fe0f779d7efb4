//! Who holds the lease of an event.
//!
//! Lives here: the lease as effects see it, and which of its effects are being run. Not here: keeping the lease
//! (`consumer::lease`).

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::effect::{Bearer, Effect, NameError};

type IsOver = Arc<dyn Fn() -> bool + Send + Sync>;

/// The holder of an event's lease. Made of `&Delivery`, or of what a claim without the consumer runtime answered.
#[derive(Clone)]
pub struct Holder {
    queue: Arc<str>,
    event: Arc<str>,
    fence: u64,
    runs: Arc<Runs>,
    is_over: Option<IsOver>,
}

impl Holder {
    /// Who claimed `event` of `queue`, and was answered the fencing number `fence` (`event.deliveryCount`).
    ///
    /// Nobody looks whether the lease is over: that is left to the caller, and to the store's fence. Make **one** for each
    /// claim and clone it: two of the same fencing number are two bearers, and refuse each other.
    pub fn new(queue: &str, event: impl fmt::Display, fence: u64) -> Self {
        let (queue, event) = (queue.into(), event.to_string().into());
        Self { queue, event, fence, runs: Arc::default(), is_over: None }
    }

    /// The same, with somebody to ask whether the lease is over.
    pub fn watched(mut self, is_over: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.is_over = Some(Arc::new(is_over));
        self
    }

    /// One that shares what it runs with others of the same lease.
    pub(crate) fn sharing(mut self, runs: Arc<Runs>) -> Self {
        self.runs = runs;
        self
    }

    /// The fencing number.
    pub fn fence(&self) -> u64 {
        self.fence
    }

    /// True where the lease is over, as far as is known here.
    pub fn is_over(&self) -> bool {
        self.is_over.as_ref().is_some_and(|is_over| is_over())
    }

    /// One of its effects, as a [`Store`](super::Store) is asked about it: each is another call of the lease.
    ///
    /// # Errors
    /// Where a name, or the fencing number, is outside of [`NAME_RULE`](super::NAME_RULE).
    pub fn effect(&self, name: &str) -> Result<Effect, NameError> {
        let (queue, event) = (Arc::clone(&self.queue), Arc::clone(&self.event));
        let bearer = self.runs.bearer.call(self.runs.calls.fetch_add(1, Ordering::Relaxed));
        Effect { queue, event, name: name.into(), fence: self.fence, bearer }.checked()
    }

    /// Lets nobody else of this lease run what is called `what`, until the answer is dropped.
    pub(crate) fn enter(&self, what: &str) -> Option<Running> {
        let mut names = self.runs.lock();
        let run = names.entry(what.to_owned()).or_default();
        if run.is_running {
            return None;
        }
        run.is_running = true;
        Some(Running { runs: Arc::clone(&self.runs), what: what.to_owned() })
    }
}

impl fmt::Debug for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Holder")
            .field("queue", &self.queue)
            .field("event", &self.event)
            .field("fence", &self.fence)
            .finish_non_exhaustive()
    }
}

impl From<&Holder> for Holder {
    fn from(holder: &Holder) -> Self {
        holder.clone()
    }
}

/// What is run of one lease's effects, by all that have it in this process.
#[derive(Debug)]
pub(crate) struct Runs {
    bearer: Bearer,
    calls: AtomicU16,
    names: Mutex<HashMap<String, Run>>,
}

#[derive(Debug, Default)]
struct Run {
    is_running: bool,
    /// True once the effect itself was begun, by an earlier call too.
    was_started: bool,
}

impl Default for Runs {
    fn default() -> Self {
        Self { bearer: Bearer::new(), calls: AtomicU16::new(1), names: Mutex::default() }
    }
}

impl Runs {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Run>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One effect is being run; until this is dropped.
#[derive(Debug)]
pub(crate) struct Running {
    runs: Arc<Runs>,
    what: String,
}

impl Running {
    /// The effect itself begins.
    pub(crate) fn start(&self) {
        self.set_started(true);
    }

    /// It surely did not happen.
    pub(crate) fn undo(&self) {
        self.set_started(false);
    }

    fn set_started(&self, was_started: bool) {
        if let Some(run) = self.runs.lock().get_mut(&self.what) {
            run.was_started = was_started;
        }
    }

    /// True where this lease has begun the effect itself before.
    pub(crate) fn was_started(&self) -> bool {
        self.runs.lock().get(&self.what).is_some_and(|run| run.was_started)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(run) = self.runs.lock().get_mut(&self.what) {
            run.is_running = false;
        }
    }
}
