//! A server, and what is on it.
//!
//! Lives here: starting it, and bringing about what verbs are shown. Not here: running them (`verb.rs`).

use serde_json::Value;

use crate::support::{Ended, Naven, Start, key, run, run_with_input};

/// A server of a test's own.
pub(crate) struct Scene {
    pub(crate) naven: Naven,
}

impl Scene {
    /// With the queues `mail` and, on the stream `orders`, `billing` and `stock`.
    pub(crate) fn start() -> Self {
        let scene = Self { naven: Start::serve().ready() };
        scene.post("event-queues", r#"{"name":"mail","description":"letters to send","maxAttempts":3}"#);
        for queue in ["billing", "stock"] {
            scene.post("event-queues", &format!(r#"{{"name":"{queue}","stream":"orders"}}"#));
        }
        scene
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> Value {
        self.naven.client().post(&format!("/v1/{path}"), body).success()
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        self.naven.client().get(&format!("/v1/{path}")).success()
    }

    /// Runs `naven` against it.
    pub(crate) fn run(&self, args: &[&str], input: &str) -> Ended {
        let variables = [("NAVEN_API_URL", self.naven.url()), ("NAVEN_API_KEY", key().to_owned())];
        let variables: Vec<_> = variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
        if input.is_empty() { run(args, &variables) } else { run_with_input(args, &variables, input) }
    }

    /// Publishes to a queue; the event's id.
    pub(crate) fn publish(&self, queue: &str) -> String {
        let event = self.post(&format!("event-queues/{queue}/events"), r#"{"payload":{"n":1.50}}"#);
        text(&event, "id")
    }

    /// Publishes to a queue as a part of a trace; the event's id.
    pub(crate) fn publish_traced(&self, queue: &str) -> String {
        let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let client = self.naven.client().with_header("traceparent", trace);
        let event = client.post(&format!("/v1/event-queues/{queue}/events"), r#"{"payload":{"n":1.50}}"#);
        text(&event.success(), "id")
    }

    /// Publishes to a queue and claims it; the event's id and the lease's token.
    pub(crate) fn leased(&self, queue: &str) -> (String, String) {
        self.publish(queue);
        let body = r#"{"waitSeconds":5,"consumerId":"worker-1"}"#;
        let claim = self.post(&format!("event-queues/{queue}/claim"), body);
        (text(&claim["event"], "id"), text(&claim, "leaseToken"))
    }

    /// An event of a queue that died of `error`; its id.
    pub(crate) fn dead(&self, queue: &str, error: &str) -> String {
        let (event, token) = self.leased(queue);
        let body = format!(r#"{{"leaseToken":"{token}","mode":"fatal","error":"{error}"}}"#);
        self.post(&format!("events/{event}/nack"), &body);
        event
    }

    /// The path of a file in the folder that the server was started in.
    pub(crate) fn path(&self, name: &str) -> String {
        self.naven.cwd().join(name).to_str().expect("paths of tests are UTF-8").to_owned()
    }
}

/// A text in a JSON object.
pub(crate) fn text(value: &Value, field: &str) -> String {
    value[field].as_str().unwrap_or_else(|| panic!("{field} in {value}")).to_owned()
}

/// Owned arguments.
pub(crate) fn args<const N: usize>(args: [&str; N]) -> Vec<String> {
    args.map(str::to_owned).to_vec()
}
