//! Everything that can be asked of a delivery, as values.
//!
//! Lives here: the steps, so that they can be logged, replayed and made up by a property test.
//! Not here: what they do (`delivery.rs`, `take.rs`, `settle.rs`).

use naven_api::{AckResult, DelaySeconds, ErrorText, LeaseSeconds, Progress, Timestamp};

use crate::now::LeaseTime;
use crate::outcome::DeadReason;

/// A Redis consumer of a queue, by the number that the engine gave its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConsumerNo(pub u32);

/// What a claim takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// An HTTP lease: it has a token and an end.
    Lease(LeaseSeconds),
    /// A Redis consumer's hold: it has a name and no end.
    Consumer(ConsumerNo),
    /// A delivery that counts as done at once.
    NoAck,
}

/// What the engine found when it checked a caller's proof against the present round and fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bearer {
    /// The proof is the last hold's.
    Last,
    /// The proof is another's, or no proof at all.
    Other,
}

/// What a holder says of a failed attempt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Failure {
    /// What went wrong.
    pub error: Option<ErrorText>,
    /// The retry's delay, over the queue's backoff.
    pub delay: Option<DelaySeconds>,
    /// 32 random bits for the backoff's jitter.
    pub draw: u32,
}

/// How a Redis consumer gives up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GivingUp {
    /// No attempt is counted (`SILENT`).
    Release,
    /// A failed attempt (`FAIL`).
    Fail,
    /// Failed for good: a dead letter (`FATAL`).
    Fatal,
}

/// What a Redis consumer says of what it gives up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenUp {
    /// How.
    pub how: GivingUp,
    /// How long until it is due again, in ms; none: by the queue's backoff where it failed, at once else.
    pub delay_ms: Option<u64>,
    /// What went wrong.
    pub error: Option<ErrorText>,
    /// Redis' count of deliveries from then on; none: as Redis has it for this way of giving up.
    pub redis_count: Option<u64>,
    /// 32 random bits for the backoff's jitter.
    pub draw: u32,
}

/// One thing asked of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A retry's time has come: it may be claimed.
    FallDue,
    /// A claim takes it; `consumer` is the claimer's own name, for the log.
    Take {
        /// The kind of hold.
        hold: Hold,
        /// Who takes it, for people.
        consumer: Option<String>,
    },
    /// A Redis consumer takes over what another held, or renews its own (`XCLAIM`, `XAUTOCLAIM`).
    TakeOver {
        /// The new holder.
        to: ConsumerNo,
        /// Its name, for people.
        consumer: String,
        /// True where a live hold only changes its owner, which counts no attempt (`JUSTID`).
        just_id: bool,
        /// Since when it counts as held; none, or one ahead: now.
        since: Option<LeaseTime>,
        /// Redis' count of deliveries from then on; none: one more, unless only the owner changes.
        redis_count: Option<u64>,
    },
    /// Its Redis consumer reads again what it holds: counts on Redis' scale alone.
    Reread,
    /// A heartbeat: the lease ends this long from now.
    Extend {
        /// Whose proof it is.
        by: Bearer,
        /// From now.
        hold: LeaseSeconds,
        /// How far the holder came, if it says.
        progress: Option<Box<Progress>>,
    },
    /// Finished.
    Ack {
        /// Whose proof it is.
        by: Bearer,
        /// What came of it, if the holder says.
        result: Option<AckResult>,
    },
    /// Finished, without a proof (`XACK`): counts for Redis holds and unowned entries.
    AckUnfenced,
    /// Given up, without a proof (`XNACK`): counts for Redis holds and unowned entries.
    GiveUp(GivenUp),
    /// Failed: counts the attempt, retries after a delay.
    Fail {
        /// Whose proof it is.
        by: Bearer,
        /// What went wrong and when to retry.
        failure: Failure,
    },
    /// Failed for good: dead at once.
    Fatal {
        /// Whose proof it is.
        by: Bearer,
        /// What went wrong.
        error: Option<ErrorText>,
    },
    /// Given back by the holder: due now, the attempt is not counted.
    Release {
        /// Whose proof it is.
        by: Bearer,
        /// Why, if it says.
        error: Option<ErrorText>,
    },
    /// Given back by the server because the claim's answer could not be delivered: the due time and
    /// the attempts stay as before the claim.
    GiveBack {
        /// Whose proof it is.
        by: Bearer,
    },
    /// The hold's time is over.
    Expire,
    /// An operator asks the holder to stop; what nobody holds is cancelled at once.
    Cancel {
        /// Why, for people.
        reason: Option<ErrorText>,
    },
    /// An operator ends the hold and the delivery now.
    Break,
    /// An operator or the engine ends the delivery, held or not, for this reason.
    Bury(DeadReason),
    /// An operator names another due time for what nobody has.
    Reschedule {
        /// From when on it may be claimed; one that has come makes it ready.
        due: Timestamp,
    },
    /// An operator throws it away, dead or waiting: what is left of it only judges late calls.
    Purge,
    /// A dead delivery is forgotten: what is left of it only judges late calls.
    Discard,
    /// A dead delivery begins a new round.
    Redrive {
        /// True where the attempts start again at none.
        reset_attempts: bool,
    },
}
