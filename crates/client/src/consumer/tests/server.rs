//! A server in memory, with the switches that break the way to it.
//!
//! Lives here: its queue, its leases, and its faults. Not here: the consumers of tests (`bench.rs`).

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use naven_api::{EventId, Payload, Progress, Timestamp};
use tokio::time::{Instant, sleep};

use crate::consumer::delivery::Facts;
use crate::consumer::door::{Ask, Beaten, Claimed, Door, Failed};
use crate::consumer::lost::LostReason;
use crate::consumer::outcome::Outcome;
use crate::error::Error;

/// What was asked of it, and when, in milliseconds since it began.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Asked {
    Claim {
        most: usize,
    },
    /// With how far the work came, in percent.
    Beat(u64, Option<u8>),
    Settle(u64, Outcome),
}

/// One event, by its number.
#[derive(Debug, Clone)]
struct Held {
    number: u64,
    payload: String,
    fence: u64,
    attempt: u32,
    until: Option<Instant>,
    settled: Option<Outcome>,
}

/// What goes wrong; all of it off at first.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    /// So many answers to settle calls are lost, after the server acted.
    pub(crate) lose_settle_answers: u32,
    /// So many settle calls do not arrive.
    pub(crate) lose_settles: u32,
    /// So many heartbeats do not arrive.
    pub(crate) drop_beats: u32,
    /// So many heartbeats hang for ever.
    pub(crate) hang_beats: u32,
    /// The answer of every heartbeat comes so late.
    pub(crate) late_beats: Duration,
    /// So many heartbeats are answered before none is.
    pub(crate) beats_until_cut: Option<u32>,
    /// So many claims fail, and ask for this pause.
    pub(crate) fail_claims: (u32, Option<Duration>),
    /// Claims are refused for good.
    pub(crate) refuse_claims: bool,
    /// The answers of so many claims that took something are lost.
    pub(crate) lose_claim_answers: u32,
    /// So many claims after one whose answer was lost do not arrive.
    pub(crate) fail_claims_after_a_lost_one: u32,
    /// Heartbeats extend a lease by no more than this.
    pub(crate) hold_at_most: Option<Duration>,
    /// Every answer of a claim comes so late.
    pub(crate) late_claims: Duration,
    /// Heartbeats say that somebody asked the handler to stop.
    pub(crate) cancel: bool,
}

#[derive(Debug)]
pub(crate) struct Server {
    born: Instant,
    events: RefCell<VecDeque<Held>>,
    pub(crate) faults: RefCell<Faults>,
    asked: RefCell<Vec<(u64, Asked)>>,
    /// What each claim took, by its key: numbers and fences.
    claims: RefCell<HashMap<String, Vec<(u64, u64)>>>,
}

fn transport() -> Error {
    Error::Transport { at: None, may_have_arrived: true, source: "cut".into() }
}

fn lost_answer() -> Failed<Error> {
    Failed::Later { after: None, may_have_applied: true, why: transport() }
}

/// One less of those that are left, where there are any.
fn take_one(left: &mut u32) -> bool {
    let any = *left > 0;
    *left -= u32::from(any);
    any
}

impl Held {
    fn claimed(&self, length: Duration) -> Claimed<Rc<Server>> {
        let facts = Facts {
            event: event(self.number),
            queue: "q".to_owned(),
            raw: Payload::parse(&self.payload).unwrap(),
            headers: Default::default(),
            attempt: self.attempt,
            fence: self.fence,
            scheduled_at: Timestamp::from_ms(0),
            trace_context: None,
        };
        Claimed { token: self.fence, facts, length: Some(length) }
    }
}

impl Server {
    pub(crate) fn new() -> Rc<Self> {
        let (events, faults, asked, claims) = Default::default();
        Rc::new(Self { born: Instant::now(), events, faults, asked, claims })
    }

    /// Publishes events 1 to `count`, each with its number as payload.
    pub(crate) fn publish(&self, count: u64) {
        for number in 1..=count {
            self.publish_one(number, &format!("{{\"n\":{number}}}"));
        }
    }

    pub(crate) fn publish_one(&self, number: u64, payload: &str) {
        let payload = payload.to_owned();
        let held = Held { number, payload, fence: 0, attempt: 0, until: None, settled: None };
        self.events.borrow_mut().push_back(held);
    }

    pub(crate) fn now_ms(&self) -> u64 {
        u64::try_from(self.born.elapsed().as_millis()).unwrap()
    }

    fn note(&self, asked: Asked) {
        self.asked.borrow_mut().push((self.now_ms(), asked));
    }

    pub(crate) fn asked(&self) -> Vec<(u64, Asked)> {
        self.asked.borrow().clone()
    }

    /// What was said of an event's end, each time.
    pub(crate) fn said(&self, number: u64) -> Vec<Outcome> {
        let of = |(_, asked)| match asked {
            Asked::Settle(of, outcome) if of == number => Some(outcome),
            Asked::Settle(..) | Asked::Claim { .. } | Asked::Beat(..) => None,
        };
        self.asked().into_iter().filter_map(of).collect()
    }

    pub(crate) fn beats(&self) -> Vec<u64> {
        let of = |(at, asked)| matches!(asked, Asked::Beat(..)).then_some(at);
        self.asked().into_iter().filter_map(of).collect()
    }

    /// How an event was settled, and at which attempt.
    pub(crate) fn end_of(&self, number: u64) -> Option<(Outcome, u32)> {
        let events = self.events.borrow();
        let held = events.iter().find(|held| held.number == number).expect("it was published");
        held.settled.clone().map(|outcome| (outcome, held.attempt))
    }

