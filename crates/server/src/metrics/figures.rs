//! Queues and streams, as they stand.
//!
//! Lives here: reading them in short pages, so that no write waits for long, and their families. Not here:
//! the node's own figures (`node.rs`).

use std::collections::HashSet;

use bytes::Bytes;
use naven_api::limits::{METRICS_QUEUES_MAX, METRICS_STREAMS_MAX};
use naven_core::View;
use naven_store::read::{Counts, Cursor, Page as Read, QueueView, Read as Ask, StreamView, SystemView};
use naven_store::reply::OpError;

use super::page::{Kind, Page};
use crate::node::Node;
use crate::stats::{Figure, Totals};

/// Items of one read.
const PAGE_ITEMS: usize = 100;

/// Queues and streams, newest first, and the engine's own figures.
pub(super) struct Figures {
    pub(super) system: SystemView,
    queues: Vec<Queue>,
    streams: Vec<Stream>,
}

struct Queue {
    name: String,
    counts: Counts,
    oldest_ready_age_seconds: f64,
    is_paused: bool,
    trimmed_unread: u64,
    totals: Totals,
}

struct Stream {
    name: String,
    entries: u64,
    added: u64,
    scheduled: u64,
}

impl Figures {
    /// Reads them.
    ///
    /// # Errors
    /// What the engine says.
    pub(super) async fn read(node: &Node) -> Result<Self, OpError> {
        let queues = queues(node).await?;
        let streams = streams(node).await?;
        let Read::System(system) = node.engine.read(Ask::System).await? else { return Err(OpError::Unknown) };
        Ok(Self { system, queues, streams })
    }

    /// Adds their families.
    pub(super) fn tell(&self, page: &mut Page) {
        self.tell_bounds(page);
        let states = self.queues.iter().flat_map(|one| {
            let state =
                |view: View| ([("queue", &*one.name), ("state", view.as_str())], one.counts.of(view) as f64);
            View::ALL.into_iter().map(state)
        });
        page.each(Kind::Gauge, "naven_queue_deliveries", "Deliveries of the queue by state", states);
        for Column { kind, name, help, of } in &OF_A_QUEUE {
            let samples = self.queues.iter().map(|one| ([("queue", &*one.name)], of(one)));
            page.each(*kind, name, help, samples);
        }
        for (figure, name, help) in TOTALS {
            let samples =
                self.queues.iter().map(|one| ([("queue", &*one.name)], one.totals.of(figure) as f64));
            page.each(Kind::Counter, name, help, samples);
        }
        for Column { kind, name, help, of } in &OF_A_STREAM {
            let samples = self.streams.iter().map(|one| ([("stream", &*one.name)], of(one)));
            page.each(*kind, name, help, samples);
        }
    }

    fn tell_bounds(&self, page: &mut Page) {
        let SystemView { queues, streams, .. } = self.system;
        let newest =
            |most: usize| format!("are left out of these figures: at most {most} are listed, the newest");
        let omitted = |there: u64, told: usize| there.saturating_sub(told as u64) as f64;
        page.one(Kind::Gauge, "naven_queues", "Queues that are not deleted", queues as f64);
        let help = format!("Queues that {}", newest(METRICS_QUEUES_MAX));
        page.one(Kind::Gauge, "naven_queues_omitted", &help, omitted(queues, self.queues.len()));
        page.one(Kind::Gauge, "naven_streams", "Streams that are not deleted", streams as f64);
        let help = format!("Streams that {}", newest(METRICS_STREAMS_MAX));
        page.one(Kind::Gauge, "naven_streams_omitted", &help, omitted(streams, self.streams.len()));
    }
}

/// A figure of each queue or stream.
struct Column<T> {
    kind: Kind,
    name: &'static str,
    help: &'static str,
    of: fn(&T) -> f64,
}

const OF_A_QUEUE: [Column<Queue>; 3] = [
    Column {
        kind: Kind::Gauge,
        name: "naven_queue_oldest_ready_age_seconds",
        help: "For how long the oldest ready event has been due; 0 where none is ready",
        of: |one| one.oldest_ready_age_seconds,
    },
    Column {
        kind: Kind::Gauge,
        name: "naven_queue_paused",
        help: "1 where the queue is paused, else 0",
        of: |one| f64::from(u8::from(one.is_paused)),
    },
    Column {
        kind: Kind::Counter,
        name: "naven_queue_trimmed_unread_total",
        help: "Entries of its stream that were trimmed away before the queue had read them; kept across restarts",
        of: |one| one.trimmed_unread as f64,
    },
];

