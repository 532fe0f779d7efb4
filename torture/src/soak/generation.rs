//! One generation, from its first call to its judgement.
//!
//! Lives here: its queues and streams, and who takes part. Not here: how it ends (`closing.rs`).

use std::sync::{Arc, Mutex};

use serde_json::json;
use tokio::task::JoinSet;

use super::book::{ATTEMPTS, Book, GROUP, Queue, Stream};
use super::closing::{Judged, close};
use super::http::{Heard, Http};
use super::plan::{PUBLISHERS, QUICK, READERS, SLOW};
use super::publisher::publish;
use super::reader::read;
use super::scene::{Scene, pause};
use super::schedule::Schedule;
use super::wire::Wire;
use super::worker::{Pace, work};

/// When it lives, and how fast it publishes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub(super) number: i64,
    pub(super) from_ms: i64,
    pub(super) until_ms: i64,
    pub(super) cycles_per_second: f64,
    /// True where the delays of publishes count.
    pub(super) is_timed: bool,
}

/// Lives it; none where the soak is over before.
pub(super) async fn live(scene: Arc<Scene>, span: Span) -> Option<Judged> {
    let book = open(&scene, span.number).await?;
    let mut consumers = JoinSet::new();
    for queue in 0..book.queues.len() {
        (0..QUICK).for_each(|_| drop(consumers.spawn(work(Arc::clone(&book), queue, Pace::Quick))));
        (0..SLOW).for_each(|_| drop(consumers.spawn(work(Arc::clone(&book), queue, Pace::Slow))));
    }
    for stream in &book.streams {
        (0..READERS).for_each(|_| drop(consumers.spawn(read(Arc::clone(&book), Arc::clone(stream)))));
    }
    let seed = scene.plan.seed ^ (span.number as u64) << 40;
    let schedule = Schedule::new(seed, span.from_ms, span.until_ms, span.cycles_per_second);
    let schedule = Arc::new(Mutex::new(schedule));
    let mut publishers = JoinSet::new();
    for _ in 0..PUBLISHERS {
        publishers.spawn(publish(Arc::clone(&book), Arc::clone(&schedule), span.is_timed));
    }
    join(&scene, &mut publishers).await;
    close(&book, consumers).await
}

/// Waits for all of them. One that panics is a fault of the soak itself, and is told.
pub(super) async fn join(scene: &Scene, actors: &mut JoinSet<()>) {
    while let Some(ended) = actors.join_next().await {
        if let Err(error) = ended {
            scene.is_wrong(format!("an actor failed: {error}"));
        }
    }
}

async fn open(scene: &Arc<Scene>, number: i64) -> Option<Arc<Book>> {
    let mut http = Http::new(scene);
    let (shared, wire) = (format!("shared-{number}"), format!("wire-{number}"));
    let queues = vec![
        make(&mut http, format!("solo-{number}"), None).await?,
        make(&mut http, format!("mail-{number}"), Some(&shared)).await?,
        make(&mut http, format!("bill-{number}"), Some(&shared)).await?,
    ];
    for stream in [&shared, &wire] {
        make_group(scene, stream).await?;
    }
    let streams = vec![Stream::new(shared), Stream::new(wire)];
    Some(Book::new(scene, number, queues, streams))
}

/// Makes a queue, whatever the server goes through meanwhile.
pub(super) async fn make(http: &mut Http, name: String, stream: Option<&str>) -> Option<Queue> {
    let mut body = json!({
        "name": name, "maxAttempts": ATTEMPTS, "retentionSeconds": {"done": 0},
        "backoff": {"initialSeconds": 1, "factor": 2, "maxSeconds": 4, "jitter": 1},
    });
    if let Some(stream) = stream {
        body["stream"] = json!(stream);
    }
    let path = format!("/v1/event-queues/{name}");
    while !http.scene.is_over() {
        let mut heard = http.post("/v1/event-queues", &body, None).await;
        // It was made by a call of before, whose answer was lost.
        if matches!(&heard, Heard::Reply(reply) if reply.code == 40_903) {
            heard = http.get(&path).await;
        }
        match heard {
            Heard::Reply(reply) if reply.code == 0 => {
                let id = reply.data["id"].as_str().and_then(|id| id.parse().ok())?;
                return Some(Queue { name, id, is_alone: stream.is_none() });
            }
            Heard::Reply(reply) if reply.status != 503 => {
                http.scene.is_wrong(format!("the queue {name} was not made: {}", reply.data));
            }
            _ => pause(100).await,
        }
    }
    None
}

async fn make_group(scene: &Arc<Scene>, stream: &str) -> Option<()> {
    use crate::node::resp::Value::{Error, Text};
    while !scene.is_over() {
        if let Some(mut wire) = Wire::connect(scene).await {
            match wire.call(&["XGROUP", "CREATE", stream, GROUP, "0", "MKSTREAM"]).await {
                Ok(Text(_)) => return Some(()),
                Ok(Error(error)) if error.starts_with("BUSYGROUP") => return Some(()),
                Ok(_) | Err(_) => {}
            }
        }
        pause(100).await;
    }
    None
}
