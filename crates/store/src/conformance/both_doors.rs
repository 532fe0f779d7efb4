//! The making of random scripts in which both doors work on the same queues at once.
//!
//! Lives here: one script for each seed, and how often what is asked in it. Not here: scripts of everything
//! (`draw.rs`), what was done by them (`tally.rs`).

use super::draw::Drawing;
use super::entry_asks::{self, EntryAsk, PlaceAsk};
use super::group_asks::{self, GroupAsk, StartAsk};
use super::random::SeededRandom;
use super::script::{Ask, FromAsk, Line, Look, Pick, ProofAsk, To, When};
use super::{dead_asks, reader_asks};
use crate::txn::SettleStep;

/// Fewest lines of a script.
const LINES_MIN: u32 = 15;
/// Most lines of a script.
const LINES_MAX: u32 = 60;

/// The script of `seed`. It begins with a stream that two queues made over HTTP and a group made over Redis read, and
/// with an event from either door.
pub(super) fn script(seed: u64) -> Vec<Line> {
    let drawing = Drawing { random: SeededRandom::new(seed ^ 0xb07d_0025), shares: true };
    let mut lines = vec![Line::Submit { all_or_nothing: false, asks: drawing.opening() }];
    let length = LINES_MIN + drawing.random.below(LINES_MAX - LINES_MIN);
    lines.extend((1..length).map(|_| drawing.line_of_either_door()));
    lines
}

impl Drawing {
    fn opening(&self) -> Vec<Ask> {
        let on = || Some((0, FromAsk::Start));
        let group = GroupAsk::Create {
            stream: 0,
            group: 2,
            make_stream: true,
            start: StartAsk::Zero,
            entries_read: None,
        };
        let add =
            EntryAsk::Add { stream: 0, make: true, at: PlaceAsk::Next, due_ms: 0, dedupe: None, trim: None };
        vec![
            self.create(0, on()),
            self.create(1, on()),
            Ask::Group(group),
            self.plain_publish(To::Stream(0)),
            Ask::Entry(add),
        ]
    }

    fn line_of_either_door(&self) -> Line {
        match self.random.below(100) {
            0..11 => Line::Advance(self.span_ms()),
            11 => Line::StepWall(self.random.one_of(&[-1, 1]) * self.span_ms()),
            12..16 => Line::Tend,
            16..18 => Line::Look(Look::Pending(reader_asks::look(&self.random))),
            18..21 => Line::Look(self.look()),
            21..88 => {
                Line::Submit { all_or_nothing: self.random.once_in(2), asks: vec![self.of_either_door()] }
            }
            _ => {
                let asks = (0..2 + self.random.below(3)).map(|_| self.of_either_door()).collect();
                Line::Submit { all_or_nothing: self.random.once_in(2), asks }
            }
        }
    }

    /// The first half is asked over HTTP, the second over Redis.
    fn of_either_door(&self) -> Ask {
        let pick = || self.random.next_u64() as Pick;
        match self.random.below(100) {
            0..7 => self.plain_publish(if self.random.once_in(4) {
                To::Queue(pick())
            } else {
                To::Stream(self.home())
            }),
            7..9 => self.publish(),
            9..21 => Ask::Claim {
                queue: self.home(),
                max: self.random.one_of(&[1, 1, 2, 5]),
                seconds: self.random.one_of(&[None, Some(1), Some(5), Some(3_600)]),
                max_bytes: usize::MAX,
            },
            21..36 => {
                let proof = if self.random.once_in(4) { self.proof() } else { ProofAsk::Token };
                Ask::Settle { hold: pick(), proof, step: self.step() }
            }
            36 => Ask::Settle { hold: pick(), proof: ProofAsk::Token, step: SettleStep::Extend(None) },
            37 => {
                Ask::Settle { hold: pick(), proof: ProofAsk::Token, step: SettleStep::Fatal { error: None } }
            }
            38..40 => Ask::Cancel(pick(), Some(self.home()), self.random.once_in(2)),
            40..43 => Ask::Redrive {
                event: pick(),
                queue: (!self.random.once_in(4)).then(|| self.home()),
                reset_attempts: self.random.once_in(2),
            },
            43..45 => Ask::Dead(dead_asks::ask(&self.random)),
            45 | 46 => Ask::Reset(self.home(), self.from()),
            47 => self.to_a_queue(),
            48 | 49 if self.random.once_in(2) => {
                self.create(self.random.below(4) as usize, Some((self.home(), self.from())))
            }
            50..52 => Ask::DeleteConsumer(self.home(), self.random.below(3) as u8),
            52..63 => Ask::Entry(self.entry()),
            63..67 => Ask::Group(group_asks::ask(&self.random)),
            67..71 => Ask::Group(GroupAsk::SetPlace(self.home(), StartAsk::After(pick(), 0), None)),
            71 if self.random.once_in(3) => Ask::Group(GroupAsk::Destroy(self.home())),
            72 => Ask::Group(GroupAsk::MakeConsumer(self.home(), self.random.below(3) as u8)),
            _ => Ask::Reader(reader_asks::ask(&self.random)),
        }
    }

    /// An entry's coming or going. A stream that has another name, or no place left, ends most of a script: few have it.
    fn entry(&self) -> EntryAsk {
        let ask = entry_asks::ask(&self.random);
        let ends = matches!(ask, EntryAsk::Rename(..) | EntryAsk::Add { at: PlaceAsk::Last, .. });
        if ends && !self.random.once_in(6) { self.entry() } else { ask }
    }

    /// What is done to queues now and then.
    fn to_a_queue(&self) -> Ask {
        // The first stream's picks name a revision, which is seldom the right one.
        let pick = || self.random.next_u64() as Pick;
        match self.random.below(8) {
            0 => Ask::Delete(pick(), !self.random.once_in(3)),
            1..3 => Ask::Pause(self.home(), true),
            3..6 => Ask::Resume(self.home()),
            _ => Ask::Patch(pick(), Box::new(self.changes()), self.stream_changes()),
        }
    }

    fn plain_publish(&self, to: To) -> Ask {
        let due = if self.random.once_in(8) { When::In(2) } else { When::Now };
        Ask::Publish { to, due, bytes: 2, max_attempts: None, expires_ms: None, dedupe: None }
    }

    /// A pick that is the first stream, and any of the queues that are there, most of the time.
    fn home(&self) -> Pick {
        let pick = self.random.next_u64() as Pick;
        if self.random.once_in(6) { pick } else { pick & !0xff }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_makes_the_same_script_again_and_each_its_own() {
        let text = |seed| format!("{:?}", script(seed));
        assert_eq!(text(7), text(7));
        assert_ne!(text(7), text(8));
    }
}
