//! Everything that clients saw in the whole run.
//!
//! Lives here: noting calls when they are sent and when they are answered, and what can be told false
//! at once: an event from nowhere, a payload that changed, a fence given twice. Not here: whether an
//! event's history can be true (`judge.rs`).

use std::collections::BTreeMap;

use serde_json::Value;

use crate::clock::Moment;
use crate::history::{Call, Due, Event, Held, Hold, Kind, Said, Stray, View, instant};
use crate::plan::{ATTEMPTS_PLENTY, QUEUES, STAMP_AGE_MS, payload};

/// What a client wants to publish.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wish {
    pub(crate) delay_seconds: Option<u32>,
    pub(crate) attempts_max: Option<u32>,
}

#[derive(Debug, Default)]
pub(crate) struct Facts {
    /// By number.
    pub(crate) events: Vec<Event>,
    /// Numbers of the events that no audit found done or dead yet.
    pub(crate) live: Vec<usize>,
    /// Numbers of the others.
    pub(crate) over: Vec<usize>,
    /// How many events are known to be there and not over.
    pub(crate) backlog: usize,
    pub(crate) strays: Vec<Stray>,
    /// Calls of the present cycle that were not answered, without claims that may only have waited.
    pub(crate) cut_off: Vec<Moment>,
    /// Answered calls, by what they ask for.
    pub(crate) answered: BTreeMap<&'static str, u64>,
    /// What cannot be true.
    pub(crate) faults: Vec<String>,
    batches: usize,
}

impl Facts {
    pub(crate) fn fault(&mut self, text: impl Into<String>) {
        self.faults.push(text.into());
    }

    pub(crate) fn count(&mut self, what: &'static str) {
        *self.answered.entry(what).or_default() += 1;
    }

    /// A publish is about to be sent. Answers the numbers of its events.
    pub(crate) fn publish_begins(&mut self, queue: usize, wishes: &[Wish], sent: Moment) -> Vec<usize> {
        let batch = (wishes.len() > 1).then_some(self.batches);
        self.batches += 1;
        let first = self.events.len();
        for (number, wish) in (first..).zip(wishes) {
            let delay_ms = i64::from(wish.delay_seconds.unwrap_or(0)) * 1_000;
            self.events.push(Event {
                number,
                queue,
                batch,
                id: None,
                answered: false,
                due: Due::from(sent.wall_ms + delay_ms - STAMP_AGE_MS),
                attempts_max: wish.attempts_max.unwrap_or(ATTEMPTS_PLENTY),
                holds: Vec::new(),
                fence_seen: 0,
                over_seen: false,
                over: None,
            });
            self.live.push(number);
        }
        (first..self.events.len()).collect()
    }

    /// The event `number` is there, as the answer to its publish says.
    pub(crate) fn published(&mut self, number: usize, answer: &Value) {
        self.backlog += 1;
        let (id, due) = (answer["id"].as_str(), instant(&answer["scheduledAt"]));
        let (Some(id), Some(due_ms)) = (id, due) else {
            return self.fault(format!("not an event: {answer}"));
        };
        if !self.events[number].due.holds(due_ms) {
            self.fault(format!("due at another time than asked for: {answer} \n{}", self.events[number]));
        }
        let event = &mut self.events[number];
        event.answered = true;
        event.due = Due::at(due_ms);
        self.identify(number, id);
    }

    fn identify(&mut self, number: usize, id: &str) {
        match &self.events[number].id {
            Some(known) if known != id => {
                self.fault(format!("published once, there twice: {id} and \n{}", self.events[number]));
            }
            Some(_) => {}
            None => self.events[number].id = Some(id.to_owned()),
        }
    }

    /// An answer shows the event `shown`, of this queue, with its payload; `body` is that answer.
    /// Its number, where it is known.
    pub(crate) fn shown(&mut self, queue: usize, shown: &Value, body: &str) -> Option<usize> {
        let number = shown["payload"]["number"].as_u64().map(|number| number as usize);
        let Some(number) = number.filter(|number| *number < self.events.len()) else {
            self.fault(format!("an event from nowhere: {shown}"));
            return None;
        };
        if shown["queue"] != QUEUES[self.events[number].queue].name || self.events[number].queue != queue {
            self.fault(format!("in another queue than published to: {shown} \n{}", self.events[number]));
        }
        if !body.contains(&payload(number)) {
            self.fault(format!("not the payload that was published: {shown}, but {}", payload(number)));
        }
        self.identify(number, shown["id"].as_str().unwrap_or_default());
        Some(number)
    }

