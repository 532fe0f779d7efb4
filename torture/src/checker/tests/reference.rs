//! Histories of a register that keeps every promise: the rules of `naven-core` themselves.
//!
//! Lives here: one event, clients that call it at random, a network that loses and delays, a server
//! that crashes. Not here: what is then asked of the checker (`random.rs`).

use naven_api::{DelaySeconds, EventId, LeaseSeconds, QueueId, Timestamp};
use naven_core::{
    Bearer, DeadReason, Delivery, Failure, Hold, LeaseTime, Now, Policy, Refusal, State, Step, View,
};

use crate::history::{Answer, Ask, Call, Grant, History, Publish, QueueSettings, Reason, Seen, WorldEvent};

/// Random numbers from a seed.
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Below `bound`, which is above 0.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    pub(super) fn is_once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    fn ms(&mut self, bound: u64) -> i64 {
        self.below(bound) as i64
    }
}

/// One event's server and clients.
pub(super) struct Reference<'a> {
    random: Random,
    queue: QueueId,
    event: EventId,
    policy: Policy,
    publish: Publish,
    delivery: Option<Delivery>,
    /// True once it was thrown away: what is left of it judges late calls alone.
    is_thrown_away: bool,
    /// The tokens that clients know.
    tokens: Vec<(u32, u64)>,
    /// What was sent twice: its second copy is still under way.
    copies: Vec<(Ask, (u32, u64))>,
    now_ms: i64,
    /// By how much leases are behind the clock.
    lease_behind: i64,
    /// What the lease clock showed when that was last recorded.
    lease_recorded: i64,
    wall_ahead: i64,
    history: &'a mut History,
}

impl<'a> Reference<'a> {
    /// The event of this number, in a queue of its own.
    pub(super) fn new(seed: u64, number: u64, history: &'a mut History) -> Self {
        let mut random = Random::new(seed ^ number.wrapping_mul(0x0100_0000_01b3));
        let max_attempts = (!random.is_once_in(3)).then(|| 1 + random.below(4) as u32);
        let max_lease_ms = random.is_once_in(4).then(|| 2_000 + random.ms(3_000));
        let grace_ms = if random.is_once_in(4) { random.ms(1_500) } else { 0 };
        let due_ms = random.is_once_in(3).then(|| random.ms(3_000));
        let expires_at_ms = random.is_once_in(5).then(|| 1_000 + random.ms(8_000));
        let queue = QueueId::from_bits(u128::from(number));
        let keep_outcomes_ms = QueueSettings::default().keep_outcomes_ms;
        let settings = QueueSettings { max_attempts, max_lease_ms, grace_ms, keep_outcomes_ms };
        history.queues.insert(queue, settings);
        Self {
            policy: Policy {
                max_attempts,
                max_lease_ms,
                grace_ms,
                expires_at: expires_at_ms.map(Timestamp::from_ms),
                ..Policy::default()
            },
            publish: Publish { due_ms, max_attempts: None, expires_at_ms },
            event: EventId::from_bits(u128::from(number)),
            delivery: None,
            is_thrown_away: false,
            tokens: Vec::new(),
            copies: Vec::new(),
            now_ms: 0,
            lease_behind: 0,
            lease_recorded: 0,
            wall_ahead: 0,
            random,
            queue,
            history,
        }
    }

    /// Publishes the event and makes so many calls. `shakes` lets the server crash and clocks step,
    /// which befalls all that is in the history.
    pub(super) fn play(mut self, calls: u64, shakes: bool) {
        let publish = Ask::Publish(self.publish);
        self.call(publish, (0, 0));
        for _ in 0..calls {
            self.now_ms += if self.random.is_once_in(4) { self.random.ms(1_500) } else { self.random.ms(60) };
            if shakes && self.random.is_once_in(12) {
                self.shake();
            }
            if self.random.is_once_in(6) {
                self.tend();
            }
            if !self.copies.is_empty() && self.random.is_once_in(2) {
                let at = self.random.below(self.copies.len() as u64) as usize;
                let (ask, token) = self.copies.swap_remove(at);
                self.take_effect(ask, token);
            }
            let token = self.token();
            let ask = self.ask(token.1);
            self.call(ask, token);
        }
    }

