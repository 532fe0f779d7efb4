//! A consumer over HTTP.
//!
//! Lives here: what it does with what it claims, and what it does wrong. Not here: the calls themselves (`actor.rs`).

use std::sync::Arc;

use serde_json::json;

use super::actor::{Actor, Word, request_of};
use super::book::Book;
use super::fault;
use super::http::{Heard, bytes_of};
use super::scene::pause;
use super::told::{Lease, coded, done, said};
use crate::history::{Answer, Ask};

/// Leases, in seconds.
const LEASE_SECONDS: i64 = 4;
/// Events of a batch.
const BATCH: usize = 8;
/// How long a claim waits.
const WAIT_SECONDS: u32 = 2;

/// How it works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pace {
    /// It is done at once.
    Quick,
    /// It takes up to half as long again as its lease, with heartbeats mostly.
    Slow,
}

struct Worker {
    actor: Actor,
    queue: usize,
    pace: Pace,
}

/// Takes events until the generation is over.
pub(super) async fn work(book: Arc<Book>, queue: usize, pace: Pace) {
    let mut worker = Worker { actor: Actor::new(&book), queue, pace };
    while !book.is_over() {
        worker.turn().await;
    }
}

impl Worker {
    async fn turn(&mut self) {
        let events = if self.pace == Pace::Quick && self.actor.dice.percent(30) { BATCH } else { 1 };
        if self.actor.has_fault() && self.actor.dice.percent(15) {
            self.lose_claim(events).await;
        }
        let begun_ms = self.actor.now_ms();
        let leases = self.actor.claim(self.queue, events, LEASE_SECONDS, WAIT_SECONDS).await;
        if leases.is_empty() && self.actor.now_ms() - begun_ms < 100 {
            // It drains, or is not there.
            return pause(50).await;
        }
        if leases.len() > 2 && self.actor.dice.percent(60) {
            return self.acknowledge_all(leases).await;
        }
        for lease in leases {
            self.handle(lease).await;
        }
    }

    /// A claim whose answer nobody reads: what it took comes again when its lease is over, if not before.
    async fn lose_claim(&mut self, events: usize) {
        let (path, body) = self.actor.claim_request(self.queue, events, LEASE_SECONDS, 1);
        let bytes = bytes_of(&self.actor.book.scene.key, "POST", &path, &body.to_string(), None);
        let begun_ms = self.actor.now_ms();
        if fault::unread(&self.actor.book.scene, &bytes, &self.actor.dice).await {
            let ask = Ask::Claim { lease_ms: LEASE_SECONDS * 1_000 };
            self.actor.note(self.queue, ask, Answer::Unknown, begun_ms);
        }
    }

    async fn handle(&mut self, lease: Lease) {
        if self.pace == Pace::Slow && !self.take_time(&lease).await {
            return;
        }
        if self.actor.has_fault() {
            return self.fail(lease).await;
        }
        let word = match self.actor.dice.between(0..=399) {
            _ if self.actor.book.is_closing() => Word::Ack,
            0..=11 => Word::Nack(Some(self.actor.dice.between(1..=3))),
            12..=15 => Word::Nack(None),
            16..=23 => Word::Release,
            24 => Word::Fatal,
            _ => Word::Ack,
        };
        self.actor.settle(self.queue, &lease, word).await;
    }

    /// Works on it. False where the lease is known to be lost.
    async fn take_time(&mut self, lease: &Lease) -> bool {
        let lease_ms = LEASE_SECONDS * 1_000;
        let (most, beats) = (self.actor.dice.between(0..=lease_ms * 3 / 2), self.actor.dice.percent(85));
        let done_ms = self.actor.now_ms() + most;
        let mut beat_ms = self.actor.now_ms() + lease_ms / 3;
        while self.actor.now_ms() < done_ms && !self.actor.book.is_closing() && !self.actor.book.is_over() {
            pause(50).await;
            if beats && self.actor.now_ms() >= beat_ms {
                beat_ms += lease_ms / 3;
                let answer = self.actor.say(self.queue, lease, Word::Extend(LEASE_SECONDS)).await;
                if matches!(answer, Some(Answer::Conflict(_) | Answer::NotFound)) {
                    return false;
                }
            }
        }
        true
    }

