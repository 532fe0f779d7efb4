//! The making of random scripts: what may be asked of an engine, how often.
//!
//! Lives here: one script for each seed. Not here: what its lines are (`script.rs`) and mean
//! (`known.rs`).

use naven_api::{Backoff, ErrorText, LeaseSeconds};

use super::random::SeededRandom;
use super::script::{Ask, FromAsk, LINES_MAX, Line, Look, Pick, ProofAsk, To, When};
use super::{dead_asks, entry_asks, event_looks, group_asks, reader_asks};
use crate::key::KeyCondition;
use crate::queue::{QueueChanges, QueueSettings, Retention, StreamChanges};
use crate::txn::SettleStep;

const DAY_MS: i64 = 86_400_000;

/// How a script is made: from its seed, with more or less of streams in it.
pub(super) struct Drawing {
    pub(super) random: SeededRandom,
    /// True where queues of this script may share streams.
    pub(super) shares: bool,
}

/// The script of `seed`. It begins with queues and an event, as most of its lines need both. Every
/// third script has one queue to a stream.
pub(super) fn script(seed: u64) -> Vec<Line> {
    let drawing = Drawing { random: SeededRandom::new(seed), shares: !seed.is_multiple_of(3) };
    let mut lines = vec![Line::Submit { all_or_nothing: false, asks: drawing.first() }];
    let length = 1 + drawing.random.below(LINES_MAX - 1);
    lines.extend((1..=length).map(|_| drawing.line()));
    lines
}

impl Drawing {
    fn first(&self) -> Vec<Ask> {
        let publish = |to| Ask::Publish {
            to,
            due: When::Now,
            bytes: 2,
            max_attempts: None,
            expires_ms: None,
            dedupe: None,
        };
        if !self.shares {
            return vec![self.create(0, None), publish(To::Queue(0))];
        }
        let on = || Some((0, FromAsk::Start));
        vec![self.create(0, on()), self.create(1, on()), publish(To::Stream(0))]
    }

    pub(super) fn create(&self, name: usize, on: Option<(Pick, FromAsk)>) -> Ask {
        Ask::Create { name, settings: Box::new(self.settings()), on, stream: self.stream_changes() }
    }

    fn line(&self) -> Line {
        match self.random.below(100) {
            0..18 => Line::Advance(self.span_ms()),
            18..22 => Line::StepWall(self.random.one_of(&[-1, 1]) * self.span_ms()),
            22..27 => Line::Tend,
            27..39 => Line::Look(self.look()),
            39..88 => Line::Submit { all_or_nothing: self.random.once_in(2), asks: vec![self.ask()] },
            _ => {
                let asks = (0..2 + self.random.below(4)).map(|_| self.ask()).collect();
                Line::Submit { all_or_nothing: self.random.once_in(2), asks }
            }
        }
    }

    /// Spans that often meet the ends of leases, delays and graces to the ms.
    pub(super) fn span_ms(&self) -> i64 {
        match self.random.below(8) {
            0 => i64::from(self.random.below(10_000)),
            1 => i64::from(self.random.below(3)),
            2 if self.random.once_in(6) => self.random.one_of(&[DAY_MS, 2 * DAY_MS, 15 * DAY_MS]),
            _ => self.random.one_of(&[1_000, 1_000, 2_000, 3_000, 5_000, 10_000, 60_000, 3_600_000]),
        }
    }

    fn settings(&self) -> QueueSettings {
        QueueSettings {
            description: String::new(),
            default_lease: lease(self.random.one_of(&[1, 2, 5, 30])),
            max_lease_seconds: self.random.one_of(&[0, 0, 3, 10]),
            max_attempts: self.random.one_of(&[None, Some(1), Some(2), Some(3)]),
            backoff: Backoff {
                initial_seconds: self.random.one_of(&[0, 1, 5]),
                factor_milli: self.random.one_of(&[1_000, 2_000]),
                max_seconds: self.random.one_of(&[5, 3_600]),
                jitter_milli: self.random.one_of(&[0, 0, 500, 1_000]),
            },
            late_ack_grace_seconds: self.random.one_of(&[0, 0, 2, 10]),
            redis_lease: self.random.one_of(&[None, Some(1), Some(3)]).map(lease),
            keep_done_payload: self.random.once_in(4),
            protect_unread: self.random.once_in(2),
            done_retention_seconds: self.random.one_of(&[0, 86_400, 200_000]),
            dead_retention_seconds: self.random.one_of(&[0, 3_600, 1_209_600]),
        }
    }

    fn ask(&self) -> Ask {
        let ask = self.plain_ask();
        // Readers ask under no key.
        if !self.random.once_in(12) || matches!(ask, Ask::Reader(_)) {
            return ask;
        }
        Ask::Once(self.random.below(2) as u8, !self.random.once_in(8), Box::new(ask))
    }