    /// Gives the event to somebody else.
    pub(crate) fn reassign(&self, number: u64) {
        let mut events = self.events.borrow_mut();
        let held = events.iter_mut().find(|held| held.number == number).expect("it was published");
        held.fence += 1;
        held.until = Some(Instant::now() + Duration::from_secs(1_000_000));
    }

    /// Events that were free, or those again that the same ask got before and that are still held under it.
    fn take(&self, ask: &Ask) -> Vec<Claimed<Rc<Self>>> {
        let now = Instant::now();
        let mut claims = self.claims.borrow_mut();
        let known = claims.entry(ask.key.as_str().to_owned()).or_default();
        let mut events = self.events.borrow_mut();
        let lives = |held: &&mut Held| {
            let is_held = held.settled.is_none() && held.until.is_some_and(|until| until > now);
            is_held && known.contains(&(held.number, held.fence))
        };
        let again: Vec<_> = events.iter_mut().filter(lives).map(|held| held.claimed(ask.length)).collect();
        if !again.is_empty() {
            return again;
        }
        let free =
            events.iter_mut().filter(|held| held.settled.is_none() && held.until.is_none_or(|at| at <= now));
        let take = |held: &mut Held| {
            held.fence += 1;
            held.attempt += 1;
            held.until = Some(now + ask.length);
            known.push((held.number, held.fence));
            held.claimed(ask.length)
        };
        free.take(ask.most).map(take).collect()
    }

    fn held(&self, event_id: EventId, token: u64) -> Result<std::cell::RefMut<'_, Held>, LostReason> {
        let held = std::cell::RefMut::map(self.events.borrow_mut(), |events| {
            events.iter_mut().find(|held| event(held.number) == event_id).expect("it was published")
        });
        if held.fence != token {
            return Err(LostReason::Reassigned);
        }
        let is_live = held.settled.is_some() || held.until.is_some_and(|until| until > Instant::now());
        is_live.then_some(held).ok_or(LostReason::Expired)
    }
}

/// The id of the event of this number.
pub(crate) fn event(number: u64) -> EventId {
    EventId::from_bits(u128::from(number))
}

fn number_of(event_id: EventId) -> u64 {
    (1..10_000).find(|number| event(*number) == event_id).expect("events have small numbers")
}

impl Door for Rc<Server> {
    type Id = EventId;
    type Facts = Facts;
    type Token = u64;
    type Error = Error;

    async fn claim(&self, ask: &Ask) -> Result<Vec<Claimed<Self>>, Failed<Error>> {
        self.note(Asked::Claim { most: ask.most });
        let until = Instant::now() + ask.wait;
        // The way there.
        sleep(Duration::from_millis(1)).await;
        if self.faults.borrow().refuse_claims {
            return Err(Failed::Never(Error::Setup { why: "no such queue".to_owned() }));
        }
        let after = self.faults.borrow().fail_claims.1;
        if take_one(&mut self.faults.borrow_mut().fail_claims.0) {
            return Err(Failed::Later { after, may_have_applied: false, why: transport() });
        }
        let late = self.faults.borrow().late_claims;
        loop {
            let taken = self.take(ask);
            if !taken.is_empty() || Instant::now() >= until {
                sleep(late).await;
                if !taken.is_empty() && take_one(&mut self.faults.borrow_mut().lose_claim_answers) {
                    let fail = std::mem::take(&mut self.faults.borrow_mut().fail_claims_after_a_lost_one);
                    self.faults.borrow_mut().fail_claims.0 += fail;
                    return Err(lost_answer());
                }
                return Ok(taken);
            }
            sleep(Duration::from_millis(10)).await;
        }
    }

    async fn beat(
        &self,
        event_id: &EventId,
        token: &u64,
        length: Duration,
        progress: Option<Progress>,
    ) -> Result<Beaten, Failed<Error>> {
        let percent = progress.and_then(|progress| progress.percent()).map(naven_api::Percent::get);
        self.note(Asked::Beat(number_of(*event_id), percent));
        sleep(Duration::from_millis(1)).await;
        let left = self.faults.borrow().beats_until_cut;
        self.faults.borrow_mut().beats_until_cut = left.map(|left| left.saturating_sub(1));
        if left == Some(0) || take_one(&mut self.faults.borrow_mut().hang_beats) {
            std::future::pending::<()>().await;
        }
        if take_one(&mut self.faults.borrow_mut().drop_beats) {
            return Err(lost_answer());
        }
        {
            let mut held = self.held(*event_id, *token).map_err(Failed::Gone)?;
            if held.settled.is_some() {
                return Ok(Beaten::Settled);
            }
            held.until = Some(Instant::now() + length);
        }
        let late = self.faults.borrow().late_beats;
        sleep(late).await;
        let length = self.faults.borrow().hold_at_most.map_or(length, |most| length.min(most));
        Ok(Beaten::Held { length, cancel_requested: self.faults.borrow().cancel })
    }

    async fn settle(&self, event_id: &EventId, token: &u64, outcome: &Outcome) -> Result<(), Failed<Error>> {
        self.note(Asked::Settle(number_of(*event_id), outcome.clone()));
        sleep(Duration::from_millis(1)).await;
        if take_one(&mut self.faults.borrow_mut().lose_settles) {
            return Err(lost_answer());
        }
        {
            let mut held = self.held(*event_id, *token).map_err(Failed::Gone)?;
            match &held.settled {
                Some(first) if first != outcome => return Err(Failed::Gone(LostReason::Settled)),
                Some(_) => {}
                None if *outcome == Outcome::Release => {
                    held.until = None;
                    held.attempt -= 1;
                    held.fence += 1;
                }
                None => held.settled = Some(outcome.clone()),
            }
        }
        if take_one(&mut self.faults.borrow_mut().lose_settle_answers) {
            return Err(lost_answer());
        }
        Ok(())
    }
}
