//! Watching a queue: figures, consumers, and changes as they happen.
//!
//! Lives here: the calls, and a tail that goes on where its connection broke. Not here: the words
//! (`naven-api`).

use std::collections::VecDeque;
use std::time::Duration;

use naven_api::Timestamp;
use naven_api::watch::{ChangeReply, ConsumersReply, StatsReply};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::answer;
use crate::client::{Call, Client, read_whole};
use crate::error::Error;

/// How long to wait before a tail connects again.
const PAUSE: Duration = Duration::from_secs(2);
/// Longest event of a tail that is read, in bytes.
const EVENT_BYTES_MAX: usize = 64 * 1024;

/// Which figures are asked for; by default those of the last hour, minute by minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StatsSpan {
    /// When the first point begins.
    pub from: Option<Timestamp>,
    /// When the last point ends.
    pub to: Option<Timestamp>,
    /// The length of a point: a multiple of 60, or of 10 within the last hour.
    pub step_seconds: Option<u32>,
}

/// Which changes are asked for; by default all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TailFilter {
    /// Only changes to these states; empty: to any.
    pub states: Vec<String>,
    /// Only one in so many events: 1 to 1,000.
    pub sample: Option<u32>,
}

/// What a tail tells.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tailed {
    /// Something happened.
    Change(ChangeReply),
    /// Something happened here that is not told; how often, where that is known.
    Gap(Option<u64>),
}

/// A queue's changes as they happen. Dropping it ends it.
#[derive(Debug)]
pub struct Tail {
    client: Client,
    queue: String,
    query: Vec<(&'static str, String)>,
    /// None while it is not connected.
    response: Option<reqwest::Response>,
    last_id: Option<String>,
    unread: Vec<u8>,
    told: VecDeque<Block>,
}

/// One event as it came.
#[derive(Debug, Default, PartialEq)]
struct Block {
    name: String,
    data: String,
}

#[derive(Deserialize)]
struct Missed {
    missed: Option<u64>,
}

#[derive(Deserialize)]
struct End {
    reason: String,
}

impl Client {
    /// What happened in a queue over time, as the node that answers has recorded it since its start.
    ///
    /// Cancel safety: harmless, it only reads.
    ///
    /// # Errors
    /// `queue_not_found`, `invalid_field` and what every call may meet.
    pub async fn stats(&self, queue: &str, span: StatsSpan) -> Result<StatsReply, Error> {
        let mut query = Vec::new();
        query.extend(span.from.map(|at| ("from", at.to_string())));
        query.extend(span.to.map(|at| ("to", at.to_string())));
        query.extend(span.step_seconds.map(|seconds| ("stepSeconds", seconds.to_string())));
        self.send(Call::get(&["event-queues", queue, "stats"], &query)).await
    }

    /// Who holds a queue's events, and who has lately asked the node that answers for some.
    ///
    /// Cancel safety: harmless, it only reads.
    ///
    /// # Errors
    /// `queue_not_found` and what every call may meet.
    pub async fn consumers(&self, queue: &str) -> Result<ConsumersReply, Error> {
        self.send(Call::get(&["event-queues", queue, "consumers"], &[])).await
    }