    fn plain_ask(&self) -> Ask {
        let pick = || self.random.next_u64() as Pick;
        match self.random.below(100) {
            0..5 => self.create(self.random.below(4) as usize, self.reading()),
            5..9 if self.shares && self.random.once_in(2) => Ask::Entry(entry_asks::ask(&self.random)),
            5..30 => self.publish(),
            30..39 => Ask::Reader(reader_asks::ask(&self.random)),
            39 if self.random.once_in(2) => Ask::DeleteConsumer(pick(), self.random.below(3) as u8),
            39..53 => Ask::Claim {
                queue: pick(),
                max: self.random.one_of(&[1, 1, 2, 5, 100]),
                seconds: self.random.one_of(&[None, Some(1), Some(2), Some(5), Some(3_600)]),
                max_bytes: self.random.one_of(&[usize::MAX, usize::MAX, 0, 20]),
            },
            53..82 => Ask::Settle { hold: pick(), proof: self.proof(), step: self.step() },
            82 if self.shares => Ask::Group(group_asks::ask(&self.random)),
            82..84 => Ask::Patch(pick(), Box::new(self.changes()), self.stream_changes()),
            84 if self.shares => self.of_stream(),
            84 => Ask::Reset(pick(), self.from()),
            85 | 86 if self.shares => self.of_stream(),
            85 | 86 => Ask::Pause(pick(), self.random.once_in(2)),
            87 => Ask::Pause(pick(), self.random.once_in(2)),
            88 => Ask::Resume(pick()),
            89 => self.reschedule(),
            90..92 => Ask::Delete(pick(), self.random.once_in(3)),
            92 => Ask::Cancel(pick(), self.random.once_in(2).then(pick), self.random.once_in(2)),
            93..95 => Ask::Redrive {
                event: pick(),
                queue: self.random.once_in(2).then(pick),
                reset_attempts: !self.random.once_in(3),
            },
            95 if self.shares => self.of_stream(),
            95 => Ask::DeleteStream(pick(), self.random.once_in(3)),
            96 if self.random.once_in(3) => self.reschedule(),
            96 if self.random.once_in(2) => Ask::Bury(pick()),
            96 if self.random.once_in(2) => Ask::Cancel(pick(), Some(pick()), true),
            96 | 98 => Ask::Dead(dead_asks::ask(&self.random)),
            97 => self.of_key(),
            _ => Ask::Look(self.look()),
        }
    }

    fn reschedule(&self) -> Ask {
        let (event, queue) = (self.random.next_u64() as Pick, self.random.next_u64() as Pick);
        let queue = self.random.once_in(3).then_some(queue);
        if self.random.once_in(3) {
            return Ask::RunNow(event, queue);
        }
        let max_attempts = self.random.one_of(&[None, Some(1), Some(3)]);
        Ask::Reschedule {
            event,
            queue,
            due: (!self.random.once_in(4)).then(|| self.when()),
            max_attempts: self.random.once_in(3).then_some(max_attempts),
        }
    }

    fn of_key(&self) -> Ask {
        let name = self.random.below(3) as usize;
        let revision = 1 + u64::from(self.random.below(3));
        match self.random.below(6) {
            0 => Ask::DeleteKey(name, None),
            1 => Ask::DeleteKey(name, Some(revision)),
            2 => Ask::PutKey(name, KeyCondition::Any),
            3 => Ask::PutKey(name, KeyCondition::Absent),
            _ => Ask::PutKey(name, KeyCondition::Revision(revision)),
        }
    }

    pub(super) fn publish(&self) -> Ask {
        let pick = self.random.next_u64() as Pick;
        let to_all = self.shares && !self.random.once_in(3);
        Ask::Publish {
            to: if to_all { To::Stream(pick) } else { To::Queue(pick) },
            due: self.when(),
            bytes: self.random.one_of(&[2, 2, 10, 300]),
            max_attempts: self.random.one_of(&[None, None, None, Some(1), Some(2)]),
            expires_ms: self.random.one_of(&[None, None, None, None, Some(0), Some(1_000), Some(10_000)]),
            dedupe: self.random.once_in(6).then(|| self.random.below(3) as u8),
        }
    }

    /// What is done to streams and their readers.
    fn of_stream(&self) -> Ask {
        let (pick, other) = (self.random.next_u64() as Pick, self.random.next_u64() as Pick);
        match self.random.below(13) {
            8..11 => Ask::Entry(entry_asks::ask(&self.random)),
            11.. => Ask::Group(group_asks::ask(&self.random)),
            0..3 => Ask::Reset(pick, self.from()),
            3 => Ask::DeleteStream(pick, self.random.once_in(2)),
            4..6 => Ask::Trim(pick, self.random.below(4).into(), self.random.one_of(&[None, None, Some(1)])),
            6 => Ask::TrimBefore(pick, other),
            _ => Ask::DeleteEntry(pick, other),
        }
    }

    fn reading(&self) -> Option<(Pick, FromAsk)> {
        let shares = self.shares && !self.random.once_in(4);
        shares.then(|| (self.random.next_u64() as Pick, self.from()))
    }

    pub(super) fn from(&self) -> FromAsk {
        match self.random.below(6) {
            0 => FromAsk::New,
            1 => FromAsk::At(self.random.one_of(&[-3_600_000, -5_000, -1_000, 0, 1_000])),
            2..4 => FromAsk::After(self.random.next_u64() as Pick),
            _ => FromAsk::Start,
        }
    }

