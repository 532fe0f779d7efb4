//! What was seen while a model was explored.
//!
//! Lives here: the sights and their counts, so that no exploring passes that never came to what it is
//! for. Not here: exploring (`explore.rs`).

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! sights {
    ($($(#[$doc:meta])* $name:ident => $word:literal,)+) => {
        /// Something that happened in a model.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Sight {
            $($(#[$doc])* $name,)+
        }

        impl Sight {
            /// Every sight.
            pub const ALL: &'static [Sight] = &[$(Self::$name),+];

            /// The sight in words.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $word,)+
                }
            }
        }
    };
}

sights! {
    /// Time went by.
    Tick => "tick",
    /// A claim took an event.
    Claim => "claim",
    /// A heartbeat was taken.
    Beat => "heartbeat",
    /// An ack was taken.
    Ack => "ack",
    /// A nack was taken.
    Nack => "nack",
    /// A sweep ended a hold.
    Expiry => "expiry",
    /// A retry's time came.
    FallDue => "retry fell due",
    /// The log was synced.
    Sync => "sync",
    /// The server crashed.
    Crash => "crash",
    /// A claim was undone, its answer having nobody to go to.
    GivenBack => "claim given back",
    /// A reader without a token finished an event.
    AckedElsewhere => "acked without a token",
    /// An answer was lost.
    AnswerLost => "answer lost",
    /// A packet was doubled.
    Doubled => "packet doubled",
    /// A packet was late.
    Delayed => "packet late",
    /// A second copy, or a late packet, came in.
    CameLate => "late copy came in",
    /// A crash undid what nobody was told of.
    Undone => "crash undid what was not synced",
    /// A lease that was answered went on after a crash.
    LeaseKept => "lease went on after a crash",
    /// A crash gave a lease more time.
    LeaseLengthened => "crash lengthened a lease",
    /// An ack was repeated by the token that acked.
    AckRepeated => "ack repeated",
    /// A nack was repeated by the token that nacked.
    NackRepeated => "nack repeated",
    /// A call was refused, its lease being over.
    RefusedExpired => "refused: expired",
    /// A call was refused, another having had the event.
    RefusedLost => "refused: lost",
    /// A call was refused, its token having settled the other way.
    RefusedSettled => "refused: settled",
    /// An event was handed out a second time.
    Redelivered => "delivered again",
    /// An event's attempts were used up.
    Dead => "attempts used up",
    /// Every event was done.
    AllDone => "all done",
    /// Every event was dead.
    AllDead => "all dead",
}

/// How often each was seen.
#[derive(Debug, Default)]
pub(super) struct Sights([AtomicU64; Sight::ALL.len()]);

impl Sights {
    pub(super) fn see(&self, sight: Sight) {
        self.0[sight as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count(&self, sight: Sight) -> u64 {
        self.0[sight as usize].load(Ordering::Relaxed)
    }
}

impl fmt::Display for Sight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
