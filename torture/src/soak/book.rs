//! What is known of one generation.
//!
//! Lives here: its queues and streams, the calls of its clients, and which event has which name. Not here: judging
//! (`closing.rs`), what Redis readers saw (`readings.rs`).

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use naven_api::{EventId, QueueId};
use serde_json::{Value, json};

use super::readings::Readings;
use super::scene::{Scene, lock};
use super::told::Lease;
use crate::history::{Answer, Ask, Call, History, QueueSettings};

/// Attempts of every queue.
pub(super) const ATTEMPTS: u32 = 5;
/// The group of Redis readers of each stream.
pub(super) const GROUP: &str = "wire";
/// Old leases that are kept for calls after their queue is gone.
const STRAYS: usize = 6;

/// One queue that is consumed over HTTP.
#[derive(Debug, Clone)]
pub(super) struct Queue {
    pub(super) name: String,
    pub(super) id: QueueId,
    /// True where no other queue reads its stream: what is finished is gone.
    pub(super) is_alone: bool,
}

/// One stream that Redis readers read.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) name: String,
    pub(super) readings: Mutex<Readings>,
    /// What it holds until it is trimmed.
    entries: AtomicU64,
    bytes: AtomicU64,
}

impl Stream {
    pub(super) fn new(name: String) -> Arc<Self> {
        let readings = Mutex::default();
        Arc::new(Self { name, readings, entries: AtomicU64::new(0), bytes: AtomicU64::new(0) })
    }

    pub(super) fn put(&self, payload_bytes: usize) {
        self.entries.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(payload_bytes as u64, Ordering::Relaxed);
    }

    /// Entries and bytes of payloads.
    pub(super) fn held(&self) -> (u64, u64) {
        (self.entries.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
    }
}

/// What is known of one generation.
#[derive(Debug)]
pub(super) struct Book {
    pub(super) scene: Arc<Scene>,
    pub(super) number: i64,
    from_ms: i64,
    pub(super) queues: Vec<Queue>,
    pub(super) streams: Vec<Arc<Stream>>,
    calls: Mutex<Vec<Call>>,
    names: Mutex<HashMap<u64, EventId>>,
    strays: Mutex<Vec<(usize, Lease)>>,
    next_name: AtomicU64,
    next_client: AtomicU32,
    is_closing: AtomicBool,
    is_over: AtomicBool,
}

impl Book {
    pub(super) fn new(
        scene: &Arc<Scene>,
        number: i64,
        queues: Vec<Queue>,
        streams: Vec<Arc<Stream>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            scene: Arc::clone(scene),
            number,
            from_ms: scene.clock.now_ms(),
            queues,
            streams,
            calls: Mutex::default(),
            names: Mutex::default(),
            strays: Mutex::default(),
            next_name: AtomicU64::new(1),
            next_client: AtomicU32::new(1),
            is_closing: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
        })
    }

    pub(super) fn new_client(&self) -> u32 {
        self.next_client.fetch_add(1, Ordering::Relaxed)
    }

    /// A name that no event of this generation has, and a payload that can be told from every other.
    pub(super) fn new_payload(&self) -> (u64, Value) {
        let name = self.next_name.fetch_add(1, Ordering::Relaxed);
        (name, json!({"n": name.to_string(), "fill": fill_of(name)}))
    }

    /// Takes a call in that was sent.
    pub(super) fn note(&self, client: u32, queue: usize, ask: Ask, answer: Answer, begun_ms: i64) {
        let ended_ms = (answer != Answer::Unknown).then(|| self.scene.clock.by_now_ms());
        let queue = self.queues[queue].id;
        lock(&self.calls).push(Call { client, begun_ms, ended_ms, queue, ask, answer });
    }

    /// Holds a payload that was handed out against what was published.
    pub(super) fn check(&self, event: EventId, payload: &Value) {
        let name = payload["n"].as_str().and_then(|name| name.parse::<u64>().ok());
        let is_whole = name.is_some_and(|name| payload["fill"] == fill_of(name).as_str());
        match name {
            Some(name) if is_whole => self.is_named(name, event),
            _ => self.scene.is_wrong(format!("{event} has a payload that nobody published: {payload}")),
        }
    }

    /// Learns which event has this name. It never has another.
    pub(super) fn is_named(&self, name: u64, event: EventId) {
        let known = *lock(&self.names).entry(name).or_insert(event);
        if known != event {
            self.scene.is_wrong(format!("what was published once is there as {known} and as {event}"));
        }
    }

    pub(super) fn keep_stray(&self, queue: usize, lease: &Lease) {
        let mut strays = lock(&self.strays);
        if strays.len() < STRAYS {
            strays.push((queue, lease.clone()));
        }
    }

    pub(super) fn take_strays(&self) -> Vec<(usize, Lease)> {
        std::mem::take(&mut lock(&self.strays))
    }

    /// Every event that a client was told of.
    pub(super) fn events(&self) -> Vec<EventId> {
        let mut events: Vec<_> = lock(&self.names).values().copied().collect();
        events.sort_unstable();
        events.dedup();
        events
    }

    /// From here on nobody publishes, faults are over, and whatever comes is acknowledged.
    pub(super) fn close(&self) {
        self.is_closing.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_closing(&self) -> bool {
        self.is_closing.load(Ordering::Relaxed)
    }

    /// Everybody comes to an end.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed) || self.scene.is_over()
    }

    /// What clients saw of it. It is forgotten here.
    pub(super) fn take_history(&self) -> History {
        let settings = QueueSettings { max_attempts: Some(ATTEMPTS), ..QueueSettings::default() };
        History {
            queues: self.queues.iter().map(|queue| (queue.id, settings)).collect(),
            world: self.scene.world_since(self.from_ms),
            calls: std::mem::take(&mut lock(&self.calls)),
        }
    }
}

/// What goes with a name: of some hundred bytes mostly, of some thousand at times.
pub(super) fn fill_of(name: u64) -> String {
    let drawn = name.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    let length = match drawn % 1_000 {
        0 => 64 << 10,
        1..=10 => 8 << 10,
        _ => 20 + drawn % 600,
    };
    let letter = char::from(b'a' + (drawn % 26) as u8);
    std::iter::repeat_n(letter, length as usize).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_differ_in_length_and_are_the_same_each_time() {
        let lengths: Vec<_> = (1..5_000).map(|name| fill_of(name).len()).collect();
        assert!(lengths.iter().all(|length| (20..=64 << 10).contains(length)));
        assert!(lengths.contains(&(64 << 10)) && lengths.contains(&(8 << 10)));
        let mean = lengths.iter().sum::<usize>() / lengths.len();
        assert!((300..700).contains(&mean), "{mean} bytes in the mean");
        assert_eq!(fill_of(7), fill_of(7));
    }
}
