//! Starting and stopping one node.
//!
//! Lives here: what is started in which order, who owns the tasks, and how it all ends. Not here:
//! settings (`config.rs`), sockets (`net`), answers (`http`).

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use naven_store::reply::OpError;
use naven_store::{Clock, Engine, Health, Random};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::access::Access;
use crate::auth::{self, KeyRing};
use crate::claimers::Claimers;
use crate::config::{RedisSettings, ServerConfig};
use crate::http::HttpDoor;
use crate::metrics::Metrics;
use crate::net::{self, Listener, Stops, Tls, TlsError};
use crate::node::Node;
use crate::redis::{self, RedisDoor};
use crate::room::Room;
use crate::sweep::sweep;
use crate::wait::{WaitLimits, Waits};
use crate::watch::Watch;

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An address could not be taken.
    #[error("could not listen on {address}")]
    Listen {
        /// Which.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// The certificate cannot be used.
    #[error(transparent)]
    Tls(TlsError),
    /// The engine did not give or take the keys.
    #[error("could not read or store the keys: {0}")]
    Keys(OpError),
    /// A Redis door that needs no key would be open to other machines.
    #[error("the Redis door does without keys only on a loopback address, not on {0}")]
    OpenDoor(SocketAddr),
}

/// A node that can be started.
#[derive(Debug)]
pub struct Server;

impl Server {
    /// Starts the doors over `engine` and returns once they answer. Must be called within a runtime.
    ///
    /// # Errors
    /// [`StartError`]; nothing is left running then.
    pub async fn start(
        config: ServerConfig,
        engine: Arc<dyn Engine>,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
    ) -> Result<Running, StartError> {
        if let Some(address) = config.redis.filter(|address| !address.ip().is_loopback())
            && config.redis_settings.no_auth
        {
            return Err(StartError::OpenDoor(address));
        }
        let listen = |address| net::listen(address).map_err(|source| StartError::Listen { address, source });
        let http = listen(config.http)?;
        let redis = config.redis.map(listen).transpose()?;
        Self::start_on(http, redis, config, engine, clock, random).await
    }

    /// The same over listeners that are there already, in place of the addresses of `config`.
    ///
    /// # Errors
    /// [`StartError`]; nothing is left running then.
    pub async fn start_on<L: Listener>(
        http: L,
        redis: Option<L>,
        config: ServerConfig,
        engine: Arc<dyn Engine>,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
    ) -> Result<Running, StartError> {
        let tls = config.tls.map(Tls::load).transpose().map_err(StartError::Tls)?;
        if let Some(key) = &config.admin_key {
            auth::install_admin(&*engine, key, &*clock, &*random).await.map_err(StartError::Keys)?;
        }
        let keys = KeyRing::load(&*engine).await.map_err(StartError::Keys)?;
        if keys.is_empty() {
            tracing::warn!("no key is stored and none was given: every call will be answered 401");
        }
        let tasks = TaskTracker::new();
        let limits =
            WaitLimits { per_node: config.limits.waiters_per_node, per_key: config.limits.waiters_per_key };
        let node = Arc::new(Node {
            waits: Waits::new(Arc::clone(&engine), tasks.clone(), limits),
            claimers: Claimers::new(Arc::clone(&clock)),
            watch: Arc::new(Watch::new(clock.wall(), random.draw_u128() as u64)),
            metrics: Metrics::new(config.metrics),
            keys,
            has_admin_key: config.admin_key.is_some(),
            tls,
            started_at: clock.wall(),
            engine,
            clock,
            random,
            limits: config.limits,
            patience: config.patience,
            draining: AtomicBool::new(false),
            connections: AtomicUsize::new(0),
            request_room: Room::of(config.limits.bodies_bytes.max(config.limits.request_bytes)),
            answer_room: Room::of(config.limits.answers_bytes),
        });
        let redis = redis.map(|listener| (listener, config.redis_settings));
        Ok(Running::new(node, http, redis, tasks, &config.access))
    }
}

/// A node that runs. Dropping it leaves it running; [`Running::shutdown`] ends it.
pub struct Running {
    node: Arc<Node>,
    http_addr: SocketAddr,
    redis_addr: Option<SocketAddr>,
    tasks: TaskTracker,
    connections: TaskTracker,
    stops: Stops,
    stop_tasks: CancellationToken,
}

