//! Who may begin an effect, and who may say that it is done.
//!
//! Lives here: the rules, as pure functions of what is kept. Not here: keeping it (the stores). Redis says the same in Lua, and is
//! held to this by random scripts.

use super::effect::{Bearer, Effect};

/// What a store keeps of one effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// It was begun, and nobody has said that it is done.
    Begun {
        /// The fencing number it was begun under.
        fence: u64,
        /// By whom.
        bearer: Bearer,
        /// True where an earlier run of it may have happened, whatever becomes of this one.
        is_doubtful: bool,
    },
    /// It is done.
    Done {
        /// The fencing number it was done under.
        fence: u64,
        /// By whom.
        bearer: Bearer,
        /// What came of it: JSON, or no bytes at all where it could not be kept.
        result: Vec<u8>,
    },
}

/// What a store keeps that an answer depends on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kept {
    /// The highest fencing number seen of the event, by any of its effects.
    pub seen: Option<u64>,
    /// The record of the effect in question.
    pub record: Option<Record>,
}

/// What to do with an effect that was begun, and is not known to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnDoubt {
    /// Leave it as it is, and say so.
    Leave,
    /// Begin it again: it may happen twice.
    RunAgain,
    /// Begin it: the caller found out that it did not happen.
    Denied,
}

/// The answer to beginning an effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Begun {
    /// It is begun by who asked: run it.
    Now,
    /// It was done before, with this result.
    Done(Vec<u8>),
    /// It was begun before, and is not known to be done.
    InDoubt {
        /// The fencing number it was begun under; the asker's own where the same bearer began it.
        fence: u64,
        /// As in the record.
        is_doubtful: bool,
    },
    /// Somebody else with the same fencing number has begun it.
    Running,
    /// A higher fencing number has been seen.
    Stale {
        /// That number.
        seen: u64,
    },
}

/// The answer to saying that an effect is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finished {
    /// It is recorded, or was before.
    Recorded,
    /// A higher fencing number has been seen: nothing is recorded.
    Stale {
        /// That number.
        seen: u64,
    },
    /// Somebody else has it: nothing is recorded.
    Taken,
}

/// The answer to saying that an effect did not happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Abandoned {
    /// There is no record of it any more.
    Undone,
    /// It is left as it is: an earlier run may have happened, or somebody else has it.
    Kept,
}

/// Whatever is answered: where no higher fencing number was seen, save the asker's as the highest one ([`Kept::seen_with`]).
impl Kept {
    /// The highest fencing number seen, once `effect.bearer()` has asked for anything.
    pub fn seen_with(&self, effect: &Effect) -> u64 {
        self.seen.unwrap_or_default().max(effect.fence)
    }

    /// What to answer to `effect.bearer()` who wants to begin. Where it is [`Begun::Now`], save [`Self::begun_by`].
    pub fn begin(&self, effect: &Effect, doubt: OnDoubt) -> Begun {
        if let Some(seen) = self.later_than(effect) {
            return Begun::Stale { seen };
        }
        match &self.record {
            None => Begun::Now,
            Some(Record::Done { result, .. }) => Begun::Done(result.clone()),
            Some(Record::Begun { fence, bearer, is_doubtful }) => {
                if *fence == effect.fence && !bearer.is_of_the_lease_of(&effect.bearer) {
                    return Begun::Running;
                }
                match doubt {
                    OnDoubt::Leave => Begun::InDoubt { fence: *fence, is_doubtful: *is_doubtful },
                    OnDoubt::RunAgain | OnDoubt::Denied => Begun::Now,
                }
            }
        }
    }

    /// The record to save where `effect.bearer()` is answered [`Begun::Now`].
    pub fn begun_by(&self, effect: &Effect, doubt: OnDoubt) -> Record {
        let is_doubtful = self.record.is_some() && doubt == OnDoubt::RunAgain;
        Record::Begun { fence: effect.fence, bearer: effect.bearer.clone(), is_doubtful }
    }

    /// What to answer to `effect.bearer()` who says that it is done. Where it is [`Finished::Recorded`], save a
    /// [`Record::Done`] by it.
    pub fn finish(&self, effect: &Effect) -> Finished {
        if let Some(seen) = self.later_than(effect) {
            return Finished::Stale { seen };
        }
        match &self.record {
            // A store may have lost what was begun, or that it was taken over: what happened is worth knowing all the more.
            None => Finished::Recorded,
            Some(Record::Begun { fence, .. }) if *fence < effect.fence => Finished::Recorded,
            Some(Record::Begun { fence, bearer, .. } | Record::Done { fence, bearer, .. }) => {
                let is_own = *fence == effect.fence && bearer.is_of_the_lease_of(&effect.bearer);
                if is_own { Finished::Recorded } else { Finished::Taken }
            }
        }
    }

    /// What to answer to `effect.bearer()` who says that nothing happened after all. Where it is [`Abandoned::Undone`],
    /// delete the record. It has to be of that very call: one that comes late must not undo what its lease began after it.
    pub fn abandon(&self, effect: &Effect) -> Abandoned {
        let own = Record::Begun { fence: effect.fence, bearer: effect.bearer.clone(), is_doubtful: false };
        let is_free = self.record.as_ref().is_none_or(|record| *record == own);
        if self.later_than(effect).is_none() && is_free { Abandoned::Undone } else { Abandoned::Kept }
    }

    fn later_than(&self, effect: &Effect) -> Option<u64> {
        self.seen.filter(|seen| *seen > effect.fence)
    }
}
