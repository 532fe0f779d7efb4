//! What rate the server does, before the load.
//!
//! Lives here: full cycles by a fixed set of connections, as fast as each goes. Not here: the load (`generation.rs`).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use naven_api::EventId;
use serde_json::json;
use tokio::task::JoinSet;

use super::actor::{Actor, Word};
use super::book::Book;
use super::closing::{Judged, close};
use super::generation::{join, make};
use super::http::Http;
use super::plan::MEASURERS;
use super::scene::Scene;
use super::told::said;
use crate::history::{Answer, Ask, Publish};

/// Cycles a second, and what the checker says of them; none where the soak is over before.
pub(super) async fn measure(scene: &Arc<Scene>) -> Option<(f64, Judged)> {
    let queue = make(&mut Http::new(scene), "rate".to_owned(), None).await?;
    let book = Book::new(scene, 0, vec![queue], Vec::new());
    let (from_ms, cycles) = (scene.clock.now_ms(), Arc::new(AtomicU64::new(0)));
    let until_ms = from_ms + scene.plan.measuring_ms();
    let mut measurers = JoinSet::new();
    for _ in 0..MEASURERS {
        measurers.spawn(cycle(Arc::clone(&book), until_ms, Arc::clone(&cycles)));
    }
    join(scene, &mut measurers).await;
    let seconds = (scene.clock.now_ms() - from_ms) as f64 / 1_000.0;
    let rate = cycles.load(Ordering::Relaxed) as f64 / seconds.max(0.001);
    // What one of them published and another's claim did not come to is taken now.
    let mut consumers = JoinSet::new();
    consumers.spawn(super::worker::work(Arc::clone(&book), 0, super::worker::Pace::Quick));
    Some((rate, close(&book, consumers).await?))
}

async fn cycle(book: Arc<Book>, until_ms: i64, cycles: Arc<AtomicU64>) {
    let mut actor = Actor::new(&book);
    while actor.now_ms() < until_ms && !book.is_over() {
        let (name, payload) = book.new_payload();
        let (path, body) = (actor.path(0, "/events"), json!({ "payload": payload }));
        let begun_ms = actor.now_ms();
        let heard = actor.http.post(&path, &body, None).await;
        let event: Option<EventId> = match said(&heard) {
            Ok(Ok(data)) => data["id"].as_str().and_then(|id| id.parse().ok()),
            _ => None,
        };
        let Some(event) = event else {
            return book.scene.is_wrong(format!("a publish was answered {heard:?}"));
        };
        actor.note(0, Ask::Publish(Publish::default()), Answer::Published { event }, begun_ms);
        book.is_named(name, event);
        book.scene.ledger.put(payload.to_string().len());
        for lease in actor.claim(0, 1, 30, 1).await {
            let is_done = actor.settle(0, &lease, Word::Ack).await;
            cycles.fetch_add(u64::from(is_done), Ordering::Relaxed);
        }
    }
}
