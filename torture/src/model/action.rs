//! What can happen next in a model.
//!
//! Lives here: the actions. Not here: what they do (`state.rs`).

use super::mark::Word;
use super::world::Token;

/// What is sent to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Packet {
    /// A claim; which event it will come to is the server's choice.
    Claim,
    /// A holder's word.
    Say(Word, Token),
}

/// What the network does with a packet and its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Fate {
    /// Both arrive.
    Plain,
    /// The packet arrives, its answer does not.
    AnswerLost,
    /// Both arrive, and a copy of the packet later.
    Doubled,
    /// The packet arrives later, when nobody waits for its answer any more.
    Delayed,
}

impl Fate {
    pub(super) const ALL: [Fate; 4] = [Self::Plain, Self::AnswerLost, Self::Doubled, Self::Delayed];
}

/// What happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// A second goes by.
    Tick,
    /// The server looks at what time has done to this event.
    Sweep(u8),
    /// This consumer claims, and the server hands it this event.
    Claim { consumer: u8, event: u8, fate: Fate },
    /// This consumer, a holder, says this.
    Say { consumer: u8, word: Word, fate: Fate },
    /// The packet in this place arrives, a claim to this event.
    Arrive { place: u8, event: u8 },
    /// A claim comes to this event, and is undone at once: its consumer is known to be gone.
    GiveBack(u8),
    /// A reader without a token, on the Redis door, says that this event is finished.
    AckUnfenced(u8),
    /// What was applied is synced, and answered.
    Sync,
    /// The server is killed and started again, so many ticks later.
    Crash { down: u8 },
}
