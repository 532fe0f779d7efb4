//! An engine that counts what it is asked for.
//!
//! Lives here: the count of transactions. Not here: who asks.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use naven_server::auth::BearerKey;
use naven_server::{Server, ServerConfig, SystemRandom};
use naven_store::conformance::ManualClock;
use naven_store::model::Model;
use naven_store::read::{Page, Read};
use naven_store::reply::{OpError, TxnReply};
use naven_store::txn::Txn;
use naven_store::{BoxFuture, Budget, Caps, Changes, Engine, Health, Hints, Tended, WaitSet};
use tokio::sync::watch;

use crate::client::TestServer;

pub(crate) struct Counting {
    engine: Arc<dyn Engine>,
    asked: AtomicU64,
}

impl Counting {
    /// A server without keys on a counting engine, and the count.
    pub(crate) async fn server() -> (TestServer, Arc<Self>) {
        let (clock, random) = (Arc::new(ManualClock::default()), Arc::new(SystemRandom));
        let engine: Arc<dyn Engine> = Arc::new(Model::new(clock.clone(), random.clone()));
        let counting = Arc::new(Self { engine: Arc::clone(&engine), asked: AtomicU64::default() });
        let key = BearerKey::generate(&*clock, &*random);
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut config = ServerConfig::new(any);
        (config.redis, config.admin_key) = (Some(any), Some(key.clone()));
        config.redis_settings.no_auth = true;
        let counted: Arc<dyn Engine> = Arc::clone(&counting) as Arc<dyn Engine>;
        let running = Server::start(config, counted, clock.clone(), random).await.expect("it starts");
        (TestServer { running, engine, clock, key: key.reveal().to_owned() }, counting)
    }

    /// How many transactions so far.
    pub(crate) fn count(&self) -> u64 {
        self.asked.load(Ordering::SeqCst)
    }
}

impl Engine for Counting {
    fn submit(&self, txns: Vec<Txn>) -> BoxFuture<'_, Vec<TxnReply>> {
        self.asked.fetch_add(txns.len() as u64, Ordering::SeqCst);
        self.engine.submit(txns)
    }

    fn read(&self, read: Read) -> BoxFuture<'_, Result<Page, OpError>> {
        self.engine.read(read)
    }

    fn hints(&self, waits: WaitSet) -> Hints {
        self.engine.hints(waits)
    }

    fn changes(&self) -> Changes {
        self.engine.changes()
    }

    fn tend(&self, budget: Budget) -> BoxFuture<'_, Result<Tended, OpError>> {
        self.engine.tend(budget)
    }

    fn caps(&self) -> Caps {
        self.engine.caps()
    }

    fn health(&self) -> watch::Receiver<Health> {
        self.engine.health()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.engine.close()
    }
}
