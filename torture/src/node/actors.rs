//! Publishers and workers of the HTTP door.
//!
//! Lives here: what they do when, and how their answers enter the history. Not here: readers of the Redis door
//! (`reader.rs`).

use std::time::Duration;

use naven_api::{EventId, QueueId, Timestamp};
use serde_json::{Value, json};

use super::http::{Answer as Heard, Client};
use super::machine::Shared;
use super::reader::is_nothing_pending;
use crate::history::{Answer, Ask, Grant, Publish, Reason, Seen};

/// The stream, the queue that workers take from, and the group of readers.
pub(super) const STREAM: &str = "orders";
pub(super) const QUEUE: &str = "mail";
pub(super) const GROUP: &str = "audit";
/// How often an unanswered settle call is sent again.
const TRIES: usize = 8;

pub(super) async fn rest(world: &Shared, from_ms: i64, to_ms: i64) {
    let ms = world.borrow().dice.between(from_ms..=to_ms);
    tokio::time::sleep(Duration::from_millis(ms as u64)).await;
}

fn patience(world: &Shared) -> Duration {
    let world = world.borrow();
    Duration::from_millis(if world.is_healed { 5_000 } else { world.dice.between(200..=4_000) as u64 })
}

/// What an answer says, apart from what it gives.
fn judged(world: &Shared, heard: &Heard, what: &str) -> Result<Value, Answer> {
    let Some((code, data)) = heard else { return Err(Answer::Unknown) };
    Err(match code {
        0 | 20_700 => return Ok(data.clone()),
        40_900 => Answer::Conflict(Reason::Expired),
        40_901 => Answer::Conflict(Reason::Lost),
        40_902 => Answer::Conflict(Reason::Settled),
        40_908 => Answer::Conflict(Reason::WrongState),
        40_402 | 40_404 => Answer::NotFound,
        42_900..=42_999 | 50_300..=50_399 | 50_700 => Answer::Refused,
        50_000 | 50_400 => Answer::Unknown,
        code => {
            world.borrow_mut().wrong.push(format!("{what} was answered {code}: {data}"));
            Answer::Unknown
        }
    })
}

/// Publishes so many events, each until it is answered.
pub(super) async fn publish(world: Shared, client: u32, queue: QueueId, events: usize) {
    let key = world.borrow().key.reveal().to_owned();
    let mut http = Client::new(&key);
    for n in 0..events {
        rest(&world, 10, 4_000).await;
        let id = format!("{client}-{n}");
        let body = json!({"payload": {"n": id}});
        let call = world.borrow_mut().begin(client, queue, Ask::Publish(Publish::default()));
        loop {
            let path = format!("/v1/streams/{STREAM}/events");
            let heard = http.post(&path, &body, Some(&id), patience(&world)).await;
            match judged(&world, &heard, "a publish") {
                Ok(data) => match data["id"].as_str().and_then(|id| id.parse().ok()) {
                    Some(event) => break world.borrow_mut().end(call, Answer::Published { event }),
                    None => break world.borrow_mut().wrong.push(format!("a publish was answered {data}")),
                },
                Err(_) => rest(&world, 50, 900).await,
            }
        }
        world.borrow_mut().published.insert(id);
    }
    world.borrow_mut().publishers -= 1;
}

struct Lease {
    event: EventId,
    fence: u64,
    token: String,
    until_ms: i64,
}

/// Takes events until the world is over.
pub(super) async fn work(world: Shared, client: u32, queue: QueueId, lease_seconds: u32) {
    let key = world.borrow().key.reveal().to_owned();
    let mut worker = Worker { http: Client::new(&key), world, client, queue, lease_seconds };
    while !worker.world.borrow().is_over {
        match worker.claim().await {
            Some(lease) => worker.handle(lease).await,
            None => rest(&worker.world, 10, 700).await,
        }
    }
}

struct Worker {
    http: Client,
    world: Shared,
    client: u32,
    queue: QueueId,
    lease_seconds: u32,
}

impl Worker {
    fn lease_ms(&self) -> i64 {
        i64::from(self.lease_seconds) * 1_000
    }

