//! The servers that the suite runs over: redis-server 7, Valkey 9, and our own Redis door.
//!
//! Lives here: starting, killing and starting them again. Not here: what is asked of them (`wire.rs`).

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use naven_server::{RedisSettings, ServerConfig, SystemClock, SystemRandom};
use naven_store::embedded::disk::RealDisk;
use naven_store::embedded::{Embedded, Options};
use tempfile::TempDir;

use crate::wire::Wire;

/// Which server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Redis7,
    Valkey9,
    Naven,
}

/// A server on a free port, with a folder of its own that outlives its restarts.
pub(crate) struct Server {
    pub(crate) kind: Kind,
    port: u16,
    folder: TempDir,
    process: Mutex<Option<Process>>,
}

enum Process {
    Other(Child),
    Ours(naven_server::Running, tokio::runtime::Runtime),
}

impl Server {
    pub(crate) fn start(kind: Kind) -> Self {
        let port = free_port();
        let folder = tempfile::tempdir().expect("a folder");
        let server = Self { kind, port, folder, process: Mutex::new(None) };
        server.begin();
        server
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/", self.port)
    }

    pub(crate) fn address(&self) -> std::net::SocketAddr {
        ([127, 0, 0, 1], self.port).into()
    }

    pub(crate) fn at(&self) -> naven_client::streams::Server {
        naven_client::streams::Server::new(&self.url()).expect("a URL")
    }

    pub(crate) fn wire(&self) -> Wire {
        Wire::to(&self.url())
    }

    /// True where a Redis or a Valkey is there, whose scripts keep what ours keeps itself.
    pub(crate) fn is_plain(&self) -> bool {
        self.kind != Kind::Naven
    }

    /// Ends it with all connections, as a kill does.
    pub(crate) fn kill(&self) {
        let process = self.process.lock().expect("unpoisoned").take();
        match process {
            Some(Process::Other(mut child)) => {
                // It may have ended before.
                let _ = child.kill();
                let _ = child.wait();
            }
            Some(Process::Ours(running, runtime)) => {
                drop(running);
                std::thread::scope(|scope| {
                    scope.spawn(|| runtime.shutdown_timeout(Duration::from_secs(10)));
                });
            }
            None => {}
        }
    }

    /// Starts it again, with what it had on disk.
    pub(crate) fn begin(&self) {
        let process = match self.kind {
            Kind::Redis7 => self.other("the Debian package redis-server"),
            Kind::Valkey9 => self.other("Valkey 9, or the path to its server in VALKEY_SERVER"),
            Kind::Naven => self.ours(),
        };
        *self.process.lock().expect("unpoisoned") = Some(process);
        let mut tries = 0;
        while !Wire::answers(&self.url()) {
            tries += 1;
            assert!(tries < 1_000, "{:?} does not answer at {}", self.kind, self.url());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn other(&self, package: &str) -> Process {
        let binary = self.kind.binary();
        let child = Command::new(&binary)
            .args(["--port", &self.port.to_string(), "--bind", "127.0.0.1", "--save", ""])
            .args(["--appendonly", "yes", "--appendfsync", "always"])
            .arg("--dir")
            .arg(self.folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Process::Other(child.unwrap_or_else(|error| panic!("{binary}: {error}: this test needs {package}")))
    }

    fn ours(&self) -> Process {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let address = |port| ([127, 0, 0, 1], port).into();
        let redis_settings = RedisSettings { no_auth: true, allow_flush: true };
        let redis = Some(address(self.port));
        let config = ServerConfig { redis, redis_settings, ..ServerConfig::new(address(0)) };
        let open = || {
            let disk = RealDisk::open(self.folder.path()).expect("the folder is ours");
            let (clock, random) = (Arc::new(SystemClock::new()), Arc::new(SystemRandom));
            let options = Options { segment_bytes: Some(1 << 20), ..Options::default() };
            let engine = Embedded::open(Arc::new(disk), options, clock.clone(), random.clone());
            naven_server::Server::start(config, Arc::new(engine.expect("a store")), clock, random)
        };
        // The test may be within a runtime of its own.
        let running = std::thread::scope(|scope| {
            let started = scope.spawn(|| runtime.block_on(open()).expect("a server"));
            started.join().expect("it starts")
        });
        Process::Ours(running, runtime)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Kind {
    /// The program of a server that is not ours.
    #[expect(clippy::disallowed_methods, reason = "where a server is that no package of the system brings")]
    pub(crate) fn binary(self) -> String {
        match self {
            Self::Redis7 => "redis-server".to_owned(),
            Self::Valkey9 => std::env::var("VALKEY_SERVER").unwrap_or_else(|_| "valkey-server".to_owned()),
            Self::Naven => unreachable!("ours runs within the test"),
        }
    }
}

/// A port that nobody listens on, below those that the system hands out by itself: what connects elsewhere meanwhile
/// cannot be given it.
pub(crate) fn free_port() -> u16 {
    let seed = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 0);
    let ports = (0..1_000).map(|step| 12_000 + ((seed % 20_000 + step * 7) % 20_000) as u16);
    let mut free = ports.filter(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok());
    free.next().expect("a free port")
}
