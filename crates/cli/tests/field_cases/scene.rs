//! A server of one case's own, and the calls that cases make all the time.
//!
//! Lives here: queues, publishes, claims and settles in a line each. Not here: connections that break
//! (`wire.rs`), and what a case expects.

use serde_json::{Value, json};

use crate::clock::{seconds, until};
use crate::support::{Answer, Http, Naven, Resp, Start, key};
use crate::wire::Wire;

/// A running server.
pub(crate) struct Scene {
    pub(crate) naven: Naven,
    pub(crate) http: Http,
    started_at: Value,
}

/// A lease in a consumer's hands.
#[derive(Debug, Clone)]
pub(crate) struct Claim {
    /// `data` of the claim.
    pub(crate) data: Value,
    /// The answer's body, byte for byte.
    pub(crate) body: String,
}

impl Scene {
    /// A fresh server with a queue `q` of these settings.
    pub(crate) fn with_queue(settings: Value) -> Self {
        Self::started(Start::serve(), settings)
    }

    /// The same, started like this.
    pub(crate) fn started(start: Start, settings: Value) -> Self {
        let scene = Self::around(start.ready());
        scene.queue("q", settings);
        scene
    }

    /// Around a server that runs.
    pub(crate) fn around(naven: Naven) -> Self {
        let http = naven.client();
        let started_at = http.get("/v1/system").success()["startedAt"].clone();
        Self { naven, http, started_at }
    }

    /// `kill -9`, and the next process on the same folder.
    pub(crate) fn killed_and_restarted(self) -> Self {
        Self::around(self.naven.restart())
    }

    /// A clean stop, and the next process on the same folder.
    pub(crate) fn stopped_and_restarted(mut self) -> Self {
        self.naven.stop();
        Self::around(self.naven.restart())
    }

    /// A connection that stays open.
    pub(crate) fn wire(&self) -> Wire {
        Wire::open(&self.naven.http, key())
    }

    /// A connection to the Redis door, with the key shown.
    pub(crate) fn redis(&self) -> Resp {
        Resp::open(self.naven.redis(), key())
    }

    pub(crate) fn queue(&self, name: &str, settings: Value) {
        let mut body = settings;
        body["name"] = json!(name);
        self.http.post("/v1/event-queues", &body.to_string()).success();
    }

    /// Publishes an event of no interest and gives its id.
    pub(crate) fn publish(&self, queue: &str) -> String {
        self.publish_body(queue, r#"{"payload":{"n":1}}"#)
    }

    /// Publishes with this body and gives the event's id.
    pub(crate) fn publish_body(&self, queue: &str, body: &str) -> String {
        text(&self.http.post(&format!("/v1/event-queues/{queue}/events"), body).success()["id"])
    }

    /// A lease of `lease` seconds, waited for up to `wait` seconds.
    pub(crate) fn claim(&self, queue: &str, lease: u32, wait: u32) -> Option<Claim> {
        let body = json!({ "leaseSeconds": lease, "waitSeconds": wait });
        Claim::of(self.http.post(&format!("/v1/event-queues/{queue}/claim"), &body.to_string()))
    }

    /// The same where there must be one.
    pub(crate) fn claimed(&self, queue: &str, lease: u32, wait: u32) -> Claim {
        self.claim(queue, lease, wait).expect("there is an event to claim")
    }

    /// A heartbeat, an ack or a nack with more fields.
    pub(crate) fn settle(&self, verb: &str, claim: &Claim, more: Value) -> Answer {
        self.http.post(&claim.path(verb), &claim.proof(more).to_string())
    }

    /// The event as it stands.
    pub(crate) fn event(&self, id: &str) -> Value {
        self.http.get(&format!("/v1/events/{id}")).success()
    }

    /// The queue's dead letters.
    pub(crate) fn dead_letters(&self, queue: &str) -> Vec<Value> {
        let list = self.http.get(&format!("/v1/event-queues/{queue}/dead-letters")).success();
        list["items"].as_array().expect("a list has items").clone()
    }

    /// How many events the queue has by state, states without any left out.
    pub(crate) fn counts(&self, queue: &str) -> Value {
        let queue = self.http.get(&format!("/v1/event-queues/{queue}")).success();
        let counts = queue["counts"].as_object().expect("a queue has counts").clone();
        counts.into_iter().filter(|(_, count)| *count != 0).collect()
    }

    /// How many claims wait.
    pub(crate) fn waiters(&self) -> u64 {
        let system = self.http.get("/v1/system").success();
        system["waiters"]["claims"].as_u64().expect("the system counts its waiters")
    }

    /// Looks until `count` claims wait.
    pub(crate) fn until_waiting(&self, count: u64) -> std::time::Duration {
        until(&format!("{count} claims wait"), seconds(30), || self.waiters() == count)
    }

    /// Pid same: the process that answers is the one that was started.
    pub(crate) fn assert_same_process(&self) {
        assert_eq!(self.http.get("/v1/system").success()["startedAt"], self.started_at, "it restarted");
        let log = self.naven.stderr();
        assert!(!log.contains("panicked"), "{log}");
    }
}

impl Claim {
    /// The claim in a successful answer; none where nothing came.
    pub(crate) fn of(answer: Answer) -> Option<Self> {
        let body = answer.body.clone();
        let data = answer.success();
        (!data.is_null()).then_some(Self { data, body })
    }

    pub(crate) fn id(&self) -> String {
        text(&self.data["event"]["id"])
    }

    pub(crate) fn attempt(&self) -> u64 {
        self.number("attemptCount")
    }

    pub(crate) fn fence(&self) -> u64 {
        self.number("deliveryCount")
    }

    /// Where `verb` is called.
    pub(crate) fn path(&self, verb: &str) -> String {
        format!("/v1/events/{}/{verb}", self.id())
    }

    /// A body with the token and more fields.
    pub(crate) fn proof(&self, more: Value) -> Value {
        let mut body = more;
        body["leaseToken"] = self.data["leaseToken"].clone();
        body
    }

    fn number(&self, name: &str) -> u64 {
        self.data["event"][name].as_u64().unwrap_or_else(|| panic!("no {name}: {}", self.data))
    }
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("not a text: {value}")).to_owned()
}
