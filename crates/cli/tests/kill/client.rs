//! A client that notes what it asks for before it asks, and what it is answered.
//!
//! Lives here: the five calls and their batches as facts. Not here: which call comes next
//! (`load.rs`, `drain.rs`) and whether the answers can be true (`judge.rs`).

use std::io::Error;
use std::sync::{Mutex, MutexGuard};

use serde_json::{Value, json};

use crate::clock::{Clock, Moment};
use crate::connection::Connection;
use crate::facts::{Facts, Wish};
use crate::history::{Held, Kind, Said, Stray, View};
use crate::plan::{QUEUES, payload};
use crate::support::Answer;

/// Whatever came of a call; an error where its connection broke.
pub(crate) type Outcome<T> = Result<T, Error>;

/// How an event looked at some time between `sent` and `got`; no view where it was not there.
pub(crate) struct Seen {
    pub(crate) view: Option<View>,
    pub(crate) answer: Answer,
    pub(crate) sent: Moment,
    pub(crate) got: Moment,
}

pub(crate) struct Client<'a> {
    pub(crate) connection: Connection,
    pub(crate) facts: &'a Mutex<Facts>,
    pub(crate) clock: Clock,
}

impl<'a> Client<'a> {
    pub(crate) fn open(host: &str, facts: &'a Mutex<Facts>, clock: Clock) -> Self {
        Self { connection: Connection::open(host), facts, clock }
    }