    async fn claim(&mut self) -> Option<Lease> {
        let wait = self.world.borrow().dice.between(0..=5);
        let body = json!({"leaseSeconds": self.lease_seconds, "waitSeconds": wait, "consumerId": format!("w{}", self.client)});
        let (call, begun_ms) = {
            let mut world = self.world.borrow_mut();
            let ask = Ask::Claim { lease_ms: self.lease_ms() };
            (world.begin(self.client, self.queue, ask), world.now_ms)
        };
        let patience = patience(&self.world) + Duration::from_secs(wait as u64);
        let heard = self.http.post(&format!("/v1/event-queues/{QUEUE}/claim"), &body, None, patience).await;
        let data = match judged(&self.world, &heard, "a claim") {
            Ok(data) => data,
            Err(answer) => {
                self.world.borrow_mut().end(call, answer);
                return None;
            }
        };
        if data.is_null() {
            self.world.borrow_mut().end(call, Answer::Claimed(Vec::new()));
            return None;
        }
        let event = data["event"]["id"].as_str().and_then(|id| id.parse().ok())?;
        let fence = data["event"]["deliveryCount"].as_u64()?;
        let attempt = u32::try_from(data["event"]["attemptCount"].as_u64()?).ok()?;
        let grant = Grant { event, fence, attempt, round: None };
        self.world.borrow_mut().end(call, Answer::Claimed(vec![grant]));
        let token = data["leaseToken"].as_str()?.to_owned();
        Some(Lease { event, fence, token, until_ms: begun_ms + self.lease_ms() })
    }

    /// Works on it for a while, with heartbeats, and settles it.
    async fn handle(&mut self, mut lease: Lease) {
        let (work_ms, beats, fate) = {
            let world = self.world.borrow();
            let most = if world.is_healed { self.lease_ms() / 4 } else { self.lease_ms() * 2 };
            let fate = if world.is_healed { 0 } else { world.dice.between(0..=19) };
            (world.dice.between(0..=most), world.dice.percent(80), fate)
        };
        let done_ms = self.world.borrow().now_ms + work_ms;
        loop {
            let now_ms = self.world.borrow().now_ms;
            let beat_ms = now_ms + self.lease_ms() / 3;
            let next_ms = if beats { beat_ms.min(done_ms) } else { done_ms };
            tokio::time::sleep(Duration::from_millis((next_ms - now_ms).max(0) as u64)).await;
            if next_ms >= done_ms {
                break;
            }
            if !self.beat(&mut lease).await {
                return;
            }
        }
        if fate == 19 {
            // It forgets all about it.
            return;
        }
        self.settle(&lease, fate).await;
        if !self.world.borrow().is_healed && self.world.borrow().dice.percent(15) {
            rest(&self.world, 0, 2_000).await;
            let other = self.world.borrow().dice.between(0..=18);
            self.say(&lease, other).await;
        }
    }

    /// False where the lease is lost.
    async fn beat(&mut self, lease: &mut Lease) -> bool {
        let (event, fence, lease_ms) = (lease.event, lease.fence, self.lease_ms());
        let left_ms = self.world.borrow().now_ms;
        let body = json!({"leaseToken": lease.token, "leaseSeconds": self.lease_seconds});
        let answer = self.post(lease, "heartbeat", &body, Ask::Extend { event, fence, lease_ms }).await;
        match answer {
            Answer::Done { .. } => {
                lease.until_ms = left_ms + lease_ms;
                true
            }
            Answer::Conflict(_) | Answer::NotFound => false,
            _ => lease.until_ms > self.world.borrow().now_ms,
        }
    }

    async fn settle(&mut self, lease: &Lease, fate: i64) {
        for _ in 0..TRIES {
            match self.say(lease, fate).await {
                Answer::Unknown | Answer::Refused => rest(&self.world, 20, 900).await,
                _ => return,
            }
        }
    }

    async fn say(&mut self, lease: &Lease, fate: i64) -> Answer {
        let (event, fence) = (lease.event, lease.fence);
        let nack = |mode: &str, delay: Option<i64>| match delay {
            Some(delay) => {
                json!({"leaseToken": lease.token, "mode": mode, "retryDelaySeconds": delay, "error": "no"})
            }
            None => json!({"leaseToken": lease.token, "mode": mode, "error": "no"}),
        };
        let (verb, body, ask) = match fate {
            0..=12 => ("ack", json!({"leaseToken": lease.token}), Ask::Ack { event, fence }),
            13..=14 => {
                let delay_ms = Some(1_000 * (fate - 12));
                ("nack", nack("fail", Some(fate - 12)), Ask::Nack { event, fence, delay_ms })
            }
            15 => ("nack", nack("fail", None), Ask::Nack { event, fence, delay_ms: None }),
            16 => ("nack", nack("fatal", None), Ask::Fatal { event, fence }),
            _ => ("nack", nack("release", None), Ask::Release { event, fence }),
        };
        self.post(lease, verb, &body, ask).await
    }

