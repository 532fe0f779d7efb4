//! A publisher, over both doors.
//!
//! Lives here: one arrival after the other, each at its time or as soon after as it can. Not here: when arrivals come
//! (`schedule.rs`).

use std::sync::{Arc, Mutex};

use naven_api::{EventId, Timestamp};
use serde_json::{Value, json};

use super::actor::Actor;
use super::book::Book;
use super::fault;
use super::http::bytes_of;
use super::scene::{lock, pause};
use super::schedule::{BATCH, Kind, Schedule};
use super::told::said;
use super::wire::Wire;
use crate::history::{Answer, Ask, Publish};

/// The queue whose stream nobody else reads, and those that share one.
pub(super) const SOLO: usize = 0;
const SHARED: [usize; 2] = [1, 2];
/// The stream that those share, and the one of entries by XADD.
const SHARED_STREAM: usize = 0;
const WIRE_STREAM: usize = 1;
/// How many of a hundred publishes can be sent again until they are answered.
const KEYED: u32 = 5;
/// How many of a hundred single events may be tried once or twice only, so that attempts are used up.
const FEW_ATTEMPTS: u32 = 20;

struct Publisher {
    actor: Actor,
    wire: Option<Wire>,
    keys: u64,
}

/// What is published by one call over HTTP.
struct Parcel {
    path: String,
    body: Value,
    names: Vec<u64>,
    publish: Publish,
    queues: &'static [usize],
    stream: Option<usize>,
}

/// Publishes what the schedule brings until its end.
pub(super) async fn publish(book: Arc<Book>, schedule: Arc<Mutex<Schedule>>, is_timed: bool) {
    let mut publisher = Publisher { actor: Actor::new(&book), wire: None, keys: 0 };
    while !book.is_over() {
        let Some((at_ms, kind)) = lock(&schedule).next() else { return };
        let early_ms = at_ms - publisher.actor.now_ms();
        pause(early_ms).await;
        if is_timed {
            book.scene.ledger.note_late((publisher.actor.now_ms() - at_ms).max(0));
        }
        match kind {
            Kind::Wire => publisher.add().await,
            kind => publisher.send(kind).await,
        }
    }
}

impl Publisher {
    fn parcel(&self, kind: Kind) -> Parcel {
        let count = if kind == Kind::Batch { BATCH } else { 1 };
        let (names, payloads): (Vec<_>, Vec<_>) = (0..count).map(|_| self.actor.book.new_payload()).unzip();
        let mut publish = Publish::default();
        let mut events: Vec<_> = payloads.into_iter().map(|payload| json!({ "payload": payload })).collect();
        if kind == Kind::Single && self.actor.dice.percent(FEW_ATTEMPTS) {
            let attempts = self.actor.dice.one_of(&[1, 2]);
            publish.max_attempts = Some(attempts);
            events[0]["maxAttempts"] = json!(attempts);
        }
        if let Kind::Delayed(delay_ms) = kind {
            let due_ms = self.actor.now_ms() + delay_ms;
            publish.due_ms = Some(due_ms);
            events[0]["scheduledAt"] = json!(Timestamp::from_ms(due_ms).to_string());
        }
        let (path, queues, stream) = if kind == Kind::Shared {
            let stream = &self.actor.book.streams[SHARED_STREAM].name;
            (format!("/v1/streams/{stream}/events"), &SHARED[..], Some(SHARED_STREAM))
        } else {
            (self.actor.path(SOLO, "/events"), &[SOLO][..], None)
        };
        let body = if count == 1 { events.remove(0) } else { json!({ "events": events }) };
        let path = if count == 1 { path } else { path + "/batch" };
        Parcel { path, body, names, publish, queues, stream }
    }

    async fn send(&mut self, kind: Kind) {
        let parcel = self.parcel(kind);
        let is_keyed = self.actor.dice.percent(KEYED);
        self.keys += 1;
        let once =
            is_keyed.then(|| format!("{}-{}-{}", self.actor.book.number, self.actor.client, self.keys));
        let scene = Arc::clone(&self.actor.book.scene);
        let bytes = bytes_of(&scene.key, "POST", &parcel.path, &parcel.body.to_string(), once.as_deref());
        let begun_ms = self.actor.now_ms();
        let has_fault = self.actor.has_fault();
        if has_fault && is_keyed {
            fault::unread(&scene, &bytes, &self.actor.dice).await;
        } else if has_fault && self.actor.dice.percent(50) {
            fault::cut(&scene, &bytes, &self.actor.dice).await;
        } else if has_fault {
            let (queue, dice) = (self.actor.book.queues[SOLO].name.clone(), &self.actor.dice);
            fault::crooked(&mut self.actor.http, &queue, dice).await;
        }
        let is_done = self.until_answered(&parcel, &bytes, is_keyed, begun_ms).await;
        if is_done && is_keyed {
            scene.ledger.keep_answer();
        }
        if is_done && has_fault && is_keyed {
            scene.ledger.note_fault("call made again");
            let heard = self.actor.http.send(&bytes).await;
            // Under the same names: they are the same events, or that is what is wrong.
            if let Ok(Ok(data)) = said(&heard) {
                self.learn(&parcel, data);
            }
        }
    }