    /// Begins to watch a queue's changes, from now on.
    ///
    /// # Errors
    /// `queue_not_found`, `too_many_waiters`, `draining`, `invalid_field` and what every call may meet.
    pub async fn tail(&self, queue: &str, filter: &TailFilter) -> Result<Tail, Error> {
        let mut query = Vec::new();
        if !filter.states.is_empty() {
            query.push(("states", filter.states.join(",")));
        }
        query.extend(filter.sample.map(|sample| ("sample", sample.to_string())));
        let mut tail = Tail {
            client: self.clone(),
            queue: queue.to_owned(),
            query,
            response: None,
            last_id: None,
            unread: Vec::new(),
            told: VecDeque::new(),
        };
        tail.connect().await?;
        Ok(tail)
    }
}

impl Tail {
    /// What is told next; none once the queue is deleted. Where the connection breaks or the server
    /// restarts, it goes on from there, and says [`Tailed::Gap`] where something was missed.
    ///
    /// Cancel safety: dropped before it is done, nothing is lost.
    ///
    /// # Errors
    /// What ends it for good, such as a key that is worth nothing any more. What may pass is tried
    /// again, every two seconds.
    pub async fn next(&mut self) -> Result<Option<Tailed>, Error> {
        loop {
            while let Some(block) = self.told.pop_front() {
                match block.name.as_str() {
                    "gap" => return Ok(Some(Tailed::Gap(decoded::<Missed>(&block)?.missed))),
                    "end" => {
                        self.response = None;
                        if decoded::<End>(&block)?.reason == "queue_deleted" {
                            return Ok(None);
                        }
                    }
                    _ => return decoded(&block).map(|change| Some(Tailed::Change(change))),
                }
            }
            let Some(response) = &mut self.response else {
                tokio::time::sleep(PAUSE).await;
                match self.connect().await {
                    Err(error) if !error.is_retryable() => return Err(error),
                    Ok(()) | Err(_) => continue,
                }
            };
            match response.chunk().await {
                Ok(Some(chunk)) => self.take(&chunk)?,
                Ok(None) | Err(_) => self.break_off(),
            }
        }
    }

    async fn connect(&mut self) -> Result<(), Error> {
        let path = ["event-queues", self.queue.as_str(), "tail"];
        let response = self.client.begin_after(&path, &self.query, self.last_id.as_deref()).await?;
        if response.status().is_success() {
            self.response = Some(response);
            return Ok(());
        }
        let (status, headers, body) = read_whole(response).await?;
        answer::read::<IgnoredAny>(status, &headers, &body, answer::Partly::IsFailure)?;
        Err(Error::Decode { status, why: "a failure without a code".to_owned() })
    }

    /// The connection is gone, and with it half an event.
    fn break_off(&mut self) {
        self.response = None;
        self.unread.clear();
    }

    fn take(&mut self, chunk: &[u8]) -> Result<(), Error> {
        self.unread.extend_from_slice(chunk);
        while let Some(end) = self.unread.windows(2).position(|bytes| bytes == b"\n\n") {
            let block: Vec<u8> = self.unread.drain(..end + 2).collect();
            let (id, block) = parsed(&String::from_utf8_lossy(&block));
            self.last_id = id.or_else(|| self.last_id.take());
            self.told.extend(block);
        }
        if self.unread.len() > EVENT_BYTES_MAX {
            self.break_off();
            let why = format!("an event of a tail longer than {EVENT_BYTES_MAX} bytes");
            return Err(Error::Decode { status: 200, why });
        }
        Ok(())
    }
}

/// The id in some lines, and the event, where they are one.
fn parsed(lines: &str) -> (Option<String>, Option<Block>) {
    let (mut id, mut block) = (None, Block::default());
    for line in lines.lines() {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
        match name {
            "id" => id = Some(value),
            "event" => block.name = value,
            "data" => block.data = value,
            _ => {}
        }
    }
    let is_event = !block.data.is_empty();
    (id, is_event.then_some(block))
}

fn decoded<'a, T: Deserialize<'a>>(block: &'a Block) -> Result<T, Error> {
    serde_json::from_str(&block.data).map_err(|error| Error::Decode { status: 200, why: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_events_ids_or_nothing() {
        let event = |name: &str, data: &str| Block { name: name.to_owned(), data: data.to_owned() };
        let id = |text: &str| Some(text.to_owned());
        assert_eq!(parsed("id: 1-2\nevent: gap\ndata: {}\n"), (id("1-2"), Some(event("gap", "{}"))));
        assert_eq!(parsed("retry: 2000\nid: 1-0\n"), (id("1-0"), None));
        assert_eq!(parsed(": nothing new\n"), (None, None));
        assert_eq!(parsed("data:x\n"), (None, Some(event("", "x"))));
    }
}
