//! A server for one test, with its clock in hand.
//!
//! Lives here: starting one over a fresh engine, and the calls that tests make all the time. Not
//! here: bytes (`raw.rs`).

use std::any::Any;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use naven_api::{KeyId, Timestamp};
use naven_server::auth::BearerKey;
use naven_server::{Running, Server, ServerConfig, SystemClock, SystemRandom};
use naven_store::conformance::{Fresh, ManualClock, SeededRandom};
use naven_store::key::{KeyCondition, KeyRecord, KeySecret};
use naven_store::txn::{AdminOp, OpKind, Txn};
use naven_store::{Clock, Engine, Random};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::Factory;
use crate::faulty::Faulty;
use crate::raw::{Answer, Connection, request, request_with};

/// A running server and the world around it.
pub(crate) struct TestServer {
    pub(crate) running: Running,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) engine: Arc<Faulty>,
    pub(crate) key: String,
    _guard: Mutex<Box<dyn Any + Send>>,
}

impl TestServer {
    /// A server with defaults.
    pub(crate) async fn start(factory: Factory) -> Self {
        Self::start_with(factory, |_| {}).await
    }

    /// A server whose settings a test changes.
    pub(crate) async fn start_with(factory: Factory, change: impl FnOnce(&mut ServerConfig)) -> Self {
        Self::build(factory, change, None).await
    }

    /// A server, and a second key with these scopes for these names.
    pub(crate) async fn start_with_key(factory: Factory, scopes: &[&str], queues: &[&str]) -> (Self, String) {
        let key = BearerKey::generate(&SystemClock::new(), &SystemRandom);
        let owned = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
        let (prefix, digest) = (format!("nvk_{}", key.prefix()), Sha256::digest(key.reveal()).into());
        let secret = KeySecret { prefix, digest, until: None };
        let record = KeyRecord::new(KeyId::from_bits(7), "worker".to_owned(), secret, Timestamp::default());
        let record = KeyRecord { scopes: owned(scopes), queues: owned(queues), ..record };
        (Self::build(factory, |_| {}, Some(record)).await, key.reveal().to_owned())
    }

    async fn build(
        factory: Factory,
        change: impl FnOnce(&mut ServerConfig),
        more: Option<KeyRecord>,
    ) -> Self {
        let clock = Arc::new(ManualClock::default());
        let random: Arc<dyn Random> = Arc::new(SeededRandom::new(11));
        let Fresh { engine, guard } = factory(clock.clone(), Arc::clone(&random));
        let engine = Arc::new(Faulty::new(engine));
        if let Some(record) = more {
            engine
                .submit(vec![Txn::one(OpKind::Admin(AdminOp::PutKey { record, over: KeyCondition::Any }))])
                .await;
        }
        let key = BearerKey::generate(&SystemClock::new(), &SystemRandom);
        let mut config = ServerConfig::new(SocketAddr::from(([127, 0, 0, 1], 0)));
        config.admin_key = Some(key.clone());
        // Requests of these tests name hosts of their own.
        config.access.allowed_hosts = ["t", "test"].map(|name| name.parse().expect("a name")).into();
        change(&mut config);
        let for_server: Arc<dyn Engine> = engine.clone();
        let for_door: Arc<dyn Clock> = clock.clone();
        let running =
            Server::start(config, for_server, for_door, random).await.expect("a server starts on port 0");
        Self { running, clock, engine, key: key.reveal().to_owned(), _guard: Mutex::new(guard) }
    }

    pub(crate) async fn connect(&self) -> Connection {
        Connection::open(self.running.http_addr()).await
    }

    /// One request on a connection of its own.
    pub(crate) async fn send(&self, bytes: &[u8]) -> Answer {
        let mut connection = self.connect().await;
        connection.send(bytes).await;
        connection.answer().await.expect("the server answers")
    }

    /// One request with the key and a JSON body.
    pub(crate) async fn call(&self, method: &str, path: &str, body: impl Into<Option<Value>>) -> Answer {
        let body = body.into().map(|body| body.to_string());
        self.send(&request(method, path, &self.key, body.as_deref())).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.call("GET", path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        self.call("POST", path, body).await
    }

    /// One request under another key.
    pub(crate) async fn call_as(
        &self,
        key: &str,
        method: &str,
        path: &str,
        body: impl Into<Option<Value>>,
    ) -> Answer {
        let body = body.into().map(|body| body.to_string());
        self.send(&request(method, path, key, body.as_deref())).await
    }

    /// A POST that may be repeated under `once`.
    pub(crate) async fn post_once(&self, path: &str, once: &str, body: Value) -> Answer {
        let headers = [("Idempotency-Key", once)];
        self.send(&request_with("POST", path, &self.key, &headers, Some(&body.to_string()))).await
    }

    /// Makes a queue with these settings and gives its picture.
    pub(crate) async fn queue(&self, name: &str, settings: Value) -> Value {
        let mut body = settings;
        body["name"] = json!(name);
        self.post("/v1/event-queues", body).await.data()
    }

    /// Publishes an event with this number in its payload and gives its id.
    pub(crate) async fn publish(&self, queue: &str, n: usize) -> String {
        let path = format!("/v1/event-queues/{queue}/events");
        id_of(&self.post(&path, json!({ "payload": { "n": n } })).await.data())
    }

    /// Claims without waiting; null where nothing is due.
    pub(crate) async fn claim(&self, queue: &str, lease_seconds: u32) -> Value {
        let path = format!("/v1/event-queues/{queue}/claim");
        self.post(&path, json!({ "leaseSeconds": lease_seconds, "waitSeconds": 0 })).await.data()
    }

    /// A heartbeat, an ack or a nack with more fields.
    pub(crate) async fn settle(&self, verb: &str, claim: &Value, more: Value) -> Answer {
        let mut body = more;
        body["leaseToken"] = claim["leaseToken"].clone();
        let id = claim["event"]["id"].as_str().expect("a claim names its event");
        self.post(&format!("/v1/events/{id}/{verb}"), body).await
    }

    /// The event as it stands.
    pub(crate) async fn event(&self, id: &str) -> Value {
        self.get(&format!("/v1/events/{id}")).await.data()
    }

    pub(crate) fn advance(&self, seconds: i64) {
        self.clock.advance_ms(seconds * 1_000);
    }

    /// Waits until exactly `count` claims wait.
    pub(crate) async fn until_waiting(&self, count: u64) {
        let reached = async {
            while self.running.waiters().claims != count {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        let outcome = tokio::time::timeout(Duration::from_secs(20), reached).await;
        assert!(outcome.is_ok(), "{count} claims were to wait, {:?} do", self.running.waiters());
    }

    /// The start of a claim that waits, on a connection of its own.
    pub(crate) async fn begin_claim(&self, queue: &str, wait_seconds: u32) -> Connection {
        let body = json!({ "leaseSeconds": 900, "waitSeconds": wait_seconds }).to_string();
        let path = format!("/v1/event-queues/{queue}/claim");
        let mut connection = self.connect().await;
        connection.send(&request("POST", &path, &self.key, Some(&body))).await;
        connection
    }
}

/// The id of an event's picture.
pub(crate) fn id_of(event: &Value) -> String {
    event["id"].as_str().expect("an event has an id").to_owned()
}
