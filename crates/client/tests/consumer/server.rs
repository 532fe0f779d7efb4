//! A server on threads of its own, so that a handler may block those of its test.
//!
//! Lives here: starting it, and clients of it. Not here: what is between both (`proxy.rs`).

use std::net::SocketAddr;
use std::sync::Arc;

use naven_client::{Client, QueueCreateRequest, QueueFields};
use naven_server::auth::BearerKey;
use naven_server::{Running, ServerConfig, SystemClock, SystemRandom};
use naven_store::model::Model;
use tokio::runtime::Runtime;

/// A server with one queue `q`, whose retries are due at once.
pub(crate) struct Server {
    // Ends before its runtime does.
    running: Option<Running>,
    runtime: Option<Runtime>,
    key: String,
}

impl Server {
    pub(crate) fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let (clock, random) = (Arc::new(SystemClock::new()), Arc::new(SystemRandom));
        let key = BearerKey::generate(&*clock, &*random);
        let address = "127.0.0.1:0".parse().expect("an address");
        let config = ServerConfig { admin_key: Some(key.clone()), ..ServerConfig::new(address) };
        let engine = Arc::new(Model::new(clock.clone(), random.clone()));
        let start = naven_server::Server::start(config, engine, clock, random);
        // The test may be within a runtime of its own.
        let handle = runtime.handle().clone();
        let key = key.reveal().to_owned();
        let running = std::thread::scope(|scope| {
            let started = scope.spawn(|| handle.block_on(start).expect("a server"));
            started.join().expect("it starts")
        });
        let server = Self { running: Some(running), runtime: Some(runtime), key };
        let client = server.client();
        let backoff = naven_client::Backoff { initial_seconds: 0, ..naven_client::Backoff::default() };
        let fields = QueueFields { backoff: Some(backoff), ..QueueFields::default() };
        let queue = QueueCreateRequest { fields, ..QueueCreateRequest::new("q".parse().expect("a name")) };
        std::thread::scope(|scope| {
            let made =
                scope.spawn(|| handle.block_on(client.create_queue(&queue)).map(drop).expect("a queue"));
            made.join().expect("it is made");
        });
        server
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.running.as_ref().expect("it runs").http_addr()
    }

    pub(crate) fn client(&self) -> Client {
        self.client_at(self.address())
    }

    pub(crate) fn client_at(&self, address: SocketAddr) -> Client {
        Client::new(&format!("http://{address}"), &self.key).expect("a client")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.running.take());
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
