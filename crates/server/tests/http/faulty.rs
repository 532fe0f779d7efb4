//! An engine that fails when it is told to.
//!
//! Lives here: the wrapper, for failures that a healthy engine does not show. Not here: engines.

use std::sync::{Arc, Mutex};

use naven_store::backup::{Backup, BackupRefused};
use naven_store::read::{Page, Read};
use naven_store::reply::{OpError, TxnReply};
use naven_store::txn::Txn;
use naven_store::{BoxFuture, Budget, Caps, Changes, Engine, Health, Hints, Tended, WaitSet};
use tokio::sync::watch;

/// What the next calls meet.
#[derive(Debug, Clone)]
pub(crate) enum Fault {
    /// Every op is answered with this.
    Error(OpError),
    /// The call panics.
    Panic,
    /// The call does its work, and its answer comes this many ms later.
    Late(u64),
    /// A backup is under way already.
    BackupRunning,
}

/// An engine, and the fault that its callers meet.
pub(crate) struct Faulty {
    inner: Arc<dyn Engine>,
    fault: Mutex<Option<Fault>>,
    health: watch::Sender<Health>,
}

impl Faulty {
    pub(crate) fn new(inner: Arc<dyn Engine>) -> Self {
        Self { inner, fault: Mutex::new(None), health: watch::channel(Health::Well).0 }
    }

    /// From now on until [`Faulty::heal`].
    pub(crate) fn break_with(&self, fault: Fault) {
        *self.fault.lock().unwrap() = Some(fault);
    }

    pub(crate) fn heal(&self) {
        *self.fault.lock().unwrap() = None;
    }

    /// The engine has failed for good.
    pub(crate) fn fail(&self, why: &str) {
        self.health.send_replace(Health::Failed { why: why.to_owned() });
    }

    fn fault(&self) -> Option<Fault> {
        self.fault.lock().unwrap().clone()
    }
}

impl Engine for Faulty {
    fn submit(&self, txns: Vec<Txn>) -> BoxFuture<'_, Vec<TxnReply>> {
        match self.fault() {
            None | Some(Fault::BackupRunning) => self.inner.submit(txns),
            Some(Fault::Panic) => panic!("the engine was told to panic"),
            Some(Fault::Late(ms)) => Box::pin(async move {
                let replies = self.inner.submit(txns).await;
                tokio::time::sleep(std::time::Duration::from_millis(ms)).await;
                replies
            }),
            Some(Fault::Error(error)) => {
                let reply = |txn: Txn| TxnReply { version: 0, ops: vec![Err(error.clone()); txn.ops.len()] };
                let replies = txns.into_iter().map(reply).collect();
                Box::pin(async move { replies })
            }
        }
    }

    fn read(&self, read: Read) -> BoxFuture<'_, Result<Page, OpError>> {
        match self.fault() {
            None | Some(Fault::Late(_) | Fault::BackupRunning) => self.inner.read(read),
            Some(Fault::Panic) => panic!("the engine was told to panic"),
            Some(Fault::Error(error)) => Box::pin(async move { Err(error) }),
        }
    }

    fn changes(&self) -> Changes {
        self.inner.changes()
    }

    fn hints(&self, waits: WaitSet) -> Hints {
        self.inner.hints(waits)
    }

    fn tend(&self, budget: Budget) -> BoxFuture<'_, Result<Tended, OpError>> {
        self.inner.tend(budget)
    }

    fn backup(&self) -> BoxFuture<'_, Result<Box<dyn Backup>, BackupRefused>> {
        match self.fault() {
            Some(Fault::BackupRunning) => Box::pin(async { Err(BackupRefused::Running) }),
            _ => self.inner.backup(),
        }
    }

    fn caps(&self) -> Caps {
        self.inner.caps()
    }

    fn health(&self) -> watch::Receiver<Health> {
        self.health.subscribe()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.inner.close()
    }
}