    pub(crate) fn facts(&self) -> MutexGuard<'a, Facts> {
        self.facts.lock().expect("a panic ends the whole test")
    }

    /// Publishes as many events as there are wishes: more than one go as a batch.
    pub(crate) fn publish(&mut self, queue: usize, wishes: &[Wish]) -> Outcome<()> {
        let sent = self.clock.now();
        let numbers = self.facts().publish_begins(queue, wishes, sent);
        let events: Vec<String> =
            numbers.iter().zip(wishes).map(|(number, wish)| event(*number, wish)).collect();
        let (path, body, what) = match events.as_slice() {
            [event] => ("", event.clone(), "publish"),
            events => ("/batch", format!("{{\"events\":[{}]}}", events.join(",")), "publish batch"),
        };
        let path = format!("/v1/event-queues/{}/events{path}", QUEUES[queue].name);
        let (answer, _) = self.post(&path, &body, sent)?;
        let mut facts = self.facts();
        facts.count(what);
        let items = if numbers.len() == 1 { vec![answer.data.clone()] } else { list(&answer.data["items"]) };
        if answer.status != 201 || answer.code != 0 || items.len() != numbers.len() {
            facts.fault(format!("a publish was answered {} {}", answer.status, answer.body));
            return Ok(());
        }
        for (number, item) in numbers.into_iter().zip(&items) {
            facts.published(number, item);
        }
        Ok(())
    }

    /// Claims one event, or with `most` a batch of up to so many.
    pub(crate) fn claim(
        &mut self,
        queue: usize,
        most: Option<usize>,
        wait_seconds: u32,
    ) -> Outcome<Vec<Held>> {
        let mut request = json!({ "leaseSeconds": QUEUES[queue].lease_seconds, "waitSeconds": wait_seconds });
        let (verb, what) = match most {
            Some(most) => {
                request["maxEvents"] = most.into();
                ("claim-batch", "claim batch")
            }
            None => ("claim", "claim"),
        };
        let path = format!("/v1/event-queues/{}/{verb}", QUEUES[queue].name);
        let sent = self.clock.now();
        let called = self.connection.call("POST", &path, &request.to_string());
        let got = self.clock.now();
        let mut facts = self.facts();
        let answer = match called {
            Ok(answer) => answer,
            Err(error) => {
                let most = most.unwrap_or(1);
                facts.strays.push(Stray { queue, sent, lost: got, most });
                if wait_seconds == 0 {
                    facts.cut_off.push(sent);
                }
                return Err(error);
            }
        };
        facts.count(what);
        if answer.status != 200 || answer.code != 0 {
            facts.fault(format!("a claim was answered {} {}", answer.status, answer.body));
        }
        let claims = match &answer.data {
            Value::Null => Vec::new(),
            data if most.is_some() => list(&data["claims"]),
            data => vec![data.clone()],
        };
        Ok(facts.claimed(queue, (&claims, &answer.body), sent, got))
    }

    /// Looks at an event with an id.
    pub(crate) fn look(&mut self, number: usize) -> Outcome<Seen> {
        let id = self.facts().events[number].id.clone().expect("an event that was answered has an id");
        let sent = self.clock.now();
        let answer = self.connection.call("GET", &format!("/v1/events/{id}"), "")?;
        let got = self.clock.now();
        let mut facts = self.facts();
        facts.count("look");
        let view = View::of(&answer.data).filter(|_| answer.code == 0);
        if view.is_none() {
            let text = format!("lost: {} {}\n{}", answer.status, answer.body, facts.events[number]);
            facts.fault(text);
        }
        Ok(Seen { view, answer, sent, got })
    }

    /// One call with a token.
    pub(crate) fn say(&mut self, held: &Held, kind: Kind) -> Outcome<Said> {
        let mut request = json!({ "leaseToken": held.token });
        let (verb, what) = match kind {
            Kind::Heartbeat => ("heartbeat", "heartbeat"),
            Kind::Ack => ("ack", "ack"),
            Kind::Fail(_) => ("nack", "nack fail"),
            Kind::Fatal => ("nack", "nack fatal"),
            Kind::Release => ("nack", "nack release"),
        };
        match kind {
            Kind::Heartbeat => request["leaseSeconds"] = QUEUES[held.queue].lease_seconds.into(),
            Kind::Ack => {}
            Kind::Fail(delay) => {
                request["error"] = "it did not work".into();
                if let Some(delay) = delay {
                    request["retryDelaySeconds"] = delay.into();
                }
            }
            Kind::Fatal => request["mode"] = "fatal".into(),
            Kind::Release => request["mode"] = "release".into(),
        }
        let sent = self.clock.now();
        self.facts().call_begins(held, kind, sent);
        let path = format!("/v1/events/{}/{verb}", held.id);
        let (answer, got) = match self.post(&path, &request.to_string(), sent) {
            Ok(answered) => answered,
            Err(error) => {
                let got = self.clock.now();
                self.facts().call_ends(held, None, got);
                return Err(error);
            }
        };
        let mut facts = self.facts();
        facts.count(what);
        let said = Said::of(kind, answer.code, &answer.data);
        if said.is_none() {
            facts.fault(format!("not an answer to {kind:?} of {held:?}: {}", answer.body));
        }
        facts.call_ends(held, said.clone(), got);
        Ok(said.unwrap_or(Said::Refused(answer.code)))
    }

    /// Acks in one call.
    pub(crate) fn ack_batch(&mut self, batch: &[Held]) -> Outcome<()> {
        let sent = self.clock.now();
        batch.iter().for_each(|held| self.facts().call_begins(held, Kind::Ack, sent));
        let called = self.post("/v1/leases/ack", &ack_items(batch), sent);
        let got = self.clock.now();
        let mut facts = self.facts();
        let (answer, got) = match called {
            Ok(answered) => answered,
            Err(error) => {
                batch.iter().for_each(|held| facts.call_ends(held, None, got));
                return Err(error);
            }
        };
        facts.count("ack batch");
        let items = list(&answer.data["items"]);
        if items.len() != batch.len() || !matches!((answer.status, answer.code), (200, 0) | (207, 20_700)) {
            facts.fault(format!("a batch of acks was answered {} {}", answer.status, answer.body));
        }
        for (held, item) in batch.iter().zip(&items) {
            let said = Said::of(Kind::Ack, item["code"].as_u64().unwrap_or(u64::MAX), &item["data"]);
            if said.is_none() || item["eventId"] != held.id.as_str() {
                facts.fault(format!("not an answer to an ack of {held:?}: {item}"));
            }
            facts.call_ends(held, said, got);
        }
        Ok(())
    }

    fn post(&mut self, path: &str, body: &str, sent: Moment) -> Outcome<(Answer, Moment)> {
        let called = self.connection.call("POST", path, body);
        if called.is_err() {
            self.facts().cut_off.push(sent);
        }
        Ok((called?, self.clock.now()))
    }
}

/// The body of a batch of acks.
pub(crate) fn ack_items(batch: &[Held]) -> String {
    let item = |held: &Held| json!({ "eventId": held.id, "leaseToken": held.token });
    json!({ "items": batch.iter().map(item).collect::<Vec<_>>() }).to_string()
}

/// The members of a list.
pub(crate) fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}

fn event(number: usize, wish: &Wish) -> String {
    let option = |name: &str, value: Option<u32>| {
        value.map(|value| format!(",\"{name}\":{value}")).unwrap_or_default()
    };
    format!(
        "{{\"payload\":{}{}{}}}",
        payload(number),
        option("delaySeconds", wish.delay_seconds),
        option("maxAttempts", wish.attempts_max)
    )
}
