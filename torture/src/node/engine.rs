//! An engine whose parts take their turns soon after somebody asks.
//!
//! Lives here: the trait, handed through. Not here: when the parts take their turns (`machine.rs`).

use std::sync::Arc;

use naven_store::backup::{Backup, BackupRefused};
use naven_store::embedded::Embedded;
use naven_store::read::{Page, Read};
use naven_store::reply::{OpError, TxnReply};
use naven_store::txn::Txn;
use naven_store::{BoxFuture, Budget, Caps, Changes, Engine, Health, Hints, Tended, WaitSet};
use tokio::sync::{Notify, watch};

/// The engine, and who is told that something was asked.
pub(super) struct Poked {
    pub(super) engine: Arc<Embedded>,
    pub(super) poke: Arc<Notify>,
}

impl Poked {
    fn poked<'a, T: 'a>(&'a self, asked: BoxFuture<'a, T>) -> BoxFuture<'a, T> {
        Box::pin(async move {
            // It is handed over at the first look, which comes before the turn that is asked for here.
            self.poke.notify_one();
            asked.await
        })
    }
}

impl Engine for Poked {
    fn submit(&self, txns: Vec<Txn>) -> BoxFuture<'_, Vec<TxnReply>> {
        self.poked(self.engine.submit(txns))
    }

    fn read(&self, read: Read) -> BoxFuture<'_, Result<Page, OpError>> {
        self.poked(self.engine.read(read))
    }

    fn hints(&self, waits: WaitSet) -> Hints {
        self.engine.hints(waits)
    }

    fn changes(&self) -> Changes {
        self.engine.changes()
    }

    fn tend(&self, budget: Budget) -> BoxFuture<'_, Result<Tended, OpError>> {
        self.poked(self.engine.tend(budget))
    }

    fn backup(&self) -> BoxFuture<'_, Result<Box<dyn Backup>, BackupRefused>> {
        self.poked(self.engine.backup())
    }

    fn caps(&self) -> Caps {
        self.engine.caps()
    }

    fn health(&self) -> watch::Receiver<Health> {
        self.engine.health()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.poked(self.engine.close())
    }
}
