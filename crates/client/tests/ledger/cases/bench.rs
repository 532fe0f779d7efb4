//! One case at a time, each with an event of its own.
//!
//! Lives here: running all cases, and what they are written with. Not here: the cases.

use std::future::{Future, pending};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use naven_client::ledger::{Failed, Holder, Lease, Ledger, Store};
use tokio::sync::Notify;

use crate::faulty::{Faults, Faulty};

/// Runs every case over `store`. A case that fails is the last one that is named.
pub(crate) async fn all<S: Store>(store: &Arc<S>) {
    super::once::all(store).await;
    super::fences::all(store).await;
    super::doubt::all(store).await;
    super::lost::all(store).await;
    super::bounds::all(store).await;
}

/// Runs `case` with a bench of its own, and names it.
macro_rules! cases {
    ($store:expr, $($case:ident),+ $(,)?) => {
        $(
            println!("{}", stringify!($case));
            $case($crate::cases::Bench::new($store, stringify!($case))).await;
        )+
    };
}
pub(super) use cases;

/// An event in a store, and how often its effect ran.
#[derive(Debug)]
pub(crate) struct Bench<S> {
    ledger: Ledger<Faulty<S>>,
    pub(crate) faults: Arc<Faults>,
    event: String,
    runs: Arc<AtomicU32>,
}

impl<S> Clone for Bench<S> {
    fn clone(&self) -> Self {
        let (ledger, event) = (self.ledger.clone(), self.event.clone());
        Self { ledger, event, faults: Arc::clone(&self.faults), runs: Arc::clone(&self.runs) }
    }
}

impl<S: Store> Bench<S> {
    pub(crate) fn new(store: &Arc<S>, event: &str) -> Self {
        let store = Faulty::over(store);
        let faults = Arc::clone(&store.faults);
        Self { ledger: Ledger::new(store), faults, event: event.to_owned(), runs: Arc::default() }
    }

    pub(crate) fn holder(&self, fence: u64) -> Holder {
        Holder::new("q", &self.event, fence)
    }

    pub(crate) fn store(&self) -> &Faulty<S> {
        self.ledger.store()
    }

    /// The lease of the event's delivery of this number.
    pub(crate) fn lease(&self, fence: u64) -> Lease<Faulty<S>> {
        self.ledger.lease(self.holder(fence))
    }

    pub(crate) fn held_by(&self, holder: Holder) -> Lease<Faulty<S>> {
        self.ledger.lease(holder)
    }

    /// An effect that works, and answers this.
    pub(crate) fn gives<R>(&self, result: R) -> impl Future<Output = Result<R, Failed>> + use<R, S> {
        let runs = Arc::clone(&self.runs);
        async move {
            runs.fetch_add(1, SeqCst);
            Ok(result)
        }
    }

    /// An effect that fails like this.
    pub(crate) fn fails(&self, by: Failed) -> impl Future<Output = Result<u32, Failed>> + use<S> {
        let runs = Arc::clone(&self.runs);
        async move {
            runs.fetch_add(1, SeqCst);
            Err(by)
        }
    }

    pub(crate) fn runs(&self) -> u32 {
        self.runs.load(SeqCst)
    }

    /// Begins the effect `name` under `fence`, and dies in its middle. Answers the lease.
    pub(crate) async fn dies_in(&self, fence: u64, name: &str) -> Lease<Faulty<S>> {
        let lease = self.lease(fence);
        self.dies_by(&lease, name).await;
        lease
    }

    pub(crate) async fn dies_by(&self, lease: &Lease<Faulty<S>>, name: &str) {
        let begun = Notify::new();
        let hanging = lease.once::<u32>(name, async || {
            self.runs.fetch_add(1, SeqCst);
            begun.notify_one();
            pending().await
        });
        tokio::select! {
            answer = hanging => panic!("it ended: {answer:?}"),
            () = begun.notified() => {}
        }
    }
}