    async fn post(&mut self, lease: &Lease, verb: &str, body: &Value, ask: Ask) -> Answer {
        let call = self.world.borrow_mut().begin(self.client, self.queue, ask);
        let path = format!("/v1/events/{}/{verb}", lease.event);
        let heard = self.http.post(&path, body, None, patience(&self.world)).await;
        let answer = match judged(&self.world, &heard, verb) {
            Ok(data) => Answer::Done {
                next_at_ms: data["nextAttemptAt"].as_str().and_then(instant),
                replayed: data["replayed"].as_bool().unwrap_or(false),
            },
            Err(answer) => answer,
        };
        self.world.borrow_mut().end(call, answer.clone());
        answer
    }
}

fn instant(text: &str) -> Option<i64> {
    Timestamp::parse(text).ok().map(Timestamp::as_ms)
}

/// Makes the queue and its group, before anything goes wrong. Answers the queue's id.
pub(super) async fn set_up(world: &Shared, lease_seconds: u32, max_attempts: u32) -> Option<QueueId> {
    let key = world.borrow().key.reveal().to_owned();
    let mut http = Client::new(&key);
    let body = json!({
        "name": QUEUE, "stream": STREAM, "defaultLeaseSeconds": lease_seconds, "maxAttempts": max_attempts,
        "backoff": {"initialSeconds": 1, "factor": 2, "maxSeconds": 4, "jitter": 1},
    });
    let wait = Duration::from_secs(20);
    for _ in 0..20 {
        let heard = http.post("/v1/event-queues", &body, None, wait).await;
        if let Some((0, data)) = &heard {
            return data["id"].as_str()?.parse().ok();
        }
        rest(world, 50, 100).await;
    }
    None
}

/// Looks until everything is over, then at every event, and ends the world.
pub(super) async fn close(world: Shared, queue: QueueId) {
    let key = world.borrow().key.reveal().to_owned();
    let mut http = Client::new(&key);
    let wait = Duration::from_secs(5);
    loop {
        rest(&world, 900, 1_100).await;
        let is_time = world.borrow().is_healed && world.borrow().publishers == 0;
        if !is_time {
            continue;
        }
        let Some((0, data)) = http.get(&format!("/v1/event-queues/{QUEUE}"), wait).await else {
            continue;
        };
        let open = ["scheduled", "ready", "leased", "held", "retrying"];
        let open: u64 = open.iter().filter_map(|state| data["counts"][*state].as_u64()).sum();
        let is_read = world.borrow().is_read();
        if open == 0 && is_read && is_nothing_pending(&world).await {
            break;
        }
    }
    let events = world.borrow().events();
    for event in events {
        let call = world.borrow_mut().begin(u32::MAX, queue, Ask::Look { event });
        let answer = match http.get(&format!("/v1/events/{event}"), wait).await {
            Some((0, data)) => seen(&data),
            Some((40_402, _)) => Answer::NotFound,
            _ => Answer::Unknown,
        };
        world.borrow_mut().end(call, answer);
    }
    world.borrow_mut().is_over = true;
}

fn seen(event: &Value) -> Answer {
    let deliveries = event["deliveries"].as_array().cloned().unwrap_or_else(|| vec![event.clone()]);
    let state =
        deliveries.iter().find(|delivery| delivery["queue"] == QUEUE).map(|delivery| &delivery["state"]);
    match state.and_then(Value::as_str) {
        Some("done") => Answer::Saw(Seen::Done),
        Some("dead") => Answer::Saw(Seen::Dead),
        Some("cancelled") => Answer::Saw(Seen::Cancelled),
        Some("leased" | "held") => Answer::Saw(Seen::Leased),
        Some(_) => Answer::Saw(Seen::Waiting),
        None => Answer::NotFound,
    }
}
