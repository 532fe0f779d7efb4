//! One state of a model: the clock, the server over its log, the network, the consumers, and what they
//! were told.
//!
//! Lives here: what each action does. Not here: which actions there are to try (`explore.rs`).

use super::action::{Action, Fate, Packet};
use super::mark::{Word, Wrong};
use super::row::LEASE_TICKS;
use super::sight::{Sight, Sights};
use super::world::{EVENTS_MAX, Token, World};

/// Consumers that a model can have.
pub(super) const CONSUMERS_MAX: usize = 3;
/// Packets that can be late at a time.
pub(super) const LATE_MAX: usize = 2;

/// What a consumer is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(super) enum Consumer {
    #[default]
    Idle,
    Holds(Token),
    /// It waits for what the server already did, at this tick, but has not synced.
    WaitsForClaim {
        token: Token,
        at: u8,
    },
    WaitsForWord {
        word: Word,
        token: Token,
        is_taken: bool,
        at: u8,
    },
}

impl Consumer {
    const fn fence(&self) -> u8 {
        match self {
            Self::Idle => 0,
            Self::Holds(token) | Self::WaitsForClaim { token, .. } | Self::WaitsForWord { token, .. } => {
                token.fence
            }
        }
    }
}

/// What consumers were told of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(super) struct Told {
    /// The highest fence.
    fence: u8,
    /// The fence whose holder may count on its lease, and up to which tick; 0: none.
    live: (u8, u8),
    is_acked: bool,
}

/// One state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct State {
    /// The clock that never stands still; the wall clock shows the same.
    pub(super) now: u8,
    pub(super) memory: World,
    /// What a crash leaves; the same as `memory` once no crash is left.
    pub(super) disk: World,
    pub(super) consumers: [Consumer; CONSUMERS_MAX],
    pub(super) late: [Option<Packet>; LATE_MAX],
    pub(super) crashes_left: u8,
    pub(super) mishaps_left: u8,
    pub(super) told: [Told; EVENTS_MAX],
    /// The promise that the last step broke.
    pub(super) wrong: Option<Wrong>,
}

impl State {
    pub(super) fn first(crashes: u8, mishaps: u8) -> Self {
        Self {
            now: 0,
            memory: World::default(),
            disk: World::default(),
            consumers: [Consumer::default(); CONSUMERS_MAX],
            late: [None; LATE_MAX],
            crashes_left: crashes,
            mishaps_left: mishaps,
            told: [Told::default(); EVENTS_MAX],
            wrong: None,
        }
    }

    /// This state after `action`; none where that changes nothing.
    pub(super) fn after(&self, action: Action, sights: &Sights) -> Option<Self> {
        let mut next = *self;
        match next.step(action, sights) {
            Ok(true) => {}
            Ok(false) => return None,
            Err(wrong) => next.wrong = Some(wrong),
        }
        if next.crashes_left == 0 && next.wrong.is_none() {
            next.wrong = next.sync().err();
            next.disk = next.memory;
        }
        (next != *self).then_some(next)
    }

    fn step(&mut self, action: Action, sights: &Sights) -> Result<bool, Wrong> {
        match action {
            Action::Tick => {
                self.sync()?;
                self.tick(sights);
            }
            Action::Sweep(event) => self.memory.sweep(event, self.now, sights)?,
            Action::Claim { consumer, event, fate } => return self.claim(consumer, event, fate, sights),
            Action::Say { consumer, word, fate } => return self.say(consumer, word, fate, sights),
            Action::Arrive { place, event } => return self.arrive(place, event, sights),
            Action::GiveBack(event) => {
                let left = self.mishaps_left.checked_sub(1);
                let (Some(left), Some(token)) = (left, self.memory.claim(event, self.now, sights)?) else {
                    return Ok(false);
                };
                self.mishaps_left = left;
                self.memory.give_back(token, self.now, sights)?;
            }
            Action::AckUnfenced(event) => {
                let Some(left) = self.mishaps_left.checked_sub(1) else { return Ok(false) };
                self.mishaps_left = left;
                self.memory.ack_unfenced(event, self.now, sights)?;
            }
            Action::Sync => {
                sights.see(Sight::Sync);
                self.sync()?;
            }
            Action::Crash { down } => self.crash(down, sights)?,
        }
        Ok(true)
    }

    /// A tick is recorded once a second, behind all that was applied before, so that a crash sets the lease
    /// clock back by no more than that.
    fn tick(&mut self, sights: &Sights) {
        sights.see(Sight::Tick);
        self.now += 1;
        self.memory.lease += 1;
        self.forget_ended_leases();
    }

    fn forget_ended_leases(&mut self) {
        for told in &mut self.told {
            if told.live.1 <= self.now {
                told.live = (0, 0);
            }
        }
    }

    fn claim(&mut self, consumer: u8, event: u8, fate: Fate, sights: &Sights) -> Result<bool, Wrong> {
        if !self.meets(Packet::Claim, fate, sights) {
            return Ok(false);
        }
        if fate == Fate::Delayed {
            return Ok(true);
        }
        let Some(token) = self.memory.claim(event, self.now, sights)? else { return Ok(false) };
        if fate != Fate::AnswerLost {
            self.consumers[usize::from(consumer)] = Consumer::WaitsForClaim { token, at: self.now };
        }
        Ok(true)
    }