impl Running {
    fn new<L: Listener>(
        node: Arc<Node>,
        http: L,
        redis: Option<(L, RedisSettings)>,
        tasks: TaskTracker,
        access: &Access,
    ) -> Self {
        let local = |listener: &L| listener.local_addr().ok();
        let unknown = SocketAddr::from(([0, 0, 0, 0], 0));
        let (http_addr, redis_addr) =
            (local(&http).unwrap_or(unknown), redis.as_ref().and_then(|(listener, _)| local(listener)));
        let connections = TaskTracker::new();
        let stops = Stops { drain: CancellationToken::new(), end: CancellationToken::new() };
        let stop_tasks = CancellationToken::new();
        let door = HttpDoor::new(Arc::clone(&node), http_addr, access);
        let room = Arc::new(Semaphore::new(node.limits.connections));
        tasks.spawn(net::serve_http(http, door, stops.clone(), Arc::clone(&room), connections.clone()));
        if let Some((listener, settings)) = redis {
            let port = redis_addr.map_or(0, |address| address.port());
            let door = RedisDoor::new(Arc::clone(&node), settings, port);
            tasks.spawn(redis::serve_redis(listener, door, stops.clone(), room, connections.clone()));
        }
        tasks.spawn(Arc::clone(&node.waits).listen(stop_tasks.clone()));
        let (watch, clock) = (Arc::clone(&node.watch), Arc::clone(&node.clock));
        tasks.spawn(watch.listen(Arc::clone(&node.engine), clock, stop_tasks.clone()));
        tasks.spawn(sweep(Arc::clone(&node.engine), stop_tasks.clone()));
        tasks.spawn(end_waits_on_failure(Arc::clone(&node), stop_tasks.clone()));
        Self { node, http_addr, redis_addr, tasks, connections, stops, stop_tasks }
    }

    /// Where the HTTP door listens.
    pub fn http_addr(&self) -> SocketAddr {
        self.http_addr
    }

    /// Where the Redis door listens, where it does.
    pub fn redis_addr(&self) -> Option<SocketAddr> {
        self.redis_addr
    }

    /// Reads the certificate's files again, where the doors speak TLS: new connections get what is in them
    /// now.
    ///
    /// # Errors
    /// Where a file cannot be used: then new connections get what they got before.
    pub fn reload(&self) -> Result<(), TlsError> {
        self.node.tls.as_ref().map_or(Ok(()), Tls::reload)
    }

    /// How many claims wait now, and on how many queues.
    pub fn waiters(&self) -> naven_api::system::WaitersReply {
        self.node.waits.counts()
    }

    /// Ends when the engine has failed for good, with the reason; the process should end then.
    pub async fn failed(&self) -> String {
        failure_of(&self.node.engine).await
    }

    /// Begins to shut down: `/readyz` says so, waiting claims end with null, new ones are refused.
    /// Heartbeats, acks and nacks are served on.
    pub fn drain(&self) {
        self.node.draining.store(true, Ordering::Relaxed);
        self.node.waits.drain();
        self.node.watch.draining.cancel();
        self.stops.drain.cancel();
    }

    /// Shuts down: drains, serves what runs (for a bounded time), ends every task, and closes the
    /// engine, so that everything answered is durable.
    pub async fn shutdown(self) {
        self.drain();
        // The door stays open: a consumer that lost its idle connection may still settle.
        let quiet = async {
            while !self.connections.is_empty() {
                tokio::time::sleep(QUIET_LOOK).await;
            }
        };
        let patience = self.node.patience.drain;
        if tokio::time::timeout(patience, quiet).await.is_err() {
            tracing::warn!(left = self.connections.len(), "ending connections that are still open");
        }
        self.stops.end.cancel();
        self.connections.close();
        self.connections.wait().await;
        self.stop_tasks.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        self.node.engine.close().await;
    }
}

/// How often shutdown looks whether the last connection has gone.
const QUIET_LOOK: Duration = Duration::from_millis(10);

/// Nobody waits on an engine that has failed: a client learns of it now, not at its deadline.
async fn end_waits_on_failure(node: Arc<Node>, stop: CancellationToken) {
    tokio::select! {
        biased;
        () = stop.cancelled() => {}
        why = failure_of(&node.engine) => {
            tracing::error!(why, "the engine has failed for good");
            node.waits.fail(&OpError::Unavailable);
        }
    }
}

async fn failure_of(engine: &Arc<dyn Engine>) -> String {
    let mut health = engine.health();
    loop {
        if let Health::Failed { why } = &*health.borrow_and_update() {
            return why.clone();
        }
        if health.changed().await.is_err() {
            // The engine was closed in good health: it will not fail any more.
            std::future::pending::<()>().await;
        }
    }
}
