//! One broken promise, and how it reads.
//!
//! Lives here: the kinds and the text. Not here: finding them (`search.rs`).

use std::fmt;

use naven_api::{EventId, QueueId};

use crate::history::Call;

/// Explained calls that are shown before the one that is not.
const SHOWN_MAX: usize = 20;

/// Which promise is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// It was handed out while an earlier lease was live.
    TwoLiveTokens,
    /// It was handed out, or waited, after an ack that was answered.
    AckUndone,
    /// Two calls that end it were both taken.
    TerminalTwice,
    /// It was published and answered, and nobody knows it any more.
    PublishLost,
    /// It was handed out before its time.
    BeforeDue,
    /// The fence of a hold is not above the last one's.
    FenceNotRising,
    /// Fences were used up by holds that no call explains.
    FenceJumped,
    /// A token was taken though its lease was over.
    LateCallTaken,
    /// A token was taken though another hold came, or it was settled the other way.
    StaleCallTaken,
    /// A token was refused though its lease was live, or though it only repeated itself.
    RefusedWrongly,
    /// A token was refused rightly, for a reason that is not the one.
    WrongReason,
    /// The attempts that a claim told are not those that were.
    AttemptsMiscounted,
    /// It was tried more often than its queue allows.
    TooManyAttempts,
    /// It was handed out, or waited, after it was a dead letter, without a new round.
    DeadDelivered,
    /// It was handed out after it was called off, thrown away or deleted with its queue.
    GoneDelivered,
    /// It was handed out after the end of its use.
    ExpiredDelivered,
    /// It was handed out, and nobody published it.
    FromNowhere,
    /// More events came than publishes can explain.
    PublishedTwice,
    /// How it ended was forgotten before its time.
    OutcomeForgotten,
    /// It was not over when everything had time to end.
    Unfinished,
    /// No order of the calls explains this one.
    Unexplained,
}

impl Kind {
    /// The kind's name in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TwoLiveTokens => "two_live_tokens",
            Self::AckUndone => "ack_undone",
            Self::TerminalTwice => "terminal_twice",
            Self::PublishLost => "publish_lost",
            Self::BeforeDue => "before_due",
            Self::FenceNotRising => "fence_not_rising",
            Self::FenceJumped => "fence_jumped",
            Self::LateCallTaken => "late_call_taken",
            Self::StaleCallTaken => "stale_call_taken",
            Self::RefusedWrongly => "refused_wrongly",
            Self::WrongReason => "wrong_reason",
            Self::AttemptsMiscounted => "attempts_miscounted",
            Self::TooManyAttempts => "too_many_attempts",
            Self::DeadDelivered => "dead_delivered",
            Self::GoneDelivered => "gone_delivered",
            Self::ExpiredDelivered => "expired_delivered",
            Self::FromNowhere => "from_nowhere",
            Self::PublishedTwice => "published_twice",
            Self::OutcomeForgotten => "outcome_forgotten",
            Self::Unfinished => "unfinished",
            Self::Unexplained => "unexplained",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One life that no order of its calls explains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Which promise is broken.
    pub kind: Kind,
    /// In which queue.
    pub queue: QueueId,
    /// Of which event.
    pub event: EventId,
    /// The calls that can be explained, in the order that explains most of them.
    pub explained: Vec<Call>,
    /// The call that cannot; none where it is the end that is missing.
    pub blamed: Option<Call>,
    /// How the event stood by then.
    pub stood: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {} in {}", self.kind, self.event, self.queue)?;
        let hidden = self.explained.len().saturating_sub(SHOWN_MAX);
        if hidden > 0 {
            writeln!(f, "  ... {hidden} earlier calls")?;
        }
        for call in &self.explained[hidden..] {
            writeln!(f, "      {}", Shown(call))?;
        }
        writeln!(f, "      so it stands: {}", self.stood)?;
        match &self.blamed {
            Some(call) => write!(f, "  !!  {}", Shown(call)),
            None => write!(f, "  !!  the history ends here"),
        }
    }
}

/// A call on one line.
struct Shown<'a>(&'a Call);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Call { client, begun_ms, ended_ms, queue: _, ask, answer } = self.0;
        match ended_ms {
            Some(ended) => write!(f, "[{begun_ms} ..= {ended}] client {client}: {ask:?} -> {answer:?}"),
            None => write!(f, "[{begun_ms} ..     ] client {client}: {ask:?} -> {answer:?}"),
        }
    }
}
