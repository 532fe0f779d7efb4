//! Random scripts: what may be asked of an engine, in any order, right and wrong.
//!
//! Lives here: the lines of a script and the making of one from a seed. A line names queues, events
//! and holds by picks among those that the script itself made so far, so any part of a script is a
//! script. Not here: playing it (`play.rs`).

use naven_api::{Backoff, ErrorText};

use super::random::SeededRandom;
use crate::queue::{QueueChanges, QueueSettings};
use crate::txn::SettleStep;

/// Most lines of one script.
pub const LINES_MAX: u32 = 60;
/// Names that queues of scripts go by.
pub const NAMES: [&str; 4] = ["a", "ab", "b", "c"];

/// A choice among what is there when the line is played.
pub type Pick = u32;

/// One line.
#[derive(Debug, Clone)]
pub enum Line {
    /// Time goes on by so many ms.
    Advance(i64),
    /// The wall clock alone steps by so many ms.
    StepWall(i64),
    /// One transaction.
    Submit {
        /// True where one refusal undoes all.
        all_or_nothing: bool,
        /// Its ops.
        asks: Vec<Ask>,
    },
    /// A read outside of any transaction, page by page to its end.
    Look(Look),
    /// The sweeper comes by.
    Tend,
}

/// One op.
#[derive(Debug, Clone)]
pub enum Ask {
    /// Make a queue of the n-th name.
    Create(usize, Box<QueueSettings>),
    /// Publish.
    Publish {
        /// Where to.
        queue: Pick,
        /// When it is due.
        due: When,
        /// How large it is.
        bytes: usize,
        /// Its own bound on attempts.
        max_attempts: Option<u32>,
    },
    /// Claim.
    Claim {
        /// From where.
        queue: Pick,
        /// At most so many.
        max: u32,
        /// For so long; none: the queue's.
        seconds: Option<u32>,
        /// At most so many bytes.
        max_bytes: usize,
    },
    /// A holder's word.
    Settle {
        /// Which hold's event.
        hold: Pick,
        /// Under which proof.
        proof: ProofAsk,
        /// What it says.
        step: SettleStep,
    },
    /// Change settings.
    Patch(Pick, Box<QueueChanges>),
    /// Stop handing out, with or without a reason.
    Pause(Pick, bool),
    /// Go on.
    Resume(Pick),
    /// Delete, by force or not.
    Delete(Pick, bool),
    /// A dead letter's way back.
    Redrive {
        /// Which event.
        event: Pick,
        /// True where attempts begin anew.
        reset_attempts: bool,
    },
    /// Give up what somebody holds or held: what nobody ever held no door asks to bury.
    Bury(Pick),
    /// Store a key under the n-th name.
    PutKey(usize),
    /// A read inside the transaction.
    Look(Look),
}

/// When an event is due.
#[derive(Debug, Clone, Copy)]
pub enum When {
    /// At once.
    Now,
    /// In so many seconds.
    In(u32),
    /// At the wall's time and so many ms, which may be negative.
    At(i64),
}

/// What a caller offers as proof.
#[derive(Debug, Clone, Copy)]
pub enum ProofAsk {
    /// The hold's own token, stale or not.
    Token,
    /// Another hold's token.
    Foreign(Pick),
    /// No token at all.
    Nonsense,
    /// The hold's round and fence, the latter moved by so much.
    Fence(u64),
    /// An operator's right.
    Operator,
}

/// A read.
#[derive(Debug, Clone, Copy)]
pub enum Look {
    /// One queue.
    Queue(Pick),
    /// Queues whose names begin with the n-th prefix, in pages of so many.
    Queues(usize, u32),
    /// One event, with its payload or without.
    Event(Pick, bool),
    /// Dead letters in pages of so many.
    DeadLetters(Pick, u32),
    /// A list under a cursor that nobody gave out.
    BadCursor(Pick),
    /// Keys.
    Keys,
    /// The engine itself.
    System,
}

/// The script of `seed`. It begins with a queue and an event, as most of its lines need both.
pub fn script(seed: u64) -> Vec<Line> {
    let random = SeededRandom::new(seed);
    let publish = Ask::Publish { queue: 0, due: When::Now, bytes: 2, max_attempts: None };
    let first = vec![Ask::Create(0, Box::new(settings(&random))), publish];
    let mut lines = vec![Line::Submit { all_or_nothing: false, asks: first }];
    let length = 1 + random.below(LINES_MAX - 1);
    lines.extend((1..=length).map(|_| line(&random)));
    lines
}

fn line(random: &SeededRandom) -> Line {
    match random.below(100) {
        0..18 => Line::Advance(span_ms(random)),
        18..22 => Line::StepWall(random.one_of(&[-1, 1]) * span_ms(random)),
        22..27 => Line::Tend,
        27..39 => Line::Look(look(random)),
        39..88 => Line::Submit { all_or_nothing: random.once_in(2), asks: vec![ask(random)] },
        _ => {
            let asks = (0..2 + random.below(4)).map(|_| ask(random)).collect();
            Line::Submit { all_or_nothing: random.once_in(2), asks }
        }
    }
}

