//! `naven serve`: the server from its settings to its end.
//!
//! Lives here: opening the engine, the ready line, stopping, and which failure ends with which exit
//! code. Not here: the doors (`naven-server`), the engine (`naven-store`).

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use naven_server::auth::BearerKey;
use naven_server::{
    RedisSettings, Running, Server, ServerConfig, ServerLimits, StartError, SystemClock, SystemRandom,
};
use naven_store::embedded::disk::RealDisk;
use naven_store::embedded::{Embedded, Options};
use naven_store::{Engine, Health};
use tracing::{error, info, warn};

use crate::descriptors;
use crate::environment;
use crate::exit::{Exit, Failure};
use crate::memory;
use crate::print::line;
use crate::settings::{Secret, Settings};
use crate::signals::{Asked, Signals};

/// Longest time, after the engine failed, until the answers that are under way are written.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Serves until it is told to stop.
pub(crate) async fn run(settings: Settings) -> Result<(), Failure> {
    match Serving::start(settings, |settings| Ok(settings.admin_key.clone())).await? {
        Some(serving) => {
            serving.announce();
            serving.until_stopped().await
        }
        None => Ok(()),
    }
}

/// A server that is ready.
pub(crate) struct Serving {
    running: Running,
    signals: Signals,
    admin_key: Option<Secret>,
    engine: Arc<dyn Engine>,
}

impl Serving {
    /// Opens the engine and the doors; none where the operator stopped it before. `admin_key` is asked
    /// once the data folder is open and known to be ours.
    ///
    /// # Errors
    /// With the exit code that says which part could not start.
    pub(crate) async fn start(
        settings: Settings,
        admin_key: impl FnOnce(&Settings) -> anyhow::Result<Option<Secret>>,
    ) -> Result<Option<Self>, Failure> {
        let mut signals = Signals::listen().context("signals")?;
        let engine = tokio::select! {
            engine = open_engine(&settings) => engine?,
            name = signals.stop() => {
                // Nothing was answered yet, so nothing is lost.
                info!("{name}: stopped before the server was ready");
                return Ok(None);
            }
        };
        let admin_key = admin_key(&settings)?;
        let mut limits = ServerLimits::default();
        limits.connections = descriptors::for_connections(limits.connections);
        let large = memory::for_large(limits.bodies_bytes.max(limits.answers_bytes));
        limits.bodies_bytes = limits.bodies_bytes.min(large);
        limits.answers_bytes = limits.answers_bytes.min(large);
        let config = ServerConfig {
            limits,
            redis: settings.redis,
            redis_settings: RedisSettings {
                no_auth: settings.redis_no_auth,
                allow_flush: settings.allow_flush,
            },
            tls: settings.tls,
            access: settings.access,
            metrics: settings.metrics,
            admin_key: admin_key.as_ref().map(parse_key).transpose()?,
            ..ServerConfig::new(settings.http)
        };
        let clock = Arc::new(SystemClock::new());
        let running = Server::start(config, Arc::clone(&engine), clock, Arc::new(SystemRandom)).await;
        let running = running.map_err(start_failed)?;
        if settings.redis.is_some() && settings.redis_no_auth {
            warn!("--redis-no-auth: whoever reaches the Redis door needs no key");
        }
        Ok(Some(Self { running, signals, admin_key, engine }))
    }

    /// Where the HTTP door listens.
    pub(crate) fn http(&self) -> SocketAddr {
        self.running.http_addr()
    }

    /// Where the Redis door listens; none where it is closed.
    pub(crate) fn redis(&self) -> Option<SocketAddr> {
        self.running.redis_addr()
    }

    /// The key that was installed.
    pub(crate) fn admin_key(&self) -> Option<&Secret> {
        self.admin_key.as_ref()
    }

    /// Says on stdout that the doors are open: one line of a fixed form, which scripts wait for.
    pub(crate) fn announce(&self) {
        let redis = self.redis().map_or_else(|| "off".to_owned(), |address| address.to_string());
        let text = format!("ready http={} redis={redis} engine={}", self.http(), self.engine.caps().name);
        info!("{text}");
        // A server whose standard output is closed serves all the same.
        if let Err(error) = line(&text) {
            warn!("the ready line could not be written: {error}");
        }
    }

    /// Serves until a signal, then stops: answered work is durable, and what runs is let finish. A
    /// second signal ends the process at once.
    ///
    /// # Errors
    /// Where the engine can no longer keep its promises.
    pub(crate) async fn until_stopped(self) -> Result<(), Failure> {
        let Self { running, mut signals, engine, .. } = self;
        loop {
            tokio::select! {
                _ = running.failed() => {
                    // Callers under way are told that the outcome is unknown, where they can be.
                    let _ = tokio::time::timeout(LAST_WORDS, running.shutdown()).await;
                    return storage_verdict(&*engine);
                }
                asked = signals.next() => match asked {
                    Asked::Reload => reload(&running),
                    Asked::Stop(name) => {
                        info!("{name}: stopping; a second signal ends at once");
                        break;
                    }
                },
            }
        }
        tokio::select! {
            () = running.shutdown() => {}
            name = signals.stop() => {
                error!("{name}: ended at once");
                // Not a return: nothing may wait for threads that still write.
                std::process::exit(Exit::Failed as i32)
            }
        }
        info!("stopped");
        storage_verdict(&*engine)
    }
}

/// Reads again what may change while the server runs: the certificate.
fn reload(running: &Running) {
    match running.reload() {
        Ok(()) => info!("SIGHUP: read the certificate again, where there is one"),
        Err(error) => {
            let error = anyhow::Error::new(error);
            error!("SIGHUP: {error:#}; new connections get the certificate of before");
        }
    }
}

/// Opens the data folder, which may take as long as its log is.
async fn open_engine(settings: &Settings) -> Result<Arc<dyn Engine>, Failure> {
    let folder = settings.data.clone();
    let options = Options { segment_bytes: settings.segment_bytes, ..Options::default() };
    let open = move || {
        let disk = Arc::new(RealDisk::open(&folder)?);
        let (clock, random) = (Arc::new(SystemClock::new()), Arc::new(SystemRandom));
        Embedded::open(disk, options, clock, random)
    };
    let opened = tokio::task::spawn_blocking(open).await.context("the thread that opens the data folder")?;
    let engine = opened.map_err(|error| {
        let exit = Exit::of_storage(&error);
        let error = anyhow::Error::new(error).context(format!("data folder {}", settings.data.display()));
        Failure::new(exit, error)
    })?;
    Ok(Arc::new(engine))
}

fn parse_key(key: &Secret) -> Result<BearerKey, Failure> {
    key.0.parse().map_err(|error| Failure::usage(format!("{} (admin_key): {error}", environment::ADMIN_KEY)))
}

fn start_failed(error: StartError) -> Failure {
    let exit = match error {
        StartError::Listen { .. } => Exit::AddressTaken,
        StartError::Tls(_) | StartError::OpenDoor(_) => Exit::Usage,
        StartError::Keys(_) => Exit::Storage,
    };
    Failure::new(exit, error)
}

/// Whether everything that was answered is known to be durable.
fn storage_verdict(engine: &dyn Engine) -> Result<(), Failure> {
    match &*engine.health().borrow() {
        Health::Well => Ok(()),
        Health::Failed { why } => Err(Failure::new(Exit::Storage, anyhow!("the storage failed: {why}"))),
    }
}