    async fn fail(&mut self, lease: Lease) {
        let (path, body, ask) = request_of(&lease, Word::Ack);
        let scene = Arc::clone(&self.actor.book.scene);
        let bytes = bytes_of(&scene.key, "POST", &path, &body.to_string(), None);
        match self.actor.dice.between(0..=7) {
            0 => return scene.ledger.note_fault("lease forgotten"),
            1 => {
                let begun_ms = self.actor.now_ms();
                if fault::unread(&scene, &bytes, &self.actor.dice).await {
                    self.actor.note(self.queue, ask, Answer::Unknown, begun_ms);
                }
            }
            2 => fault::cut(&scene, &bytes, &self.actor.dice).await,
            3 => {
                scene.ledger.note_fault("token made up");
                let (_, body, _) = request_of(&made_up(&lease, self.actor.dice.percent(50)), Word::Ack);
                let ask = Ask::Ack { event: lease.event, fence: 0 };
                self.actor.tell(self.queue, &path, &body, ask).await;
            }
            4 => {
                let (queue, dice) = (self.actor.book.queues[self.queue].name.clone(), &self.actor.dice);
                fault::crooked(&mut self.actor.http, &queue, dice).await;
            }
            5 => fault::slowly(&scene, &self.actor.book.queues[self.queue].name).await,
            _ => {}
        }
        if !self.actor.settle(self.queue, &lease, Word::Ack).await {
            return;
        }
        self.actor.book.keep_stray(self.queue, &lease);
        scene.ledger.note_fault("token used again");
        let words = [Word::Ack, Word::Nack(Some(1)), Word::Nack(None), Word::Fatal, Word::Release];
        let word = self.actor.dice.one_of(&words);
        self.actor.say(self.queue, &lease, word).await;
        self.actor.say(self.queue, &lease, Word::Extend(LEASE_SECONDS)).await;
    }

    /// Acknowledges them by one call, each by itself.
    async fn acknowledge_all(&mut self, leases: Vec<Lease>) {
        let items: Vec<_> = leases
            .iter()
            .map(|lease| json!({"eventId": lease.event.to_string(), "leaseToken": lease.token}))
            .collect();
        let begun_ms = self.actor.now_ms();
        let heard = self.actor.http.post("/v1/leases/ack", &json!({ "items": items }), None).await;
        let all = match (said(&heard), &heard) {
            (Ok(Ok(data)), _) => data["items"].as_array().cloned(),
            (Ok(Err(answer)), _) => {
                for lease in &leases {
                    let ask = request_of(lease, Word::Ack).2;
                    answer
                        .iter()
                        .for_each(|answer| self.actor.note(self.queue, ask, answer.clone(), begun_ms));
                }
                None
            }
            (Err(odd), Heard::Reply(_) | Heard::Unsent | Heard::Silent) => {
                return self.actor.book.scene.is_wrong(format!("POST /v1/leases/ack was answered {odd}"));
            }
        };
        for (number, lease) in leases.iter().enumerate() {
            let Some(item) = all.as_ref().and_then(|all| all.get(number)) else {
                self.actor.settle(self.queue, lease, Word::Ack).await;
                continue;
            };
            let code = item["code"].as_u64().and_then(|code| u32::try_from(code).ok()).unwrap_or(u32::MAX);
            let answer = match coded(code) {
                Some(Ok(())) => done(&item["data"]),
                Some(Err(answer)) => answer,
                None => return self.actor.book.scene.is_wrong(format!("an item was answered {item}")),
            };
            if matches!(answer, Answer::Done { .. }) {
                self.actor.finished(self.queue, lease);
            }
            self.actor.note(self.queue, request_of(lease, Word::Ack).2, answer, begun_ms);
        }
    }
}

/// The same with a token that was never given: another letter within it, or at its end.
fn made_up(lease: &Lease, at_end: bool) -> Lease {
    let mut token = lease.token.clone().into_bytes();
    let at = token.len().saturating_sub(if at_end { 1 } else { 5 });
    if let Some(letter) = token.get_mut(at) {
        // Both have zeros where the last letter has bits to spare.
        *letter = if *letter == b'A' { b'Q' } else { b'A' };
    }
    Lease { token: String::from_utf8(token).unwrap_or_default(), ..lease.clone() }
}

#[cfg(test)]
mod tests {
    use naven_api::EventId;
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_made_up_token_is_another() {
        let event = EventId::from_bits(1);
        for token in ["AAAAAQAAAQAAAAAAAAEAAAw7e2EFjIoeKtnL5AtLJVM", "AAAAAAAAAA"].map(str::to_owned) {
            let lease = Lease { event, fence: 1, attempt: 1, token, ends_at_ms: 0, payload: Value::Null };
            for at_end in [false, true] {
                let other = made_up(&lease, at_end);
                assert_ne!(other.token, lease.token);
                assert_eq!(other.token.len(), lease.token.len());
            }
        }
    }
}
