//! A consumer: claims, keeps its leases alive, settles them, and does not always behave.
//!
//! Lives here: what it does when. Not here: the network that carries it (`floor.rs`).

use naven_api::{DelaySeconds, ErrorText, EventId, LeaseSeconds, LeaseToken};
use naven_store::queue::QueueRef;
use naven_store::reply::{Grant, OpReply};
use naven_store::txn::{Claim, ClaimHold, OpKind, Proof, Settle, SettleStep};

use super::floor::{Floor, Heard, Note, Wish};
use crate::history::Ask;

/// How often an unanswered call is sent again.
const TRIES: u32 = 6;

/// One lease, live or not.
#[derive(Debug)]
struct Held {
    event: EventId,
    token: LeaseToken,
    fence: u64,
    /// Its end by the worker's own reckoning, from when the request left.
    until_ms: i64,
    /// What it was last asked to become, and how often.
    said: Option<Said>,
    tries: u32,
    is_over: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    Ack,
    Nack(u32),
    NackSoon,
    Fatal,
    Release,
    Extend,
}

#[derive(Debug)]
pub(super) struct Worker {
    no: usize,
    queue: usize,
    lease_seconds: u32,
    /// Leases at a time.
    slots: usize,
    beats: bool,
    /// Goes on after the end of its lease, as if it did not know.
    is_stubborn: bool,
    held: Vec<Held>,
    claiming: Option<(usize, i64)>,
    /// Requests about leases: of which, what, and when they left.
    asked: Vec<(usize, usize, Said, i64)>,
}

impl Worker {
    pub(super) fn new(no: usize, queue: usize, lease_seconds: u32, floor: &mut Floor) -> Self {
        floor.wake(no, floor.dice.between(0..=1_000), Note::Go);
        Self {
            no,
            queue,
            lease_seconds,
            slots: floor.dice.count(1..=3),
            beats: floor.dice.percent(75),
            is_stubborn: floor.dice.percent(30),
            held: Vec::new(),
            claiming: None,
            asked: Vec::new(),
        }
    }

    pub(super) fn wakes(&mut self, note: Note, floor: &mut Floor) {
        match note {
            Note::Go => self.go(floor),
            Note::Beat(at) => self.beat(at, floor),
            Note::Finish(at) => self.finish(at, floor),
            Note::Stray(at) => {
                let said =
                    floor.dice.one_of(&[Said::Ack, Said::Ack, Said::NackSoon, Said::Extend, Said::Release]);
                self.say(at, said, floor);
            }
        }
    }

    fn go(&mut self, floor: &mut Floor) {
        if !floor.is_healed && floor.dice.percent(2) {
            // It dies, and comes back without knowing anything.
            self.held.iter_mut().for_each(|held| held.is_over = true);
            self.claiming = None;
            self.asked.clear();
            floor.wake(self.no, floor.dice.between(100..=5_000), Note::Go);
            return;
        }
        let free = self.slots.saturating_sub(self.held.iter().filter(|held| !held.is_over).count());
        if self.claiming.is_none() && free > 0 {
            let hold = ClaimHold::Lease(Some(
                LeaseSeconds::try_from(self.lease_seconds).expect("leases are in bounds"),
            ));
            let (queue, lease_ms) = (floor.queues[self.queue], i64::from(self.lease_seconds) * 1_000);
            let claim = Claim {
                queue: QueueRef::Id(queue),
                hold,
                max: free as u32,
                max_bytes: usize::MAX,
                consumer: None,
            };
            let wish =
                Wish { op: OpKind::Claim(claim), asks: vec![(queue, Ask::Claim { lease_ms })], once: None };
            self.claiming = Some((floor.send(self.no, wish), floor.now_ms));
        } else if self.claiming.is_none() {
            floor.wake(self.no, 200, Note::Go);
        }
    }

    fn beat(&mut self, at: usize, floor: &mut Floor) {
        let held = &self.held[at];
        if held.is_over || held.said.is_some() || (held.until_ms <= floor.now_ms && !self.is_stubborn) {
            return;
        }
        self.say(at, Said::Extend, floor);
        floor.wake(self.no, i64::from(self.lease_seconds) * 1_000 / 3, Note::Beat(at));
    }

    fn finish(&mut self, at: usize, floor: &mut Floor) {
        let held = &self.held[at];
        if held.is_over {
            return;
        }
        if held.until_ms <= floor.now_ms && !self.is_stubborn {
            self.held[at].is_over = true;
            return floor.wake(self.no, 0, Note::Go);
        }
        let said = held.said.unwrap_or_else(|| {
            if floor.is_healed {
                return Said::Ack;
            }
            match floor.dice.count(0..=19) {
                0..=12 => Said::Ack,
                13..=14 => Said::Nack(floor.dice.one_of(&[0, 1, 3])),
                15..=16 => Said::NackSoon,
                17 => Said::Fatal,
                _ => Said::Release,
            }
        });
        self.held[at].said = Some(said);
        self.held[at].tries += 1;
        self.say(at, said, floor);
    }