    fn shake(&mut self) {
        if self.random.is_once_in(2) {
            self.wall_ahead = self.random.ms(8_000) - 4_000;
            let (at_ms, offset_ms) = (self.now_ms, self.wall_ahead);
            self.history.world.push(WorldEvent::WallClock { at_ms, offset_ms });
            return;
        }
        self.history.world.push(WorldEvent::Crash { at_ms: self.now_ms });
        let down = 1 + self.random.ms(500);
        let last = self.now_ms - self.lease_behind;
        // It goes on from what was last recorded, which is no older than a second.
        self.lease_recorded = self.lease_recorded.max(last - self.random.ms(1_001));
        self.now_ms += down;
        self.lease_behind = self.now_ms - self.lease_recorded;
        self.history.world.push(WorldEvent::Restart { at_ms: self.now_ms });
    }

    const fn now(&self) -> Now {
        Now {
            wall: Timestamp::from_ms(self.now_ms + self.wall_ahead),
            lease: LeaseTime::from_ms(self.now_ms - self.lease_behind),
        }
    }

    fn step(&mut self, step: &Step) -> Result<(), Refusal> {
        let (now, policy) = (self.now(), self.policy);
        let before = self.delivery.as_ref().ok_or(Refusal::WrongState)?;
        self.delivery = Some(before.apply(step, now, &policy)?);
        Ok(())
    }

    /// What a server does from time to time, or not: no answer may depend on it.
    fn tend(&mut self) {
        let _ = self.step(&Step::FallDue);
        let _ = self.step(&Step::Expire);
    }

    /// A token that a client knows, mostly the newest, or one that never was.
    fn token(&mut self) -> (u32, u64) {
        let known = self.tokens.len() as u64;
        match self.tokens.last() {
            Some(newest) if !self.random.is_once_in(4) => *newest,
            Some(_) => self.tokens[self.random.below(known) as usize],
            None => (0, 0),
        }
    }

    fn ask(&mut self, fence: u64) -> Ask {
        let event = self.event;
        match self.random.below(30) {
            0..9 => Ask::Claim { lease_ms: 1_000 + 1_000 * self.random.ms(2) },
            9..13 => Ask::Extend { event, fence, lease_ms: 1_000 },
            13..15 => Ask::Ack { event, fence },
            15..19 => {
                let delay_ms = self.random.is_once_in(2).then(|| 1_000 * self.random.ms(3));
                Ask::Nack { event, fence, delay_ms }
            }
            19 => Ask::Fatal { event, fence },
            20..22 => Ask::Release { event, fence },
            22 => Ask::GiveBack { event, fence },
            23 => Ask::Redrive { event: Some(event), reset_attempts: self.random.is_once_in(2) },
            24 if self.random.is_once_in(2) => Ask::Cancel { event },
            24 if self.random.is_once_in(3) => Ask::Break { event },
            24 if self.random.is_once_in(3) => Ask::Discard { event },
            24 if self.random.is_once_in(3) => Ask::Purge,
            25 => Ask::Reschedule { event, due_ms: self.now_ms + self.random.ms(2_000) },
            _ => Ask::Look { event },
        }
    }

    /// One call: it takes effect at this very instant, at the latest, or is lost on its way.
    fn call(&mut self, ask: Ask, token: (u32, u64)) {
        let begun_ms = self.now_ms - self.random.ms(40);
        let is_publish = matches!(ask, Ask::Publish(_));
        let answer = match self.random.below(20) {
            0 if !is_publish => {
                self.copies.push((ask, token));
                Answer::Unknown
            }
            1 if !is_publish => {
                self.take_effect(ask, token);
                Answer::Unknown
            }
            2 if !is_publish => {
                // It arrives twice, and the first copy is answered.
                self.history.calls.push(self.made(begun_ms, None, ask, Answer::Unknown));
                self.copies.push((ask, token));
                self.take_effect(ask, token)
            }
            _ => self.take_effect(ask, token),
        };
        if let Answer::Claimed(grants) = &answer {
            let round = self.delivery.as_ref().map_or(0, |delivery| delivery.round);
            self.tokens.extend(grants.iter().map(|grant| (round, grant.fence)));
        }
        let is_answered = answer != Answer::Unknown;
        let ended_ms = is_answered.then(|| self.now_ms + self.random.ms(40));
        self.history.calls.push(self.made(begun_ms, ended_ms, ask, answer));
    }

    const fn made(&self, begun_ms: i64, ended_ms: Option<i64>, ask: Ask, answer: Answer) -> Call {
        Call { client: 1, begun_ms, ended_ms, queue: self.queue, ask, answer }
    }