    pub(super) fn stream_changes(&self) -> StreamChanges {
        let retention = self.random.one_of(&[Retention::Consumed, Retention::Trim]);
        let dedupe_window_seconds = self.random.one_of(&[0, 2, 60]);
        StreamChanges {
            retention: self.random.once_in(6).then_some(retention),
            dedupe_window_seconds: self.random.once_in(3).then_some(dedupe_window_seconds),
        }
    }

    fn look_at_streams(&self, limit: u32) -> Look {
        let pick = || self.random.next_u64() as Pick;
        match self.random.below(6) {
            0 => Look::Stream(pick()),
            1 => Look::Streams(self.random.below(3) as usize, limit),
            2..4 => Look::Groups(pick()),
            _ => Look::Entries {
                stream: pick(),
                start: self.random.once_in(2).then(pick),
                end: self.random.once_in(2).then(pick),
                reverse: self.random.once_in(2),
                limit,
            },
        }
    }

    fn when(&self) -> When {
        match self.random.below(4) {
            0 => When::In(self.random.one_of(&[0, 1, 2, 5, 60])),
            1 => When::At(self.random.one_of(&[-5_000, -1, 0, 1, 1_000, 2_500, 3_600_000])),
            _ => When::Now,
        }
    }

    pub(super) fn proof(&self) -> ProofAsk {
        match self.random.below(16) {
            0 => ProofAsk::Foreign(self.random.next_u64() as Pick),
            1 => ProofAsk::Nonsense,
            2 => ProofAsk::Fence(0),
            3 => ProofAsk::Fence(1),
            4 => ProofAsk::Operator(self.random.once_in(2)),
            5 | 6 => ProofAsk::Group,
            7 => ProofAsk::Among(self.random.once_in(2)),
            _ => ProofAsk::Token,
        }
    }

    pub(super) fn step(&self) -> SettleStep {
        let error = || self.random.once_in(2).then(|| ErrorText::new("what went wrong"));
        let seconds = [None, None, Some(1), Some(5)];
        match self.random.below(16) {
            0..3 => SettleStep::Ack,
            3 => SettleStep::AckWith(super::telling::result("1")),
            4 => SettleStep::AckWith(super::telling::result("[2]")),
            5..9 => {
                let delay = self.random.one_of(&[None, None, Some(0), Some(1), Some(5)]);
                let delay = delay.map(|seconds| seconds.try_into().expect("a delay within its bounds"));
                SettleStep::Fail { error: error(), delay }
            }
            9 => SettleStep::Fatal { error: error() },
            10..12 => SettleStep::Release { error: error() },
            12 => SettleStep::GiveBack,
            says => {
                let seconds = self.random.one_of(&seconds);
                let seconds = seconds.map(|seconds| seconds.try_into().expect("a lease within its bounds"));
                match says {
                    13 => SettleStep::Extend(seconds),
                    percent => SettleStep::Report(seconds, Box::new(super::telling::progress(percent))),
                }
            }
        }
    }

    pub(super) fn changes(&self) -> QueueChanges {
        let to = self.settings();
        QueueChanges {
            description: self.random.once_in(4).then(|| "changed".to_owned()),
            default_lease: self.random.once_in(3).then_some(to.default_lease),
            max_lease_seconds: self.random.once_in(3).then_some(to.max_lease_seconds),
            max_attempts: self.random.once_in(3).then_some(to.max_attempts),
            backoff: self.random.once_in(3).then_some(to.backoff),
            late_ack_grace_seconds: self.random.once_in(3).then_some(to.late_ack_grace_seconds),
            redis_lease: self.random.once_in(3).then_some(to.redis_lease),
            keep_done_payload: self.random.once_in(3).then_some(to.keep_done_payload),
            protect_unread: self.random.once_in(3).then_some(to.protect_unread),
            done_retention_seconds: self.random.once_in(3).then_some(to.done_retention_seconds),
            dead_retention_seconds: self.random.once_in(3).then_some(to.dead_retention_seconds),
        }
    }

    pub(super) fn look(&self) -> Look {
        let pick = self.random.next_u64() as Pick;
        let limit = self.random.one_of(&[1, 2, 3, 500]);
        match self.random.below(16) {
            0..3 => Look::Queue(pick),
            3 => Look::Events(event_looks::look(&self.random)),
            4..6 => Look::Queues(self.random.below(3) as usize, limit),
            6..9 => Look::Event(pick, self.random.once_in(2)),
            9 => Look::Pending(reader_asks::look(&self.random)),
            10..12 => Look::DeadLetters(pick, limit),
            12 => Look::Dead(dead_asks::look(&self.random)),
            13 => self.look_at_streams(limit),
            14 if self.random.once_in(3) => Look::Keys,
            14 if self.random.once_in(2) => Look::BadCursor(pick),
            14 => Look::System,
            _ => self.look_at_streams(limit),
        }
    }
}

fn lease(seconds: u32) -> LeaseSeconds {
    seconds.try_into().expect("a lease within its bounds")
}