    /// True once it was answered that it is there.
    async fn until_answered(
        &mut self,
        parcel: &Parcel,
        bytes: &[u8],
        is_keyed: bool,
        mut begun_ms: i64,
    ) -> bool {
        while !self.actor.book.is_over() {
            if !is_keyed {
                begun_ms = self.actor.now_ms();
            }
            let heard = self.actor.http.send(bytes).await;
            match said(&heard) {
                Ok(Ok(data)) => {
                    let events = self.learn(parcel, data);
                    self.published(parcel, &events, begun_ms);
                    return true;
                }
                Ok(Err(Some(Answer::Unknown))) if !is_keyed => {
                    // It may be there, and nobody can say so: it counts as one that may come.
                    for &queue in parcel.queues {
                        for _ in &parcel.names {
                            let ask = Ask::Publish(parcel.publish);
                            self.actor.note(queue, ask, Answer::Unknown, begun_ms);
                        }
                    }
                    return false;
                }
                Ok(Err(_)) => pause(50).await,
                Err(odd) => {
                    let what = format!("POST {} was answered {odd}", parcel.path);
                    self.actor.book.scene.is_wrong(what);
                }
            }
        }
        false
    }

    /// Reads the ids of what was published.
    fn learn(&self, parcel: &Parcel, data: &Value) -> Vec<EventId> {
        let items = data["items"].as_array().cloned().unwrap_or_else(|| vec![data.clone()]);
        let ids = items.iter().filter_map(|item| item["id"].as_str()?.parse().ok());
        let events: Vec<EventId> = ids.collect();
        if events.len() == parcel.names.len() {
            parcel
                .names
                .iter()
                .zip(&events)
                .for_each(|(name, event)| self.actor.book.is_named(*name, *event));
        } else {
            self.actor.book.scene.is_wrong(format!("POST {} was answered {data}", parcel.path));
        }
        events
    }

    fn published(&self, parcel: &Parcel, events: &[EventId], begun_ms: i64) {
        let book = &self.actor.book;
        for (number, (name, event)) in parcel.names.iter().zip(events).enumerate() {
            for &queue in parcel.queues {
                let answer = Answer::Published { event: *event };
                self.actor.note(queue, Ask::Publish(parcel.publish), answer, begun_ms);
            }
            let payload = match &parcel.body["events"][number]["payload"] {
                Value::Null => &parcel.body["payload"],
                payload => payload,
            };
            let bytes = payload.to_string().len();
            book.scene.ledger.put(bytes);
            if let Some(stream) = parcel.stream {
                book.streams[stream].put(bytes);
                lock(&book.streams[stream].readings).publish(*name);
            }
        }
    }

    /// Adds an entry over Redis. Without a reply it may be there or not.
    async fn add(&mut self) {
        let book = Arc::clone(&self.actor.book);
        let (name, payload) = book.new_payload();
        let stream = &book.streams[WIRE_STREAM];
        let (text, fill) = (name.to_string(), payload["fill"].as_str().unwrap_or_default());
        let words = ["XADD", &stream.name, "*", "n", &text, "fill", fill];
        if self.wire.is_none() {
            self.wire = Wire::connect(&book.scene).await;
        }
        let has_fault = self.actor.has_fault();
        let Some(mut wire) = self.wire.take() else { return };
        if has_fault && self.actor.dice.percent(50) {
            return wire.cut(&words, &self.actor.dice).await;
        } else if has_fault {
            return wire.unread(&words, &self.actor.dice).await;
        }
        match wire.call(&words).await {
            Ok(crate::node::resp::Value::Text(_)) => {
                book.scene.ledger.put(text.len() + fill.len());
                stream.put(text.len() + fill.len());
                lock(&stream.readings).publish(name);
                self.wire = Some(wire);
            }
            Ok(_) => pause(50).await,
            Err(_) => {}
        }
    }
}
