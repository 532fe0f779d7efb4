//! The server of a model: its rows, by the core's rules, each beside what ought to be so.
//!
//! Lives here: what the server does with a call. Not here: the log and the network (`state.rs`).

use naven_core::{Bearer, Failure, Hold, Refusal, Step};

use super::mark::{Mark, Word, Wrong};
use super::row::{self, Row};
use super::sight::{Sight, Sights};

/// Events that a model can have.
pub(super) const EVENTS_MAX: usize = 3;

/// What a token says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Token {
    pub(super) event: u8,
    pub(super) round: u8,
    pub(super) fence: u8,
}

/// The server's memory, or what of it is on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(super) struct World {
    pub(super) rows: [Row; EVENTS_MAX],
    pub(super) marks: [Mark; EVENTS_MAX],
    /// The lease clock.
    pub(super) lease: u8,
}

impl World {
    /// A claim that comes to this event; none where it cannot be claimed.
    pub(super) fn claim(&mut self, event: u8, wall: u8, sights: &Sights) -> Result<Option<Token>, Wrong> {
        let at = usize::from(event);
        self.sweep(event, wall, sights)?;
        let take = Step::Take { hold: Hold::Lease(row::lease()), consumer: None };
        let Ok(row) = self.rows[at].apply(&take, wall, self.lease) else { return Ok(None) };
        is_logged(&row)?;
        if self.rows[at].fence > 0 {
            sights.see(Sight::Redelivered);
        }
        self.marks[at] = self.marks[at].taken(&row, wall, self.lease)?;
        self.rows[at] = row;
        sights.see(Sight::Claim);
        Ok(Some(Token { event, round: row.round, fence: row.fence }))
    }

    /// What time has done to this event.
    pub(super) fn sweep(&mut self, event: u8, wall: u8, sights: &Sights) -> Result<(), Wrong> {
        let at = usize::from(event);
        if let Ok(row) = self.rows[at].apply(&Step::FallDue, wall, self.lease) {
            self.marks[at] = self.marks[at].fell_due(wall)?;
            self.rows[at] = row;
            sights.see(Sight::FallDue);
        }
        let lapsed = self.rows[at].apply(&Step::Expire, wall, self.lease).ok();
        self.marks[at] = self.marks[at].swept(lapsed.as_ref(), self.lease)?;
        if let Some(row) = lapsed {
            is_logged(&row)?;
            self.rows[at] = row;
            sights.see(Sight::Expiry);
        }
        Ok(())
    }

    /// The server undoes a claim whose answer has nobody to go to.
    pub(super) fn give_back(&mut self, token: Token, wall: u8, sights: &Sights) -> Result<(), Wrong> {
        let at = usize::from(token.event);
        let back = self.rows[at].apply(&Step::GiveBack { by: Bearer::Last }, wall, self.lease).ok();
        self.marks[at] = self.marks[at].given_back(back.as_ref())?;
        if let Some(row) = back {
            is_logged(&row)?;
            self.rows[at] = row;
            sights.see(Sight::GivenBack);
        }
        Ok(())
    }

    /// A reader without a token says that this event is finished.
    pub(super) fn ack_unfenced(&mut self, event: u8, wall: u8, sights: &Sights) -> Result<(), Wrong> {
        let at = usize::from(event);
        let acked = self.rows[at].apply(&Step::AckUnfenced, wall, self.lease);
        self.marks[at] =
            self.marks[at].acked_elsewhere(acked.as_ref().map_err(|refusal| *refusal), self.lease)?;
        if let Ok(row) = acked {
            self.rows[at] = row;
            sights.see(Sight::AckedElsewhere);
        }
        Ok(())
    }

    /// A holder's word; true where it was taken.
    pub(super) fn hear(
        &mut self,
        word: Word,
        token: Token,
        wall: u8,
        sights: &Sights,
    ) -> Result<bool, Wrong> {
        let at = usize::from(token.event);
        let (row, mark) = (self.rows[at], self.marks[at]);
        let is_last = (row.round, row.fence) == (token.round, token.fence);
        let by = if is_last { Bearer::Last } else { Bearer::Other };
        let step = match word {
            Word::Beat => Step::Extend { by, hold: row::lease(), progress: None },
            Word::Ack => Step::Ack { by, result: None },
            Word::Nack => Step::Fail { by, failure: Failure::default() },
        };
        match row.apply(&step, wall, self.lease) {
            Ok(next) => {
                is_logged(&next)?;
                self.marks[at] = mark.took(word, token.fence, &next, wall, self.lease)?;
                self.rows[at] = next;
                let is_repeated = next == row;
                sights.see(match word {
                    Word::Ack if is_repeated => Sight::AckRepeated,
                    Word::Nack if is_repeated => Sight::NackRepeated,
                    Word::Beat => Sight::Beat,
                    Word::Ack => Sight::Ack,
                    Word::Nack => Sight::Nack,
                });
                Ok(true)
            }
            Err(refusal) => {
                self.marks[at] = mark.refused(word, token.fence, refusal, self.lease)?;
                match refusal {
                    Refusal::Expired => sights.see(Sight::RefusedExpired),
                    Refusal::Lost => sights.see(Sight::RefusedLost),
                    Refusal::Settled => sights.see(Sight::RefusedSettled),
                    Refusal::NotDue | Refusal::WrongState => {}
                }
                Ok(false)
            }
        }
    }
}

const fn is_logged(row: &Row) -> Result<(), Wrong> {
    if row.is_logged_otherwise { Err(Wrong::LoggedOtherwise) } else { Ok(()) }
}
