//! Publishing many events.
//!
//! Lives here: bodies made once, and sent in batches over several connections. Not here: single
//! publishes that are timed one by one (`waiters.rs`, `fanout.rs`).

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;

use crate::clock::{now, wall};
use crate::connection::{Address, Connection};
use crate::narration::progress;
use crate::random::Random;

/// Most events of a batch.
const BATCH: u64 = 500;
/// Most bytes of payload in a batch: a request may have 8 MiB.
const BATCH_BYTES: usize = 4 << 20;
/// Connections that publish at the same time.
const CONNECTIONS: usize = 4;
/// Bytes of different payloads, which are used in turn: they are random, so that nothing is gained by
/// their being alike.
const POOL_BYTES: usize = 8 << 20;
/// How far ahead delayed events are due, in milliseconds.
const DAY_MS: u64 = 24 * 3_600 * 1_000;
/// Progress is told every so many events.
const TOLD_EVERY: u64 = 1_000_000;

/// When events are due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    Now,
    /// At a random time within the next 24 hours.
    WithinADay,
}

/// Which events are published, and where to.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    pub(crate) queue: String,
    pub(crate) events: u64,
    /// Length of each payload.
    pub(crate) bytes: usize,
    pub(crate) due: Due,
}

/// A payload of exactly so many bytes, of random letters.
pub(crate) fn payload(random: &mut Random, bytes: usize) -> String {
    const AROUND: usize = r#"{"d":""}"#.len();
    format!(r#"{{"d":"{}"}}"#, random.letters(bytes - AROUND))
}

/// Publishes; how long it took.
///
/// # Errors
/// Where the server refuses one.
pub(crate) async fn publish(address: &Address, wanted: &Wanted) -> anyhow::Result<Duration> {
    let mut random = Random::seeded(wanted.events);
    let different = (POOL_BYTES / wanted.bytes).max(1);
    let payloads: Vec<String> = (0..different).map(|_| payload(&mut random, wanted.bytes)).collect();
    let (payloads, left) = (Arc::new(payloads), Arc::new(AtomicU64::new(wanted.events)));
    let mut senders = JoinSet::new();
    let began = now();
    for number in 0..CONNECTIONS {
        let sender = Sender {
            connection: Connection::open(address).await?,
            wanted: wanted.clone(),
            payloads: Arc::clone(&payloads),
            left: Arc::clone(&left),
            random: Random::seeded(number as u64),
            body: String::new(),
        };
        senders.spawn(sender.run());
    }
    while let Some(sent) = senders.join_next().await {
        sent??;
    }
    Ok(began.elapsed())
}

struct Sender {
    connection: Connection,
    wanted: Wanted,
    payloads: Arc<Vec<String>>,
    /// Events that nobody has begun to publish.
    left: Arc<AtomicU64>,
    random: Random,
    body: String,
}

impl Sender {
    async fn run(mut self) -> anyhow::Result<()> {
        let path = format!("/v1/event-queues/{}/events/batch", self.wanted.queue);
        let batch = BATCH.min((BATCH_BYTES / self.wanted.bytes) as u64);
        loop {
            let take = |left: u64| (left > 0).then(|| left.saturating_sub(batch));
            let Ok(left) = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take) else {
                return Ok(());
            };
            let count = left.min(batch);
            self.fill(count);
            self.connection.done(&path, self.body.as_bytes()).await?;
            let after = left - count;
            if after / TOLD_EVERY != (left - 1) / TOLD_EVERY {
                progress(&format!("{after} of {} events are left to publish", self.wanted.events));
            }
        }
    }

    /// Makes the body of a batch.
    fn fill(&mut self, count: u64) {
        self.body.clear();
        self.body.push_str(r#"{"events":["#);
        let first = self.random.below(self.payloads.len() as u64) as usize;
        let wall = wall().as_millisecond();
        let in_turn = self.payloads.iter().cycle().skip(first).take(count as usize);
        for (at, payload) in in_turn.enumerate() {
            let separator = if at == 0 { "" } else { "," };
            let written = match self.wanted.due {
                Due::Now => write!(self.body, r#"{separator}{{"payload":{payload}}}"#),
                Due::WithinADay => {
                    let ahead_ms = self.random.below(DAY_MS) as i64;
                    let due = jiff::Timestamp::from_millisecond(wall + ahead_ms);
                    let due = due.expect("tomorrow is a time that can be written");
                    write!(self.body, r#"{separator}{{"payload":{payload},"scheduledAt":"{due:.3}"}}"#)
                }
            };
            written.expect("a text takes whatever is written to it");
        }
        self.body.push_str("]}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_has_the_length_that_was_asked_for() {
        let mut random = Random::seeded(1);
        for bytes in [32, 33, 256] {
            let payload = payload(&mut random, bytes);
            assert_eq!(payload.len(), bytes);
            serde_json::from_str::<serde_json::Value>(&payload).expect("it is JSON");
        }
    }
}
