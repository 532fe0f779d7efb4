//! A server and a client that speaks RESP, for tests.
//!
//! Lives here: starting one, sending, and reading replies as the text of their lines. Not here: any case.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use naven_api::{KeyId, Timestamp};
use naven_server::auth::BearerKey;
use naven_server::{Running, Server, ServerConfig, SystemClock, SystemRandom};
use naven_store::Engine;
use naven_store::conformance::ManualClock;
use naven_store::key::{KeyCondition, KeyRecord, KeySecret};
use naven_store::model::Model;
use naven_store::queue::{QueueSettings, StreamChanges};
use naven_store::txn::{AdminOp, From, GroupOp, OpKind, Reading, StreamRef, Txn};
use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// So long an answer may take before a test fails.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running server.
pub(crate) struct TestServer {
    pub(crate) running: Running,
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) clock: Arc<ManualClock>,
    /// The key `admin`.
    pub(crate) key: String,
}

impl TestServer {
    /// A server whose settings a test changes.
    pub(crate) async fn start_with(change: impl FnOnce(&mut ServerConfig)) -> Self {
        let (clock, random) = (Arc::new(ManualClock::default()), Arc::new(SystemRandom));
        let engine: Arc<dyn Engine> = Arc::new(Model::new(clock.clone(), random.clone()));
        let key = BearerKey::generate(&*clock, &*random);
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut config = ServerConfig::new(any);
        config.redis = Some(any);
        config.admin_key = Some(key.clone());
        change(&mut config);
        let running =
            Server::start(config, Arc::clone(&engine), clock.clone(), random).await.expect("it starts");
        Self { running, engine, clock, key: key.reveal().to_owned() }
    }

    /// A server with keys.
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    /// A server that needs none.
    pub(crate) async fn open() -> Self {
        Self::start_with(|config| config.redis_settings.no_auth = true).await
    }

    /// A second key, for [`TestServer::with_key`].
    pub(crate) fn worker(scopes: &[&str], queues: &[&str]) -> (KeyRecord, String) {
        let key = BearerKey::generate(&SystemClock::new(), &SystemRandom);
        let owned = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
        let (prefix, digest) = (format!("nvk_{}", key.prefix()), Sha256::digest(key.reveal()).into());
        let secret = KeySecret { prefix, digest, until: None };
        let record = KeyRecord::new(KeyId::from_bits(7), "worker".to_owned(), secret, Timestamp::default());
        (KeyRecord { scopes: owned(scopes), queues: owned(queues), ..record }, key.reveal().to_owned())
    }

    /// A server that knows `record` besides its admin key.
    pub(crate) async fn with_key(record: KeyRecord) -> Self {
        Self::with_keys(vec![record]).await
    }

    /// A server that knows `records` besides its admin key.
    pub(crate) async fn with_keys(records: Vec<KeyRecord>) -> Self {
        let (clock, random) = (Arc::new(ManualClock::default()), Arc::new(SystemRandom));
        let engine: Arc<dyn Engine> = Arc::new(Model::new(clock.clone(), random.clone()));
        for record in records {
            let put = OpKind::Admin(AdminOp::PutKey { record, over: KeyCondition::Any });
            engine.submit(vec![Txn::one(put)]).await;
        }
        let key = BearerKey::generate(&*clock, &*random);
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut config = ServerConfig::new(any);
        (config.redis, config.admin_key) = (Some(any), Some(key.clone()));
        let running =
            Server::start(config, Arc::clone(&engine), clock.clone(), random).await.expect("it starts");
        Self { running, engine, clock, key: key.reveal().to_owned() }
    }

    /// Makes a stream with a queue of another name on it.
    pub(crate) async fn stream(&self, name: &str) {
        let on = Reading { stream: StreamRef(name.to_owned().into()), from: From::Start };
        let made = OpKind::Group(GroupOp::Create {
            name: format!("queue-of-{name}"),
            settings: Box::new(QueueSettings::default()),
            on: Some(on),
            stream: StreamChanges::default(),
        });
        let reply = self.engine.submit(vec![Txn::one(made)]).await.remove(0);
        assert!(reply.ops[0].is_ok(), "{reply:?}");
    }

    pub(crate) async fn connect(&self) -> Client {
        let address = self.running.redis_addr().expect("the door is open");
        Client { stream: TcpStream::connect(address).await.expect("it listens"), read: Vec::new() }
    }

    /// A connection with the admin key.
    pub(crate) async fn connect_as_admin(&self) -> Client {
        let mut client = self.connect().await;
        assert_eq!(client.call(&["AUTH", &self.key]).await, "+OK");
        client
    }
}

/// One connection.
pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    read: Vec<u8>,
}

/// A call in its bytes.
pub(crate) fn bytes_of(parts: &[&str]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", parts.len());
    for part in parts {
        bytes.push_str(&format!("${}\r\n{part}\r\n", part.len()));
    }
    bytes.into_bytes()
}

impl Client {
    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.expect("the server takes it");
    }

    /// One call and its reply: its lines with a space between.
    pub(crate) async fn call(&mut self, parts: &[&str]) -> String {
        self.send(&bytes_of(parts)).await;
        self.reply().await
    }

    /// The next reply; `<closed>` where there is none.
    pub(crate) async fn reply(&mut self) -> String {
        let (mut lines, mut left) = (Vec::new(), 1_usize);
        while left > 0 {
            let Some(line) = self.line().await else { return "<closed>".to_owned() };
            left -= 1;
            let count = line.get(1..).and_then(|count| count.parse::<usize>().ok());
            match (line.as_bytes().first(), count) {
                (Some(b'*' | b'~' | b'>'), Some(count)) => left += count,
                (Some(b'%'), Some(count)) => left += count * 2,
                (Some(b'$' | b'='), Some(count)) => {
                    lines.push(self.blob(count).await);
                    continue;
                }
                _ => {}
            }
            lines.push(line);
        }
        lines.join(" ")
    }

    /// True where the server closes the connection in time, without a further reply.
    pub(crate) async fn is_closed_within(&mut self, time: Duration) -> bool {
        assert!(self.read.is_empty(), "unread: {:?}", String::from_utf8_lossy(&self.read));
        let mut byte = [0; 1];
        matches!(tokio::time::timeout(time, self.stream.read(&mut byte)).await, Ok(Ok(0) | Err(_)))
    }

    async fn more(&mut self) -> bool {
        let mut piece = [0; 16 * 1024];
        let read = tokio::time::timeout(PATIENCE, self.stream.read(&mut piece)).await.expect("an answer");
        let count = read.unwrap_or(0);
        self.read.extend_from_slice(&piece[..count]);
        count > 0
    }

    async fn line(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.read.windows(2).position(|two| two == b"\r\n") {
                let line: Vec<u8> = self.read.drain(..end + 2).collect();
                return Some(String::from_utf8_lossy(&line[..end]).into_owned());
            }
            if !self.more().await {
                return None;
            }
        }
    }

    async fn blob(&mut self, count: usize) -> String {
        while self.read.len() < count + 2 {
            assert!(self.more().await, "a reply was cut");
        }
        let blob: Vec<u8> = self.read.drain(..count + 2).collect();
        String::from_utf8_lossy(&blob[..count]).into_owned()
    }
}