    /// Says something by the token of a lease.
    fn say(&mut self, at: usize, said: Said, floor: &mut Floor) {
        let held = &self.held[at];
        let (event, fence) = (held.event, held.fence);
        let lease_ms = i64::from(self.lease_seconds) * 1_000;
        let error = || Some(ErrorText::new("it did not work"));
        let (step, ask) = match said {
            Said::Ack => (SettleStep::Ack, Ask::Ack { event, fence }),
            Said::Nack(seconds) => {
                let delay = Some(DelaySeconds::try_from(seconds).expect("delays are in bounds"));
                let delay_ms = Some(i64::from(seconds) * 1_000);
                (SettleStep::Fail { error: error(), delay }, Ask::Nack { event, fence, delay_ms })
            }
            Said::NackSoon => {
                (SettleStep::Fail { error: None, delay: None }, Ask::Nack { event, fence, delay_ms: None })
            }
            Said::Fatal => (SettleStep::Fatal { error: error() }, Ask::Fatal { event, fence }),
            Said::Release => (SettleStep::Release { error: None }, Ask::Release { event, fence }),
            Said::Extend => {
                let hold = LeaseSeconds::try_from(self.lease_seconds).expect("leases are in bounds");
                (SettleStep::Extend(Some(hold)), Ask::Extend { event, fence, lease_ms })
            }
        };
        let op = OpKind::Settle(Settle { event, proof: Proof::Token(held.token.clone()), step });
        let request =
            floor.send(self.no, Wish { op, asks: vec![(floor.queues[self.queue], ask)], once: None });
        self.asked.push((request, at, said, floor.now_ms));
    }

    pub(super) fn hears(&mut self, request: usize, heard: &Heard, floor: &mut Floor) {
        if let Some((_, left_ms)) = self.claiming.take_if(|(claim, _)| *claim == request) {
            if let Heard::Answer(Ok(OpReply::Claimed(claimed))) = heard {
                for grant in &claimed.leases {
                    self.take(grant, left_ms, floor);
                }
            }
            floor.wake(self.no, floor.dice.between(20..=600), Note::Go);
            return;
        }
        let Some(found) = self.asked.iter().position(|(asked, ..)| *asked == request) else { return };
        let (_, at, said, left_ms) = self.asked.swap_remove(found);
        let held = &mut self.held[at];
        match heard {
            Heard::Answer(Ok(_)) if said == Said::Extend => {
                held.until_ms = left_ms + i64::from(self.lease_seconds) * 1_000;
            }
            Heard::Answer(Ok(_)) if held.said == Some(said) => self.settled(at, floor),
            Heard::Answer(Ok(_)) => {}
            Heard::Answer(Err(naven_store::reply::OpError::Refused(_))) => {
                if !self.is_stubborn || said != Said::Extend {
                    self.settled(at, floor);
                }
            }
            // It goes on until it knows.
            Heard::Answer(Err(_)) | Heard::Nothing if held.said == Some(said) => {
                if held.tries < TRIES || floor.is_healed {
                    floor.wake(self.no, floor.dice.between(10..=800), Note::Finish(at));
                } else {
                    self.settled(at, floor);
                }
            }
            Heard::Answer(Err(_)) | Heard::Nothing => {}
        }
    }

    fn take(&mut self, grant: &Grant, left_ms: i64, floor: &mut Floor) {
        let lease_ms = i64::from(self.lease_seconds) * 1_000;
        let Some(token) = grant.token.clone() else {
            return floor.odd.push(format!("{} was handed out without a token", grant.event));
        };
        let held = Held {
            event: grant.event,
            token,
            fence: grant.fence,
            until_ms: left_ms + lease_ms,
            said: None,
            tries: 0,
            is_over: false,
        };
        self.held.push(held);
        let at = self.held.len() - 1;
        let most = if floor.is_healed { lease_ms / 4 } else { lease_ms * 2 };
        floor.wake(self.no, floor.dice.between(0..=most), Note::Finish(at));
        if self.beats {
            floor.wake(self.no, lease_ms / 3, Note::Beat(at));
        }
    }

    fn settled(&mut self, at: usize, floor: &mut Floor) {
        self.held[at].is_over = true;
        if !floor.is_healed && floor.dice.percent(20) {
            let lease_ms = i64::from(self.lease_seconds) * 1_000;
            floor.wake(self.no, floor.dice.between(0..=lease_ms * 3), Note::Stray(at));
        }
        floor.wake(self.no, 0, Note::Go);
    }
}
