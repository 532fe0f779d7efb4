//! One transaction, start to end: apply each command, undo where all must hold.
//!
//! Lives here: the dispatch. Not here: what each command does (its own file).

use bytes::Bytes;
use naven_api::QueueId;
use naven_core::Now;

use super::context::Context;
use super::telling::Telling;
use crate::embedded::command::{Command, Recorded};
use crate::embedded::tables::{Journaled, Tables};
use crate::feed::Change;
use crate::reply::{OpError, OpReply};
use crate::token::TokenKey;

/// What a transaction did.
#[derive(Debug)]
pub(crate) struct Applied {
    /// An answer for each command, in order.
    pub(crate) replies: Vec<Result<OpReply, OpError>>,
    /// True where a row changed: only then does the log need to hold it.
    pub(crate) changed: bool,
    /// Queues in which something may have become claimable.
    pub(crate) hints: Vec<QueueId>,
    /// Streams to which an entry may have come.
    pub(crate) streams: Vec<Bytes>,
    /// What became of deliveries, where somebody listens.
    pub(crate) changes: Vec<Change>,
    /// Rows that a tending moved, and whether more wait.
    pub(crate) tended: (u64, bool),
}

/// Applies `txn` at `now`, at one point of the order. Nobody is told of it.
pub(crate) fn apply<T: Tables>(
    tables: &mut Journaled<T>,
    txn: &Recorded,
    now: Now,
    tokens: Option<&TokenKey>,
) -> Applied {
    apply_telling(tables, txn, now, tokens, false)
}

/// The same, and says what became of deliveries where it `tells`.
pub(crate) fn apply_telling<T: Tables>(
    tables: &mut Journaled<T>,
    txn: &Recorded,
    now: Now,
    tokens: Option<&TokenKey>,
    tells: bool,
) -> Applied {
    let writes = tables.writes();
    // Even one op alone may have placed what was due before it was refused.
    let undoable = txn.all_or_nothing;
    if undoable {
        tables.begin();
    }
    let mut context = Context::new(tables, now, tokens);
    context.told = tells.then(Telling::default);
    let mut tended = (0, false);
    let mut replies = Vec::with_capacity(txn.commands.len());
    for command in &txn.commands {
        let reply = context.run(command, &mut tended);
        let refused = reply.is_err();
        replies.push(reply);
        if refused && txn.all_or_nothing {
            break;
        }
    }
    let (mut hints, mut streams) = context.take_hints();
    let mut changes = context.take_told();
    if txn.all_or_nothing && replies.last().is_some_and(Result::is_err) {
        if undoable {
            tables.roll_back();
        }
        hints.clear();
        streams.clear();
        changes.clear();
        replies = undone(replies, txn.commands.len());
    } else if undoable {
        tables.keep();
    }
    Applied { replies, changed: tables.writes() != writes, hints, streams, changes, tended }
}

/// The answers of a transaction whose last answer so far is a refusal: it keeps its own, the others
/// say that they were undone.
fn undone(mut replies: Vec<Result<OpReply, OpError>>, commands: usize) -> Vec<Result<OpReply, OpError>> {
    let refused = replies.pop();
    let at = replies.len();
    let undone = || Err(OpError::Undone);
    let mut answers: Vec<_> = std::iter::repeat_with(undone).take(at).collect();
    answers.extend(refused);
    answers.resize_with(commands, undone);
    answers
}

impl<T: Tables> Context<'_, T> {
    pub(super) fn run(&mut self, command: &Command, tended: &mut (u64, bool)) -> Result<OpReply, OpError> {
        match command {
            Command::Append(append) => self.append(append),
            Command::Claim { queue, hold, max, max_bytes, consumer } => {
                self.claim(queue, (*hold, consumer.as_ref()), (*max, *max_bytes))
            }
            Command::DeleteConsumer { queue, name } => self.delete_consumer(queue, name),
            Command::Settle { event, claimant, said } => self.settle(*event, claimant, said),
            Command::Create { id, name, settings, on, stream } => {
                self.create_queue((*id, name), settings, on.as_ref(), *stream)
            }
            Command::Patch { queue, changes, stream, revision } => {
                self.patch_queue(queue, changes, *stream, *revision)
            }
            Command::Reset { queue, from } => self.reset(queue, *from),
            Command::Pause { queue, reason } => self.pause_queue(queue, reason.as_deref()),
            Command::Resume { queue } => self.resume_queue(queue),
            Command::Delete { queue, force, reason, revision } => {
                self.delete_queue(queue, *force, *reason, *revision)
            }
            Command::DeleteStream { stream, force } => self.delete_stream(stream, *force),
            Command::Redrive { event, queue, reset_attempts } => {
                self.redrive(*event, queue.as_ref(), *reset_attempts)
            }
            Command::Bury { event, queue, reason } => self.bury(*event, queue.as_ref(), *reason),
            Command::MoveDead { event, queue, target } => self.move_dead(*event, queue.as_ref(), target),
            Command::Discard { event, queue } => self.discard(*event, queue),
            Command::StartOperation { id, queue, bulk } => self.start_operation(*id, queue, bulk),
            Command::CancelOperation { id } => self.cancel_operation(*id),
            Command::Cancel { event, queue, reason } => self.cancel(*event, queue.as_ref(), reason.as_ref()),
            Command::Reschedule { event, queue, due, max_attempts } => {
                self.reschedule(*event, queue.as_ref(), *due, *max_attempts)
            }
            Command::RunNow { event, queue } => self.run_now(*event, queue.as_ref()),
            Command::Trim(trim) => self.trim(trim),
            Command::DeleteEntries(delete) => self.delete_entries(delete),
            Command::Reader(op, draw) => self.reader(op, *draw),
            Command::SetId(set) => self.set_id(set),
            Command::Rename(rename) => self.rename(rename),
            Command::CreateGroup { id, stream, group, make_stream, start, entries_read } => {
                self.create_group(*id, (stream, group), *make_stream, (*start, *entries_read))
            }
            Command::SetPlace { queue, start, entries_read } => self.set_place(queue, *start, *entries_read),
            Command::MakeConsumer { queue, name } => self.make_named_consumer(queue, name),
            Command::Noted { note, command } => self.noted(note, command, tended),
            Command::Once { slot, command } => self.once(slot, command, tended),
            Command::PutKey { record, over } => self.put_key(record, *over),
            Command::DeleteKey { key, revision } => self.delete_key(*key, *revision),
            Command::Tend { rows } => {
                *tended = self.tend(*rows);
                Ok(OpReply::Done)
            }
            Command::Read(read) => self.page(read).map(|page| OpReply::Page(Box::new(page))),
            Command::Refused(error) => Err(error.clone()),
        }
    }
}
