//! Histories told in few words.
//!
//! Lives here: the words. Not here: the histories.

use naven_api::{EventId, QueueId};

use crate::checker::{Kind, Report, Rules};
use crate::history::{Answer, Ask, Call, Grant, History, Publish, QueueSettings, Reason, WorldEvent};

/// How long every lease is asked to last.
pub(super) const LEASE_MS: i64 = 1_000;
pub(super) const QUEUE: QueueId = QueueId::from_bits(1);
pub(super) const EVENT: EventId = EventId::from_bits(1);

/// A history of one event, told call by call.
#[derive(Debug, Clone, Default)]
pub(super) struct Story {
    pub(super) history: History,
    must_finish: bool,
}

impl Story {
    /// It begins with a publish that is answered, from 0 to 1.
    pub(super) fn new() -> Self {
        Self::with(Publish::default())
    }

    pub(super) fn with(publish: Publish) -> Self {
        Self::default().call(0, 1, Ask::Publish(publish), Answer::Published { event: EVENT })
    }

    /// In a queue with these settings.
    pub(super) fn set(mut self, settings: QueueSettings) -> Self {
        self.history.queues.insert(QUEUE, settings);
        self
    }

    pub(super) fn attempts(self, max_attempts: u32) -> Self {
        self.set(QueueSettings { max_attempts: Some(max_attempts), ..QueueSettings::default() })
    }

    pub(super) fn grace(self, grace_ms: i64) -> Self {
        self.set(QueueSettings { grace_ms, ..QueueSettings::default() })
    }

    pub(super) fn must_finish(mut self) -> Self {
        self.must_finish = true;
        self
    }

    pub(super) fn world(mut self, event: WorldEvent) -> Self {
        self.history.world.push(event);
        self
    }

    pub(super) fn call(self, begun_ms: i64, ended_ms: i64, ask: Ask, answer: Answer) -> Self {
        self.push(begun_ms, Some(ended_ms), ask, answer)
    }

    fn push(mut self, begun_ms: i64, ended_ms: Option<i64>, ask: Ask, answer: Answer) -> Self {
        self.history.calls.push(Call { client: 1, begun_ms, ended_ms, queue: QUEUE, ask, answer });
        self
    }

    /// A call that was never answered.
    pub(super) fn lost(self, begun_ms: i64, ask: Ask) -> Self {
        self.push(begun_ms, None, ask, Answer::Unknown)
    }

    pub(super) fn granted(self, begun_ms: i64, ended_ms: i64, fence: u64, attempt: u32) -> Self {
        let grant = Grant { event: EVENT, fence, attempt, round: None };
        self.call(begun_ms, ended_ms, CLAIM, Answer::Claimed(vec![grant]))
    }

    pub(super) fn done(self, begun_ms: i64, ended_ms: i64, ask: Ask) -> Self {
        self.call(begun_ms, ended_ms, ask, Answer::DONE)
    }

    pub(super) fn refused(self, begun_ms: i64, ended_ms: i64, ask: Ask, reason: Reason) -> Self {
        self.call(begun_ms, ended_ms, ask, Answer::Conflict(reason))
    }

    /// A nack that was told when the event is due again.
    pub(super) fn nacked(self, begun_ms: i64, ended_ms: i64, fence: u64, next_at_ms: i64) -> Self {
        let answer = Answer::Done { next_at_ms: Some(next_at_ms), replayed: false };
        self.call(begun_ms, ended_ms, nack(fence), answer)
    }

    pub(super) fn report(&self) -> Report {
        let rules = Rules { must_finish: self.must_finish, threads: 1, ..Rules::exact() };
        Report::of(&self.history, &rules)
    }

    #[track_caller]
    pub(super) fn is_right(&self) {
        let report = self.report();
        assert!(report.is_clean(), "{report}");
    }

    #[track_caller]
    pub(super) fn breaks(&self, kind: Kind) {
        let report = self.report();
        let kinds: Vec<Kind> = report.violations.iter().map(|violation| violation.kind).collect();
        assert_eq!(kinds, [kind], "{report}");
    }
}

pub(super) const CLAIM: Ask = Ask::Claim { lease_ms: LEASE_MS };

pub(super) const fn ack(fence: u64) -> Ask {
    Ask::Ack { event: EVENT, fence }
}

pub(super) const fn nack(fence: u64) -> Ask {
    Ask::Nack { event: EVENT, fence, delay_ms: None }
}

pub(super) const fn nack_for(fence: u64, delay_ms: i64) -> Ask {
    Ask::Nack { event: EVENT, fence, delay_ms: Some(delay_ms) }
}

pub(super) const fn fatal(fence: u64) -> Ask {
    Ask::Fatal { event: EVENT, fence }
}

pub(super) const fn release(fence: u64) -> Ask {
    Ask::Release { event: EVENT, fence }
}

pub(super) const fn extend(fence: u64) -> Ask {
    Ask::Extend { event: EVENT, fence, lease_ms: LEASE_MS }
}

pub(super) const LOOK: Ask = Ask::Look { event: EVENT };
pub(super) const REDRIVE: Ask = Ask::Redrive { event: Some(EVENT), reset_attempts: true };