const OF_A_STREAM: [Column<Stream>; 3] = [
    Column {
        kind: Kind::Gauge,
        name: "naven_stream_entries",
        help: "Entries of the stream",
        of: |one| one.entries as f64,
    },
    Column {
        kind: Kind::Counter,
        name: "naven_stream_entries_added_total",
        help: "Entries that were ever added to the stream; kept across restarts",
        of: |one| one.added as f64,
    },
    Column {
        kind: Kind::Gauge,
        name: "naven_stream_scheduled",
        help: "Events of the stream whose time is still to come",
        of: |one| one.scheduled as f64,
    },
];

/// What this node counts of a queue since it records it.
const TOTALS: [(Figure, &str, &str); Figure::ALL.len()] = [
    (Figure::Published, "naven_queue_published_total", "Events that were published to the queue"),
    (Figure::Claimed, "naven_queue_claimed_total", "Deliveries that somebody took"),
    (Figure::Acked, "naven_queue_acked_total", "Deliveries that were finished"),
    (
        Figure::Failed,
        "naven_queue_failed_total",
        "Holds that failed, also those that failed for the last time",
    ),
    (Figure::Released, "naven_queue_released_total", "Holds that were given back"),
    (Figure::Expired, "naven_queue_expired_total", "Holds that ran out of time"),
    (Figure::Dead, "naven_queue_dead_total", "Deliveries that became dead letters"),
    (Figure::Cancelled, "naven_queue_cancelled_total", "Deliveries that were cancelled"),
    (Figure::Redriven, "naven_queue_redriven_total", "Dead letters that were brought back"),
];

async fn queues(node: &Node) -> Result<Vec<Queue>, OpError> {
    let (mut found, mut cursor): (Vec<Queue>, Option<Cursor>) = (Vec::new(), None);
    while found.len() < METRICS_QUEUES_MAX {
        let limit = items(METRICS_QUEUES_MAX - found.len());
        let ask = Ask::Queues { name_prefix: String::new(), cursor, limit };
        let Read::Queues(views, next) = node.engine.read(ask).await? else { return Err(OpError::Unknown) };
        let recorder = node.watch.recorder();
        found.extend(views.into_iter().map(|view| queue(recorder.totals(view.id), view)));
        drop(recorder);
        cursor = next;
        if cursor.is_none() {
            break;
        }
    }
    Ok(found)
}

async fn streams(node: &Node) -> Result<Vec<Stream>, OpError> {
    let (mut found, mut cursor): (Vec<Stream>, Option<Cursor>) = (Vec::new(), None);
    let mut names = HashSet::new();
    while found.len() < METRICS_STREAMS_MAX {
        let limit = items(METRICS_STREAMS_MAX - found.len());
        let ask = Ask::Streams { name_prefix: Bytes::new(), cursor, limit };
        let Read::Streams(views, next) = node.engine.read(ask).await? else { return Err(OpError::Unknown) };
        // Two names that are shown alike would make the whole text none.
        found.extend(views.iter().map(stream).filter(|one| names.insert(one.name.clone())));
        cursor = next;
        if cursor.is_none() {
            break;
        }
    }
    Ok(found)
}

fn items(left: usize) -> u32 {
    u32::try_from(left.min(PAGE_ITEMS)).unwrap_or(u32::MAX)
}

fn queue(totals: Totals, view: QueueView) -> Queue {
    let since = view.oldest_ready.unwrap_or(view.now);
    Queue {
        oldest_ready_age_seconds: (view.now.as_ms() - since.as_ms()).max(0) as f64 / 1_000.0,
        name: view.name,
        counts: view.counts,
        is_paused: view.paused.is_some(),
        trimmed_unread: view.trimmed_unread,
        totals,
    }
}

fn stream(view: &StreamView) -> Stream {
    Stream {
        name: shown_name(&view.name),
        entries: view.length,
        added: view.added,
        scheduled: view.scheduled,
    }
}

/// A name as a label shows it. One of bytes that are no text is escaped.
fn shown_name(bytes: &[u8]) -> String {
    std::str::from_utf8(bytes).map_or_else(|_| bytes.escape_ascii().to_string(), str::to_owned)
}