    fn say(&mut self, consumer: u8, word: Word, fate: Fate, sights: &Sights) -> Result<bool, Wrong> {
        let Consumer::Holds(token) = self.consumers[usize::from(consumer)] else { return Ok(false) };
        if !self.meets(Packet::Say(word, token), fate, sights) {
            return Ok(false);
        }
        let told = &mut self.told[usize::from(token.event)];
        // Whoever settles does not count on its lease any more.
        if word != Word::Beat && told.live.0 == token.fence {
            told.live = (0, 0);
        }
        if fate == Fate::Delayed {
            return Ok(true);
        }
        let is_taken = self.memory.hear(word, token, self.now, sights)?;
        if fate != Fate::AnswerLost {
            let waits = Consumer::WaitsForWord { word, token, is_taken, at: self.now };
            self.consumers[usize::from(consumer)] = waits;
        }
        Ok(true)
    }

    /// Notes what the network does to a packet; false where it has done enough already.
    fn meets(&mut self, packet: Packet, fate: Fate, sights: &Sights) -> bool {
        if fate == Fate::Plain {
            return true;
        }
        let Some(left) = self.mishaps_left.checked_sub(1) else { return false };
        self.mishaps_left = left;
        if fate != Fate::AnswerLost {
            let Some(place) = self.late.iter_mut().find(|place| place.is_none()) else { return false };
            *place = Some(packet);
        }
        sights.see(match fate {
            Fate::Plain | Fate::AnswerLost => Sight::AnswerLost,
            Fate::Doubled => Sight::Doubled,
            Fate::Delayed => Sight::Delayed,
        });
        true
    }

    fn arrive(&mut self, place: u8, event: u8, sights: &Sights) -> Result<bool, Wrong> {
        match self.late[usize::from(place)].take() {
            None => return Ok(false),
            Some(Packet::Claim) if self.memory.claim(event, self.now, sights)?.is_none() => {}
            Some(Packet::Claim) => {}
            Some(Packet::Say(word, token)) => {
                self.memory.hear(word, token, self.now, sights)?;
            }
        }
        sights.see(Sight::CameLate);
        Ok(true)
    }

    /// What was applied is on disk, and who waits is answered.
    fn sync(&mut self) -> Result<(), Wrong> {
        self.disk = self.memory;
        // In the order in which it was applied.
        let mut order: [usize; CONSUMERS_MAX] = std::array::from_fn(|at| at);
        order.sort_unstable_by_key(|at| self.consumers[*at].fence());
        for at in order {
            self.consumers[at] = match self.consumers[at] {
                waits @ (Consumer::Idle | Consumer::Holds(_)) => waits,
                Consumer::WaitsForClaim { token, at } => {
                    self.told[usize::from(token.event)].granted(token.fence, at)?;
                    Consumer::Holds(token)
                }
                Consumer::WaitsForWord { word, token, is_taken, at } => {
                    self.told[usize::from(token.event)].answered(word, token.fence, is_taken, at);
                    let goes_on = word == Word::Beat && is_taken;
                    if goes_on { Consumer::Holds(token) } else { Consumer::Idle }
                }
            };
        }
        self.forget_ended_leases();
        Ok(())
    }

    fn crash(&mut self, down: u8, sights: &Sights) -> Result<(), Wrong> {
        sights.see(Sight::Crash);
        if self.memory.rows != self.disk.rows {
            sights.see(Sight::Undone);
        }
        if self.disk.lease < self.memory.lease || down > 0 {
            sights.see(Sight::LeaseLengthened);
        }
        self.crashes_left -= 1;
        self.now += down;
        self.memory = self.disk;
        for consumer in &mut self.consumers {
            *consumer = match *consumer {
                Consumer::Idle | Consumer::WaitsForClaim { .. } => Consumer::Idle,
                Consumer::Holds(token) | Consumer::WaitsForWord { token, .. } => Consumer::Holds(token),
            };
        }
        self.forget_ended_leases();
        for (told, mark) in self.told.iter().zip(&self.memory.marks) {
            if told.is_acked && !mark.is_acked() {
                return Err(Wrong::AckUndone);
            }
            if told.live.0 > 0 {
                sights.see(Sight::LeaseKept);
            }
        }
        Ok(())
    }
}

impl Told {
    /// A claim of `at` was answered with this fence.
    fn granted(&mut self, fence: u8, at: u8) -> Result<(), Wrong> {
        let (held, until) = self.live;
        if self.is_acked {
            return Err(Wrong::AckUndone);
        }
        if fence <= self.fence {
            return Err(Wrong::FenceNotRising);
        }
        if held != 0 && until > at {
            return Err(Wrong::TwoLiveTokens);
        }
        self.fence = fence;
        self.live = (fence, at + LEASE_TICKS);
        Ok(())
    }

    fn answered(&mut self, word: Word, fence: u8, is_taken: bool, at: u8) {
        match word {
            Word::Beat if is_taken && self.live.0 == fence => self.live.1 = at + LEASE_TICKS,
            Word::Ack if is_taken => self.is_acked = true,
            Word::Beat | Word::Ack | Word::Nack => {}
        }
    }
}
