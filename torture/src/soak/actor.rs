//! One client of a generation over HTTP.
//!
//! Lives here: calls that enter the history, claims, settling until it is known. Not here: what it does when
//! (`worker.rs`, `publisher.rs`, `closing.rs`).

use std::sync::Arc;

use serde_json::{Value, json};

use super::book::Book;
use super::http::Http;
use super::scene::pause;
use super::told::{Lease, done, said};
use crate::history::{Answer, Ask};
use crate::simulation::Dice;

/// By how much the server's clock may differ from ours when it says when a lease ends, in ms.
const CLOCKS_MS: i64 = 20;
/// How often a call is sent again before the server counts as gone.
const TRIES: usize = 400;

/// What a holder may say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    Ack,
    /// With a delay in seconds, or by the queue's backoff.
    Nack(Option<i64>),
    Fatal,
    Release,
    /// A heartbeat for so many seconds.
    Extend(i64),
}

/// One client.
pub(super) struct Actor {
    pub(super) book: Arc<Book>,
    pub(super) http: Http,
    pub(super) client: u32,
    pub(super) dice: Dice,
}

impl Actor {
    pub(super) fn new(book: &Arc<Book>) -> Self {
        let client = book.new_client();
        let seed = book.scene.plan.seed ^ (book.number as u64) << 32 ^ u64::from(client) << 16;
        let http = Http::new(&book.scene);
        Self { book: Arc::clone(book), http, client, dice: Dice::new(seed) }
    }

    pub(super) fn now_ms(&self) -> i64 {
        self.book.scene.clock.now_ms()
    }

    /// True so often as the plan has faults, until the generation closes.
    pub(super) fn has_fault(&self) -> bool {
        self.dice.percent(self.book.scene.plan.faults) && !self.book.is_closing()
    }

    pub(super) fn note(&self, queue: usize, ask: Ask, answer: Answer, begun_ms: i64) {
        self.book.note(self.client, queue, ask, answer, begun_ms);
    }

    pub(super) fn path(&self, queue: usize, rest: &str) -> String {
        format!("/v1/event-queues/{}{rest}", self.book.queues[queue].name)
    }

    /// Posts it and notes what came of it; none where it was never sent.
    pub(super) async fn tell(&mut self, queue: usize, path: &str, body: &Value, ask: Ask) -> Option<Answer> {
        let begun_ms = self.now_ms();
        let heard = self.http.post(path, body, None).await;
        let answer = match said(&heard) {
            Ok(Ok(data)) => done(data),
            Ok(Err(answer)) => answer?,
            Err(odd) => {
                self.book.scene.is_wrong(format!("POST {path} was answered {odd}"));
                return None;
            }
        };
        self.note(queue, ask, answer.clone(), begun_ms);
        Some(answer)
    }

    /// Takes up to so many events; none where it is not known what was taken.
    pub(super) async fn claim(
        &mut self,
        queue: usize,
        events: usize,
        lease_seconds: i64,
        wait_seconds: u32,
    ) -> Vec<Lease> {
        let (path, body) = self.claim_request(queue, events, lease_seconds, wait_seconds);
        let (begun_ms, ask) = (self.now_ms(), Ask::Claim { lease_ms: lease_seconds * 1_000 });
        let heard = self.http.post(&path, &body, None).await;
        let data = match said(&heard) {
            Ok(Ok(data)) => data,
            Ok(Err(answer)) => {
                answer.into_iter().for_each(|answer| self.note(queue, ask, answer, begun_ms));
                return Vec::new();
            }
            Err(odd) => {
                self.book.scene.is_wrong(format!("POST {path} was answered {odd}"));
                return Vec::new();
            }
        };
        let claims = match &data["claims"] {
            Value::Array(claims) => claims.clone(),
            _ if data.is_null() => Vec::new(),
            _ => vec![data.clone()],
        };
        let leases: Option<Vec<_>> = claims.iter().map(Lease::read).collect();
        let Some(leases) = leases else {
            self.book.scene.is_wrong(format!("POST {path} was answered {data}"));
            return Vec::new();
        };
        // It waited: its leases began when the server says so.
        let ends_ms = leases.iter().map(|lease| lease.ends_at_ms).min();
        let since_ms = ends_ms.map_or(begun_ms, |ends_ms| ends_ms - lease_seconds * 1_000 - CLOCKS_MS);
        let since_ms = since_ms.clamp(begun_ms, self.now_ms());
        let grants = leases.iter().map(Lease::grant).collect();
        self.note(queue, ask, Answer::Claimed(grants), since_ms);
        leases.iter().for_each(|lease| self.book.check(lease.event, &lease.payload));
        leases
    }

    pub(super) fn claim_request(
        &self,
        queue: usize,
        events: usize,
        lease_seconds: i64,
        wait_seconds: u32,
    ) -> (String, Value) {
        let mut body = json!({
            "leaseSeconds": lease_seconds, "waitSeconds": wait_seconds, "consumerId": format!("w{}", self.client),
        });
        if events > 1 {
            body["maxEvents"] = json!(events);
        }
        (self.path(queue, if events > 1 { "/claim-batch" } else { "/claim" }), body)
    }

    /// Says it once.
    pub(super) async fn say(&mut self, queue: usize, lease: &Lease, word: Word) -> Option<Answer> {
        let (path, body, ask) = request_of(lease, word);
        self.tell(queue, &path, &body, ask).await
    }

    /// Says it until it is answered. True where it was done.
    pub(super) async fn settle(&mut self, queue: usize, lease: &Lease, word: Word) -> bool {
        for _ in 0..TRIES {
            match self.say(queue, lease, word).await {
                Some(Answer::Unknown | Answer::Refused) | None if !self.book.is_over() => pause(100).await,
                Some(Answer::Done { .. }) => {
                    if word == Word::Ack {
                        self.finished(queue, lease);
                    }
                    return true;
                }
                _ => return false,
            }
        }
        false
    }

    /// Takes in that it was acknowledged.
    pub(super) fn finished(&self, queue: usize, lease: &Lease) {
        self.book.scene.ledger.finish();
        let is_alone = self.book.queues[queue].is_alone;
        if is_alone {
            self.book.scene.ledger.take(1, lease.payload.to_string().len() as u64);
        }
    }
}

/// Path and body of what a holder says, and what the history calls it.
pub(super) fn request_of(lease: &Lease, word: Word) -> (String, Value, Ask) {
    let (event, fence) = (lease.event, lease.fence);
    let nack = |mode: &str| json!({"leaseToken": lease.token, "mode": mode, "error": "no"});
    let (verb, body, ask) = match word {
        Word::Ack => ("ack", json!({"leaseToken": lease.token}), Ask::Ack { event, fence }),
        Word::Nack(Some(seconds)) => {
            let mut body = nack("fail");
            body["retryDelaySeconds"] = json!(seconds);
            ("nack", body, Ask::Nack { event, fence, delay_ms: Some(seconds * 1_000) })
        }
        Word::Nack(None) => ("nack", nack("fail"), Ask::Nack { event, fence, delay_ms: None }),
        Word::Fatal => ("nack", nack("fatal"), Ask::Fatal { event, fence }),
        Word::Release => ("nack", nack("release"), Ask::Release { event, fence }),
        Word::Extend(seconds) => {
            let body = json!({"leaseToken": lease.token, "leaseSeconds": seconds});
            ("heartbeat", body, Ask::Extend { event, fence, lease_ms: seconds * 1_000 })
        }
    };
    (format!("/v1/events/{event}/{verb}"), body, ask)
}
