//! What ought to be so of a row, and which promise is broken where it is not.
//!
//! Lives here: the plain rules that the core's are held against. Not here: the core's (`row.rs`).

use naven_core::Refusal;

use super::row::{ATTEMPTS_MAX, LEASE_TICKS, RETRY_TICKS, Row, Stand};

/// A broken promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Wrong {
    TwoLiveTokens,
    TerminalTwice,
    AckUndone,
    DeadDelivered,
    FenceNotRising,
    BeforeDue,
    LateTaken,
    StaleTaken,
    RefusedWrongly,
    OtherReason,
    AttemptsMiscounted,
    ExpiredEarly,
    ExpiryMissed,
    LeaseOfOtherLength,
    LoggedOtherwise,
}

/// What a holder says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Word {
    Beat,
    Ack,
    Nack,
}

/// Where the event ought to stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
enum Mood {
    #[default]
    Free,
    /// Held by the last fence.
    Held,
    /// Finished by the last fence.
    Acked,
    /// Finished by a reader that bears no token.
    AckedElsewhere,
    /// Failed by the last fence; nobody had it since.
    Nacked,
    /// The last fence's time ran out; nobody had it since.
    Lapsed,
}

/// What ought to be so of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(super) struct Mark {
    mood: Mood,
    is_dead: bool,
    fence: u8,
    attempts: u8,
    /// The lease's first tick after its end, by the lease clock.
    until: u8,
    /// The first tick of the wall clock at which it may be handed out.
    due: u8,
}

impl Mark {
    pub(super) const fn is_acked(&self) -> bool {
        matches!(self.mood, Mood::Acked | Mood::AckedElsewhere)
    }

    pub(super) const fn is_dead(&self) -> bool {
        self.is_dead
    }

    const fn is_over(&self) -> bool {
        self.is_dead || self.is_acked()
    }

    const fn is_live(&self, lease: u8) -> bool {
        matches!(self.mood, Mood::Held) && lease < self.until
    }

    /// It was handed out, and `row` came of it.
    pub(super) fn taken(&self, row: &Row, wall: u8, lease: u8) -> Result<Self, Wrong> {
        match self.mood {
            Mood::Held => return Err(Wrong::TwoLiveTokens),
            Mood::Acked | Mood::AckedElsewhere => return Err(Wrong::AckUndone),
            Mood::Free | Mood::Nacked | Mood::Lapsed if self.is_dead => return Err(Wrong::DeadDelivered),
            Mood::Free | Mood::Nacked | Mood::Lapsed => {}
        }
        let held = Self {
            mood: Mood::Held,
            fence: row.fence,
            attempts: self.attempts + 1,
            until: lease + LEASE_TICKS,
            due: 0,
            ..*self
        };
        if wall < self.due {
            Err(Wrong::BeforeDue)
        } else if row.fence <= self.fence {
            Err(Wrong::FenceNotRising)
        } else if row.attempts != held.attempts || row.attempts > ATTEMPTS_MAX {
            Err(Wrong::AttemptsMiscounted)
        } else {
            held.has_lease(row)
        }
    }

    /// Somebody looked for holds whose time is over; `row` is what came of it, if anything did.
    pub(super) fn swept(&self, row: Option<&Row>, lease: u8) -> Result<Self, Wrong> {
        let is_over = self.mood == Mood::Held && lease >= self.until;
        match row {
            None if is_over => Err(Wrong::ExpiryMissed),
            None => Ok(*self),
            Some(_) if !is_over => Err(Wrong::ExpiredEarly),
            Some(row) => self.lost(Mood::Lapsed, 0).has_counted(row),
        }
    }

    /// A retry's time was said to have come.
    pub(super) fn fell_due(&self, wall: u8) -> Result<Self, Wrong> {
        if wall < self.due { Err(Wrong::BeforeDue) } else { Ok(*self) }
    }

    /// A word of the holder of `fence` was taken, and `row` came of it.
    pub(super) fn took(&self, word: Word, fence: u8, row: &Row, wall: u8, lease: u8) -> Result<Self, Wrong> {
        if fence == self.fence && self.is_live(lease) {
            return match word {
                Word::Beat => Self { until: lease + LEASE_TICKS, ..*self }.has_lease(row),
                Word::Ack if row.stand == Stand::Done => Ok(Self { mood: Mood::Acked, until: 0, ..*self }),
                Word::Ack => Err(Wrong::AckUndone),
                Word::Nack => self.lost(Mood::Nacked, wall + RETRY_TICKS).has_counted(row),
            };
        }
        match (self.mood, word) {
            (Mood::Acked, Word::Beat | Word::Ack) | (Mood::Nacked, Word::Beat | Word::Nack)
                if fence == self.fence =>
            {
                self.is_as_before(row)
            }
            (Mood::Acked | Mood::AckedElsewhere, _) => Err(Wrong::TerminalTwice),
            (_, Word::Ack | Word::Nack) if self.is_dead => Err(Wrong::TerminalTwice),
            (Mood::Held | Mood::Lapsed, _) if fence == self.fence => Err(Wrong::LateTaken),
            (Mood::Free | Mood::Held | Mood::Nacked | Mood::Lapsed, _) => Err(Wrong::StaleTaken),
        }
    }

