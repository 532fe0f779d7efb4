//! Random scripts: what may be asked of an engine, in any order, right and wrong.
//!
//! Lives here: the lines of a script. A line names streams, queues, events and holds by picks among
//! those that the script itself made so far, so any part of a script is a script. Not here: the making
//! of one from a seed (`draw.rs`), playing it (`play.rs`).

use super::dead_asks::{DeadAsk, DeadLook};
use super::entry_asks::EntryAsk;
use super::event_looks::EventLook;
use super::group_asks::GroupAsk;
use super::reader_asks::{PendingLook, ReaderAsk};
use crate::key::KeyCondition;
use crate::queue::{QueueChanges, QueueSettings, StreamChanges};
use crate::txn::SettleStep;

/// Most lines of one script.
pub const LINES_MAX: u32 = 60;
/// Names that queues of scripts go by.
pub const NAMES: [&str; 4] = ["a", "ab", "b", "c"];
/// Names that shared streams of scripts go by.
pub const STREAMS: [&str; 2] = ["s", "st"];

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
    Create {
        /// Its name.
        name: usize,
        /// Its settings.
        settings: Box<QueueSettings>,
        /// On which stream, and from where; none: on one of its own.
        on: Option<(Pick, FromAsk)>,
        /// What the stream is asked to do.
        stream: StreamChanges,
    },
    /// Publish.
    Publish {
        /// Where to.
        to: To,
        /// When it is due.
        due: When,
        /// How large it is.
        bytes: usize,
        /// Its own bound on attempts.
        max_attempts: Option<u32>,
        /// When it is of no use any more, so many ms from now.
        expires_ms: Option<i64>,
        /// The number of its dedupe key, where it has one.
        dedupe: Option<u8>,
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
    /// Something of entries by their places.
    Reader(ReaderAsk),
    /// Delete a Redis consumer, by the number of its name.
    DeleteConsumer(Pick, u8),
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
    Patch(Pick, Box<QueueChanges>, StreamChanges),
    /// Go back or forward.
    Reset(Pick, FromAsk),
    /// Stop handing out, with or without a reason.
    Pause(Pick, bool),
    /// Go on.
    Resume(Pick),
    /// Delete a queue, by force or not.
    Delete(Pick, bool),
    /// Delete a stream, by force or not.
    DeleteStream(Pick, bool),
    /// Leave so many entries of a stream, and drop at most so many.
    Trim(Pick, u64, Option<u64>),
    /// Drop what lies before an event's place.
    TrimBefore(Pick, Pick),
    /// Drop an event's entry.
    DeleteEntry(Pick, Pick),
    /// The same op under an idempotency key, and whether the request is the usual one for that key.
    Once(u8, bool, Box<Ask>),
    /// A dead letter's way back.
    Redrive {
        /// Which event.
        event: Pick,
        /// In which queue; none: in its only one.
        queue: Option<Pick>,
        /// True where attempts begin anew.
        reset_attempts: bool,
    },
    /// Call an event off, in a queue or in its only one, with or without a reason.
    Cancel(Pick, Option<Pick>, bool),
    /// Another due time or bound on attempts, in a queue or in all.
    Reschedule {
        /// Which event.
        event: Pick,
        /// In which queue; none: in its only one, or in all.
        queue: Option<Pick>,
        /// When it is due.
        due: Option<When>,
        /// Its own bound on attempts.
        max_attempts: Option<Option<u32>>,
    },
    /// It is due now, in a queue or in all.
    RunNow(Pick, Option<Pick>),
    /// Give up what somebody holds or held: what nobody ever held no door asks to bury.
    Bury(Pick),
    /// Something of dead letters or operations.
    Dead(DeadAsk),
    /// Something of a group.
    Group(GroupAsk),
    /// Something of a stream's entries.
    Entry(EntryAsk),
    /// Store a key under the n-th name.
    PutKey(usize, KeyCondition),
    /// Forget the key of the n-th name.
    DeleteKey(usize, Option<u64>),
    /// A read inside the transaction.
    Look(Look),
}

/// Where an event goes.
#[derive(Debug, Clone, Copy)]
pub enum To {
    /// To all queues of a stream.
    Stream(Pick),
    /// To one queue.
    Queue(Pick),
}

/// Where a queue begins to read.
#[derive(Debug, Clone, Copy)]
pub enum FromAsk {
    /// Behind the last entry.
    New,
    /// At the first entry.
    Start,
    /// At the wall's time and so many ms, which may be negative.
    At(i64),
    /// Behind an event's place.
    After(Pick),
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
    /// The hold's own token, from a caller who may settle in its queue alone, or in none.
    Among(bool),
    /// Another hold's token.
    Foreign(Pick),
    /// No token at all.
    Nonsense,
    /// The hold's round and fence, the latter moved by so much.
    Fence(u64),
    /// None: a reader of the hold's queue.
    Group,
    /// An operator's right, naming the hold's queue or none.
    Operator(bool),
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
    /// One stream.
    Stream(Pick),
    /// Streams whose names begin with the n-th prefix, in pages of so many.
    Streams(usize, u32),
    /// Entries of a stream between two events' places, at most so many.
    Entries {
        /// Of which stream.
        stream: Pick,
        /// From which event on; none: from the first.
        start: Option<Pick>,
        /// Up to which event; none: to the last.
        end: Option<Pick>,
        /// The last first.
        reverse: bool,
        /// At most so many.
        limit: u32,
    },
    /// The queues of a stream.
    Groups(Pick),
    /// Something of dead letters or operations.
    Dead(DeadLook),
    /// Events of a queue.
    Events(EventLook),
    /// What is pending.
    Pending(PendingLook),
    /// A list under a cursor that nobody gave out.
    BadCursor(Pick),
    /// Keys.
    Keys,
    /// The engine itself.
    System,
}