    fn take_effect(&mut self, ask: Ask, token: (u32, u64)) -> Answer {
        if let Ask::Publish(publish) = ask {
            let due = publish.due_ms.map_or(self.now().wall, Timestamp::from_ms);
            self.delivery.get_or_insert_with(|| Delivery::fresh(due));
            return Answer::Published { event: self.event };
        }
        if let Ask::Claim { lease_ms } = ask {
            return Answer::Claimed(self.claim(lease_ms).into_iter().collect());
        }
        if let Ask::Look { .. } = ask {
            return self.look();
        }
        let is_holders = !matches!(ask, Ask::Redrive { .. } | Ask::Discard { .. });
        if self.is_thrown_away && !is_holders {
            return Answer::NotFound;
        }
        let held = self.delivery.as_ref().map(|delivery| (delivery.round, delivery.fence));
        let is_last = held == Some(token) && token.1 > 0;
        let step = step_of(ask, if is_last { Bearer::Last } else { Bearer::Other });
        match self.step(&step) {
            Ok(()) if matches!(ask, Ask::Discard { .. }) => {
                self.is_thrown_away = true;
                Answer::DONE
            }
            Ok(()) => Answer::Done { next_at_ms: self.next_at(&ask), replayed: false },
            Err(Refusal::Expired) => Answer::Conflict(Reason::Expired),
            Err(Refusal::Lost) => Answer::Conflict(Reason::Lost),
            Err(Refusal::Settled) => Answer::Conflict(Reason::Settled),
            Err(Refusal::NotDue | Refusal::WrongState) => Answer::Conflict(Reason::WrongState),
        }
    }

    fn next_at(&self, ask: &Ask) -> Option<i64> {
        let last = self.delivery.as_ref().and_then(|delivery| delivery.last)?;
        matches!(ask, Ask::Nack { .. }).then_some(last.next_at?.as_ms())
    }

    fn claim(&mut self, lease_ms: i64) -> Option<Grant> {
        self.tend();
        let now = self.now();
        let is_first = self.delivery.as_ref()?.fence == 0;
        if is_first && self.delivery.as_ref()?.due > now.wall {
            return None;
        }
        if self.policy.expires_at.is_some_and(|at| at <= now.wall) {
            if matches!(self.delivery.as_ref()?.state, State::Ready) {
                self.step(&Step::Bury(DeadReason::EventExpired)).ok()?;
            }
            return None;
        }
        self.step(&Step::Take { hold: Hold::Lease(seconds(lease_ms)), consumer: None }).ok()?;
        let taken = self.delivery.as_ref()?;
        Some(Grant {
            event: self.event,
            fence: taken.fence,
            attempt: taken.attempts,
            round: Some(taken.round),
        })
    }

    fn look(&self) -> Answer {
        let Some(delivery) = &self.delivery else { return Answer::NotFound };
        Answer::Saw(match delivery.view(self.now()) {
            View::Scheduled | View::Ready | View::Retrying => Seen::Waiting,
            View::Leased | View::Held => Seen::Leased,
            View::Done => Seen::Done,
            View::Dead if self.is_thrown_away => return Answer::NotFound,
            View::Dead => Seen::Dead,
            View::Cancelled => Seen::Cancelled,
        })
    }
}

fn seconds(ms: i64) -> LeaseSeconds {
    LeaseSeconds::try_from(u32::try_from(ms / 1_000).expect("a length")).expect("a lease's length")
}

fn step_of(ask: Ask, by: Bearer) -> Step {
    match ask {
        Ask::Extend { lease_ms, .. } => Step::Extend { by, hold: seconds(lease_ms), progress: None },
        Ask::Ack { .. } => Step::Ack { by, result: None },
        Ask::Nack { delay_ms, .. } => {
            let whole = |ms: i64| u32::try_from(ms / 1_000).expect("a length");
            let delay = delay_ms.map(|ms| DelaySeconds::try_from(whole(ms)).expect("a delay"));
            Step::Fail { by, failure: Failure { error: None, delay, draw: 0 } }
        }
        Ask::Fatal { .. } => Step::Fatal { by, error: None },
        Ask::Release { .. } => Step::Release { by, error: None },
        Ask::GiveBack { .. } => Step::GiveBack { by },
        Ask::Redrive { reset_attempts, .. } => Step::Redrive { reset_attempts },
        Ask::Cancel { .. } => Step::Cancel { reason: None },
        Ask::Break { .. } => Step::Break,
        Ask::Discard { .. } => Step::Discard,
        Ask::Reschedule { due_ms, .. } => Step::Reschedule { due: Timestamp::from_ms(due_ms) },
        Ask::Purge => Step::Purge,
        Ask::Publish(_) | Ask::Claim { .. } | Ask::Look { .. } | Ask::Delete => Step::FallDue,
    }
}
