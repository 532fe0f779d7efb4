//! A queue's changes as they happen.
//!
//! Lives here: the handler, and the stream of server-sent events. Not here: keeping changes
//! (`tails.rs`). A tail reads on only when its client has taken what came before, so a slow one holds
//! nothing up and takes no room: what it is too slow for it misses, and is told so.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue};
use naven_api::field::Rule;
use naven_api::limits::TAIL_SAMPLE_MAX;
use naven_api::watch::ChangeReply;
use naven_api::{ErrorCode, QueueId, value};
use naven_core::View;
use naven_store::Change;
use naven_store::queue::QueueRef;
use naven_store::reply::Refused;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::extract::QueueInPath;
use super::query::Query;
use crate::auth::{Caller, Scope, Thing};
use crate::failure::Failure;
use crate::node::Node;
use crate::tails::{Kept, Place};
use crate::watch::is_sampled;

/// A tail in which nothing happens says so that often.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How often it is looked whether the queue is there and the key still good.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Most changes in one piece.
const PIECE_CHANGES: usize = 256;

/// `GET /v1/event-queues/{queue}/tail`: each change of its deliveries as a server-sent event.
pub(super) async fn tail(
    State(node): State<Arc<Node>>,
    caller: Caller,
    QueueInPath(queue): QueueInPath,
    headers: HeaderMap,
    mut query: Query,
) -> Result<Response, Failure> {
    node.allow_queue(&caller, Scope::Read, &queue).await?;
    let view = node.queue(queue).await?;
    let filter = Filter::of(&mut query);
    query.end()?;
    if node.is_draining() {
        return Err(Failure::new(ErrorCode::Draining, "the server is shutting down"));
    }
    let place = node.watch.tails.take_place(caller.id());
    let place =
        place.ok_or_else(|| Failure::new(ErrorCode::TooManyWaiters, "too many tails: try again later"))?;
    let (next, missed) = begin(&node, &headers);
    let grown = node.watch.tails.grown();
    let now = Instant::now();
    let tail = Tail {
        node,
        caller,
        queue: view.id,
        filter,
        next,
        ahead: Ahead::Hello { missed },
        grown,
        quiet_since: now,
        look_at: now + LOOK_EVERY,
        _place: place,
    };
    let pieces = stream::unfold(Some(tail), |tail| async move { Some(tail?.piece().await) });
    let mut response = Response::new(Body::from_stream(pieces));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    Ok(response)
}

/// Where a tail begins: behind the event that its client saw last, and whether something between is gone.
fn begin(node: &Node, headers: &HeaderMap) -> (u64, bool) {
    let tails = &node.watch.tails;
    let Some(last) = headers.get("last-event-id") else { return (tails.end(), false) };
    place_behind(last, node.watch.start, (tails.first(), tails.end()))
}

/// The place behind the event of that id, of a process that began at `start` and keeps these places; the first
/// of them, and that something is gone, where the id is none of its own.
pub(super) fn place_behind(last: &HeaderValue, start: u64, (first, end): (u64, u64)) -> (u64, bool) {
    let seen = last.to_str().ok().and_then(|text| text.split_once('-'));
    let seen = seen.filter(|(of, _)| u64::from_str_radix(of, 16) == Ok(start));
    let next = seen.and_then(|(_, number)| number.parse::<u64>().ok()?.checked_add(1));
    match next.filter(|&next| next <= end) {
        Some(next) => (next, false),
        // Numbers of another start: what happened since this one's is all that there is to tell.
        None => (first, true),
    }
}

/// Which changes a tail is told.
pub(super) struct Filter {
    /// None: whatever the state.
    pub(super) states: Option<Vec<View>>,
    pub(super) sample: u32,
}

impl Filter {
    pub(super) fn of(query: &mut Query) -> Self {
        let states = query.text("states").and_then(|text| {
            let state = |word: &str| View::ALL.into_iter().find(|view| view.as_str() == word);
            let states: Option<Vec<View>> = text.split(',').map(state).collect();
            if states.is_none() {
                let words: Vec<&str> = View::ALL.into_iter().map(View::as_str).collect();
                query.refuse(
                    "states",
                    &Rule::new(format!("some of {}, with commas between", words.join(", "))),
                );
            }
            states
        });
        let sample = query.text("sample").map_or(1, |text| {
            value::integer(&text, 1, TAIL_SAMPLE_MAX).unwrap_or_else(|| {
                query.refuse("sample", &value::integer_rule(1, TAIL_SAMPLE_MAX));
                1
            })
        });
        Self { states, sample }
    }

    fn takes(&self, change: &Change) -> bool {
        self.states.as_ref().is_none_or(|states| states.contains(&change.to))
            && is_sampled(change.event, self.sample)
    }
}