    /// A claim was answered. The leases, as they are in the client's hands.
    pub(crate) fn claimed(
        &mut self,
        queue: usize,
        (claims, body): (&[Value], &str),
        sent: Moment,
        got: Moment,
    ) -> Vec<Held> {
        claims.iter().filter_map(|claim| self.leased(queue, (claim, body), sent, got)).collect()
    }

    fn leased(
        &mut self,
        queue: usize,
        (claim, body): (&Value, &str),
        sent: Moment,
        got: Moment,
    ) -> Option<Held> {
        let number = self.shown(queue, &claim["event"], body)?;
        let count = |name: &str| claim["event"][name].as_u64().unwrap_or(u64::MAX);
        let (fence, token) = (count("deliveryCount"), claim["leaseToken"].as_str().unwrap_or_default());
        let hold = Hold {
            fence,
            token: token.to_owned(),
            attempts: u32::try_from(count("attemptCount")).unwrap_or(u32::MAX),
            expiries: u32::try_from(count("expiryCount")).unwrap_or(u32::MAX),
            ends_ms: instant(&claim["leaseExpiresAt"]).unwrap_or(i64::MIN),
            sent,
            got,
            calls: Vec::new(),
        };
        if self.events[number].hold_mut(fence).is_some() {
            self.fault(format!("fence {fence} was given twice: {claim}\n{}", self.events[number]));
            return None;
        }
        let event = &mut self.events[number];
        event.holds.push(hold);
        event.holds.sort_by_key(|hold| hold.fence);
        event.fence_seen = event.fence_seen.max(fence);
        let id = event.id.clone().unwrap_or_default();
        Some(Held { number, queue, fence, id, token: token.to_owned() })
    }

    /// An answer showed the event like this. Answers may overtake each other.
    pub(crate) fn seen(&mut self, number: usize, view: &View) {
        let event = &mut self.events[number];
        event.fence_seen = event.fence_seen.max(view.fence);
        event.over_seen |= view.is_over();
    }

    /// A call with a token is about to be sent.
    pub(crate) fn call_begins(&mut self, held: &Held, kind: Kind, sent: Moment) {
        self.calls_of(held).push(Call { kind, sent, got: sent, said: None });
    }

    /// It was answered, or it is clear that it will not be.
    pub(crate) fn call_ends(&mut self, held: &Held, said: Option<Said>, got: Moment) {
        let ends = match said {
            Some(Said::Acked { replayed: false, .. }) => true,
            Some(Said::Nacked { replayed: false, ref state, .. }) => state == "dead",
            _ => false,
        };
        self.backlog = self.backlog.saturating_sub(usize::from(ends));
        let call = self.calls_of(held).last_mut().expect("what ends has begun");
        (call.said, call.got) = (said, got);
    }

    fn calls_of(&mut self, held: &Held) -> &mut Vec<Call> {
        let hold = self.events[held.number].hold_mut(held.fence);
        &mut hold.expect("what is in hands was claimed").calls
    }

    /// The unanswered claims of each queue.
    pub(crate) fn strays_by_queue(&self) -> Vec<Vec<Stray>> {
        let of = |queue| self.strays.iter().filter(|stray| stray.queue == queue).copied().collect();
        (0..QUEUES.len()).map(of).collect()
    }

    /// Leases that were given to nobody are as many as unanswered claims can have taken.
    pub(crate) fn check_strays(&mut self) {
        for (queue, plan) in QUEUES.iter().enumerate() {
            let of_queue = self.events.iter().filter(|event| event.queue == queue);
            let taken: u64 = of_queue.map(|event| event.fence_seen - event.holds.len() as u64).sum();
            let most: usize =
                self.strays.iter().filter(|stray| stray.queue == queue).map(|stray| stray.most).sum();
            if taken > most as u64 {
                self.fault(format!(
                    "{taken} leases of {} went to nobody, and unanswered claims asked for {most} at most",
                    plan.name
                ));
            }
        }
    }

    /// Sorts out what an audit found to be over.
    pub(crate) fn sort_out(&mut self) {
        let (over, live) = std::mem::take(&mut self.live)
            .into_iter()
            .partition::<Vec<usize>, _>(|number| self.events[*number].over.is_some());
        self.over.extend(over);
        self.backlog = live.iter().filter(|number| self.events[**number].id.is_some()).count();
        self.live = live;
    }
}