/// Spans that often meet the ends of leases, delays and graces to the ms.
fn span_ms(random: &SeededRandom) -> i64 {
    match random.below(8) {
        0 => i64::from(random.below(10_000)),
        1 => i64::from(random.below(3)),
        _ => random.one_of(&[1_000, 1_000, 2_000, 3_000, 5_000, 10_000, 60_000, 3_600_000]),
    }
}

fn settings(random: &SeededRandom) -> QueueSettings {
    QueueSettings {
        description: String::new(),
        default_lease: random.one_of(&[1, 2, 5, 30]).try_into().expect("a lease within its bounds"),
        max_lease_seconds: random.one_of(&[0, 0, 3, 10]),
        max_attempts: random.one_of(&[None, Some(1), Some(2), Some(3)]),
        backoff: Backoff {
            initial_seconds: random.one_of(&[0, 1, 5]),
            factor_milli: random.one_of(&[1_000, 2_000]),
            max_seconds: random.one_of(&[5, 3_600]),
            jitter_milli: random.one_of(&[0, 0, 500, 1_000]),
        },
        late_ack_grace_seconds: random.one_of(&[0, 0, 2, 10]),
        ..QueueSettings::default()
    }
}

fn ask(random: &SeededRandom) -> Ask {
    let pick = || random.next_u64() as Pick;
    match random.below(100) {
        0..5 => Ask::Create(random.below(4) as usize, Box::new(settings(random))),
        5..30 => Ask::Publish {
            queue: pick(),
            due: when(random),
            bytes: random.one_of(&[2, 2, 10, 300]),
            max_attempts: random.one_of(&[None, None, None, Some(1), Some(2)]),
        },
        30..53 => Ask::Claim {
            queue: pick(),
            max: random.one_of(&[1, 1, 2, 5, 100]),
            seconds: random.one_of(&[None, Some(1), Some(2), Some(5), Some(3_600)]),
            max_bytes: random.one_of(&[usize::MAX, usize::MAX, 0, 20]),
        },
        53..82 => Ask::Settle { hold: pick(), proof: proof(random), step: step(random) },
        82..85 => Ask::Patch(pick(), Box::new(changes(random))),
        85..87 => Ask::Pause(pick(), random.once_in(2)),
        87..90 => Ask::Resume(pick()),
        90..92 => Ask::Delete(pick(), random.once_in(3)),
        92..96 => Ask::Redrive { event: pick(), reset_attempts: !random.once_in(3) },
        96 => Ask::Bury(pick()),
        97 => Ask::PutKey(random.below(3) as usize),
        _ => Ask::Look(look(random)),
    }
}

fn when(random: &SeededRandom) -> When {
    match random.below(4) {
        0 => When::In(random.one_of(&[0, 1, 2, 5, 60])),
        1 => When::At(random.one_of(&[-5_000, -1, 0, 1, 1_000, 2_500, 3_600_000])),
        _ => When::Now,
    }
}

fn proof(random: &SeededRandom) -> ProofAsk {
    match random.below(16) {
        0 => ProofAsk::Foreign(random.next_u64() as Pick),
        1 => ProofAsk::Nonsense,
        2 => ProofAsk::Fence(0),
        3 => ProofAsk::Fence(1),
        4 => ProofAsk::Operator,
        _ => ProofAsk::Token,
    }
}

fn step(random: &SeededRandom) -> SettleStep {
    let error = || random.once_in(2).then(|| ErrorText::new("what went wrong"));
    let seconds = [None, None, Some(1), Some(5)];
    match random.below(16) {
        0..5 => SettleStep::Ack,
        5..9 => {
            let delay = random.one_of(&[None, None, Some(0), Some(1), Some(5)]);
            let delay = delay.map(|seconds| seconds.try_into().expect("a delay within its bounds"));
            SettleStep::Fail { error: error(), delay }
        }
        9 => SettleStep::Fatal { error: error() },
        10..12 => SettleStep::Release { error: error() },
        12 => SettleStep::GiveBack,
        _ => SettleStep::Extend(
            random.one_of(&seconds).map(|seconds| seconds.try_into().expect("a lease within its bounds")),
        ),
    }
}

fn changes(random: &SeededRandom) -> QueueChanges {
    let to = settings(random);
    QueueChanges {
        description: random.once_in(4).then(|| "changed".to_owned()),
        default_lease: random.once_in(3).then_some(to.default_lease),
        max_lease_seconds: random.once_in(3).then_some(to.max_lease_seconds),
        max_attempts: random.once_in(3).then_some(to.max_attempts),
        backoff: random.once_in(3).then_some(to.backoff),
        late_ack_grace_seconds: random.once_in(3).then_some(to.late_ack_grace_seconds),
        ..QueueChanges::default()
    }
}

fn look(random: &SeededRandom) -> Look {
    let pick = random.next_u64() as Pick;
    let limit = random.one_of(&[1, 2, 3, 500]);
    match random.below(16) {
        0..4 => Look::Queue(pick),
        4..6 => Look::Queues(random.below(3) as usize, limit),
        6..10 => Look::Event(pick, random.once_in(2)),
        10..13 => Look::DeadLetters(pick, limit),
        13 => Look::BadCursor(pick),
        14 => Look::Keys,
        _ => Look::System,
    }
}