/// What a tail says next, whatever happens.
enum Ahead {
    /// How to come back, and that something was missed before this.
    Hello { missed: bool },
    /// Nothing but what happens.
    Changes,
}

/// One tail.
struct Tail {
    node: Arc<Node>,
    caller: Caller,
    queue: QueueId,
    filter: Filter,
    /// The number of the next change that it looks at.
    next: u64,
    ahead: Ahead,
    grown: watch::Receiver<u64>,
    quiet_since: Instant,
    look_at: Instant,
    _place: Place,
}

type Piece = (Result<Bytes, std::convert::Infallible>, Option<Tail>);

impl Tail {
    /// What is said next, and the tail if it goes on after that.
    async fn piece(mut self) -> Piece {
        if let Ahead::Hello { missed } = std::mem::replace(&mut self.ahead, Ahead::Changes) {
            let mut text = format!("retry: 2000\n{}\n", self.id(self.next - 1));
            if missed {
                text += &self.gap(self.next - 1);
            }
            return (Ok(text.into()), Some(self));
        }
        loop {
            if self.node.watch.draining.is_cancelled() {
                return ended("draining");
            }
            if Instant::now() >= self.look_at {
                if let Some(reason) = self.why_it_ends().await {
                    return ended(reason);
                }
                self.look_at = Instant::now() + LOOK_EVERY;
            }
            self.grown.borrow_and_update();
            let text = self.happened();
            if !text.is_empty() {
                self.quiet_since = Instant::now();
                return (Ok(text.into()), Some(self));
            }
            let alive_at = self.quiet_since + KEEP_ALIVE;
            if Instant::now() >= alive_at {
                self.quiet_since = Instant::now();
                // The id says how far this tail has looked, so that nothing is taken for missed later.
                let text = format!(": nothing new\n{}\n", self.id(self.next - 1));
                return (Ok(text.into()), Some(self));
            }
            tokio::select! {
                grown = self.grown.changed() => if grown.is_err() { return ended("draining") },
                () = sleep_until(alive_at.min(self.look_at)) => {}
                () = self.node.watch.draining.cancelled() => {}
            }
        }
    }

    /// What happened since, as text; empty where nothing of it is for this tail.
    fn happened(&mut self) -> String {
        let filter = &self.filter;
        let takes = |change: &Change| filter.takes(change);
        let found = self.node.watch.tails.from(self.next, self.queue, takes, PIECE_CHANGES);
        let mut text = String::new();
        if found.missed {
            let first = found.changes.first().map_or(found.next, |(number, _)| *number);
            text += &self.gap(first - 1);
        }
        for (number, kept) in found.changes {
            match kept {
                Kept::Change(change) => text += &self.event(number, &change),
                Kept::Gap => text += &self.gap(number),
            }
        }
        self.next = found.next;
        text
    }

    /// Why the tail ends now, if it does.
    async fn why_it_ends(&self) -> Option<&'static str> {
        let now = self.node.clock.wall();
        let Some(caller) = self.node.keys.still(&self.caller, now) else { return Some("key_ended") };
        match self.node.queue(QueueRef::Id(self.queue)).await {
            Ok(view) if caller.may(Scope::Read, Thing::Queue(&view.name)).is_err() => Some("key_ended"),
            Err(failure) if failure.code == Failure::from(Refused::QueueNotFound).code => {
                Some("queue_deleted")
            }
            // What the engine cannot say now is no end.
            Ok(_) | Err(_) => None,
        }
    }

    fn id(&self, number: u64) -> String {
        format!("id: {:016x}-{number}\n", self.node.watch.start)
    }

    /// How many were missed is not known: what is kept is kept for all queues.
    fn gap(&self, before: u64) -> String {
        format!("{}event: gap\ndata: {{\"missed\":null}}\n\n", self.id(before))
    }

    fn event(&self, number: u64, change: &Change) -> String {
        let data = ChangeReply {
            event_id: change.event,
            kind: change.kind.as_str().to_owned(),
            from: change.from.map(|view| view.as_str().to_owned()),
            to: change.to.as_str().to_owned(),
            at: change.at,
            attempt_count: change.attempts,
            consumer_id: change.consumer.as_deref().map(str::to_owned),
            wait_ms: change.wait_ms,
            run_ms: change.run_ms,
        };
        // Texts and numbers alone cannot fail to be written.
        let data = serde_json::to_string(&data).unwrap_or_default();
        format!("{}event: {}\ndata: {data}\n\n", self.id(number), change.kind.as_str())
    }
}

fn ended(reason: &str) -> Piece {
    (Ok(format!("event: end\ndata: {{\"reason\":\"{reason}\"}}\n\n").into()), None)
}