    /// The claim was undone, its answer having nobody to go to; `row` came of it, if anything did.
    pub(super) fn given_back(&self, row: Option<&Row>) -> Result<Self, Wrong> {
        let back = Self { mood: Mood::Free, attempts: self.attempts.saturating_sub(1), until: 0, ..*self };
        match row {
            Some(row) if row.stand == Stand::Ready => back.has_counted(row),
            Some(_) | None => Err(Wrong::RefusedWrongly),
        }
    }

    /// A reader without a token said that it is finished; `row` came of it, or why not.
    pub(super) fn acked_elsewhere(&self, row: Result<&Row, Refusal>, lease: u8) -> Result<Self, Wrong> {
        let refusal = match self.mood {
            _ if self.is_over() => Some(Refusal::WrongState),
            Mood::Held if self.is_live(lease) => Some(Refusal::Lost),
            // A hold that used up its attempts is dead from its end on, recorded or not.
            Mood::Held if self.attempts >= ATTEMPTS_MAX => Some(Refusal::WrongState),
            _ if self.fence == 0 => Some(Refusal::NotDue),
            _ => None,
        };
        match (row, refusal) {
            (Ok(row), None) if row.stand == Stand::Done => {
                Ok(Self { mood: Mood::AckedElsewhere, until: 0, due: 0, ..*self })
            }
            (Ok(_), None) => Err(Wrong::AckUndone),
            (Ok(_), Some(Refusal::WrongState)) => Err(Wrong::TerminalTwice),
            (Ok(_), Some(_)) => Err(Wrong::StaleTaken),
            (Err(found), Some(right)) if found == right => Ok(*self),
            (Err(_), Some(_)) => Err(Wrong::OtherReason),
            (Err(_), None) => Err(Wrong::RefusedWrongly),
        }
    }

    /// A word of the holder of `fence` was refused.
    pub(super) fn refused(&self, word: Word, fence: u8, refusal: Refusal, lease: u8) -> Result<Self, Wrong> {
        let right = match (self.mood, word) {
            _ if fence != self.fence => Refusal::Lost,
            (Mood::Held, _) if self.is_live(lease) => return Err(Wrong::RefusedWrongly),
            (Mood::Held | Mood::Lapsed, _) => Refusal::Expired,
            (Mood::Acked, Word::Nack) | (Mood::Nacked, Word::Ack) => Refusal::Settled,
            (Mood::Acked | Mood::Nacked, _) => return Err(Wrong::RefusedWrongly),
            (Mood::Free | Mood::AckedElsewhere, _) => Refusal::Lost,
        };
        if refusal == right { Ok(*self) } else { Err(Wrong::OtherReason) }
    }

    /// Its hold ended without an ack.
    const fn lost(&self, mood: Mood, due: u8) -> Self {
        let is_dead = self.attempts >= ATTEMPTS_MAX;
        Self { mood, is_dead, until: 0, due: if is_dead { 0 } else { due }, ..*self }
    }

    fn has_counted(self, row: &Row) -> Result<Self, Wrong> {
        let is_dead = row.stand == Stand::Dead;
        let is_right = self.is_dead == is_dead && row.attempts == self.attempts && row.fence == self.fence;
        if is_right { Ok(self) } else { Err(Wrong::AttemptsMiscounted) }
    }

    fn has_lease(self, row: &Row) -> Result<Self, Wrong> {
        match row.stand {
            Stand::Leased { until } if until == self.until => Ok(self),
            Stand::Leased { .. } | Stand::Ready | Stand::Retrying => Err(Wrong::LeaseOfOtherLength),
            Stand::Done | Stand::Dead | Stand::Cancelled => Err(Wrong::LeaseOfOtherLength),
        }
    }

    fn is_as_before(self, row: &Row) -> Result<Self, Wrong> {
        let is_done = row.stand == Stand::Done;
        let is_dead = row.stand == Stand::Dead;
        if (is_done, is_dead) == (self.is_acked(), self.is_dead) {
            Ok(self)
        } else {
            Err(Wrong::TerminalTwice)
        }
    }
}
