//! Asking the engine for what calls need.
//!
//! Lives here: ops out of asks, their answers in the order of the asks, and calls that are submitted together.
//! Not here: rights (`rights.rs`), transactions (`transaction.rs`).

use bytes::Bytes;
use naven_core::planted::{Bug, has};
use naven_store::reply::{OpError, OpReply};
use naven_store::txn::{Op, OpKind, ReaderOp, StreamRef, Txn};

use super::frame::{Output, Protocol, Reply};
use super::large::room_for;
use super::plan::{Answer, Ask};
use super::rights::{Right, is_list, right, seen};
use crate::auth::Caller;
use crate::node::Node;
use crate::room::Taken;

/// Most calls that are submitted together.
const BATCH_CALLS_MAX: usize = 128;
/// Most bytes of them, on the wire: the call that steps over it is the last one.
const BATCH_BYTES_MAX: usize = 1024 * 1024;

/// The ops of one call, and from where each of its answers comes.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) ops: Vec<Op>,
    turns: Vec<Turn>,
}

/// Where an answer comes from.
#[derive(Debug)]
pub(crate) enum Turn {
    /// It is known without the engine.
    Known(Answer),
    /// It is the engine's.
    Asked,
    /// It is the engine's, as far as this caller may see it.
    Seen(Caller),
}

impl Prepared {
    /// What `caller`, who calls the command `name`, may have of `asks`.
    ///
    /// # Errors
    /// The reply, where a scope is missing.
    pub(crate) async fn of(node: &Node, caller: &Caller, asks: Vec<Ask>, name: &str) -> Result<Self, Reply> {
        let (mut ops, mut turns) = (Vec::with_capacity(asks.len()), Vec::with_capacity(asks.len()));
        for ask in asks {
            match right(node, caller, &ask, name).await {
                Right::Given => {
                    let audit = ask.note.map(|(action, on)| caller.note(action, on));
                    let is_whole = caller.reaches_all() || !is_list(&ask.kind);
                    turns.push(if is_whole { Turn::Asked } else { Turn::Seen(caller.clone()) });
                    ops.push(Op { audit, ..Op::plain(ask.kind) });
                }
                Right::Unseen(error) => turns.push(Turn::Known(Err(error))),
                Right::Refused(reply) => return Err(reply),
            }
        }
        Ok(Self { ops, turns })
    }

    /// The answers in the order of the asks; `answered` are those of the ops.
    pub(crate) fn answers(turns: Vec<Turn>, answered: &mut impl Iterator<Item = Answer>) -> Vec<Answer> {
        let mut next = || answered.next().unwrap_or(Err(OpError::Unknown));
        let answer = |turn| match turn {
            Turn::Known(answer) => answer,
            Turn::Asked => next(),
            Turn::Seen(caller) => seen(&caller, next()),
        };
        turns.into_iter().map(answer).collect()
    }

    /// Ops, and where the answers come from.
    pub(crate) fn apart(self) -> (Vec<Op>, Vec<Turn>) {
        (self.ops, self.turns)
    }

    /// Asks now, in one transaction; with the room that the answers take.
    ///
    /// # Errors
    /// The reply, where there was no room for the answers.
    pub(crate) async fn ask(self, node: &Node) -> Result<(Vec<Answer>, Taken), Reply> {
        let (ops, turns) = self.apart();
        let room = room_for(node, &ops).await?;
        let mut answered = submit(node, vec![ops]).await.into_iter().flatten();
        Ok((Self::answers(turns, &mut answered), room))
    }

    /// True where the answers may be large.
    pub(crate) fn is_large(&self) -> bool {
        self.ops.iter().any(|op| may_be_large(&op.kind))
    }
}

/// The answers of each transaction of `ops`.
async fn submit(node: &Node, mut txns: Vec<Vec<Op>>) -> Vec<Vec<Answer>> {
    if let [ops] = txns.as_mut_slice()
        && let [Op { kind: OpKind::Read(_), audit: None, .. }] = ops.as_slice()
        && let Some(Op { kind: OpKind::Read(read), .. }) = ops.pop()
    {
        // A question by itself has no place in the order of writes.
        return vec![vec![node.engine.read(read).await.map(|page| OpReply::Page(Box::new(page)))]];
    }
    if txns.iter().all(Vec::is_empty) {
        return vec![Vec::new(); txns.len()];
    }
    let txns = txns.into_iter().map(|ops| Txn { ops, ..Txn::each([]) }).collect();
    node.engine.submit(txns).await.into_iter().map(|reply| reply.ops).collect()
}

/// Asks for one transaction that is refused as a whole where a watched stream has changed.
pub(crate) async fn submit_watching(node: &Node, ops: Vec<Op>, watch: Vec<(StreamRef, u64)>) -> Vec<Answer> {
    let count = ops.len();
    let reply = node.engine.submit(vec![Txn { ops, watch, ..Txn::each([]) }]).await.pop();
    reply.map_or_else(|| vec![Err(OpError::Unknown); count], |reply| reply.ops)
}

type MakeReply = Box<dyn FnOnce(Vec<Answer>, Protocol) -> Reply + Send>;

/// A call whose reply has its place behind those before it.
enum Call {
    Ready(Reply),
    Asked { turns: Vec<Turn>, count: usize, reply: MakeReply },
}

/// Calls that are answered together.
#[derive(Default)]
pub(crate) struct Batch {
    calls: Vec<Call>,
    txns: Vec<Vec<Op>>,
    bytes: usize,
    /// True where its last call may have a large answer.
    is_large: bool,
}

impl Batch {
    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// True where no more calls should be added.
    pub(crate) fn is_full(&self) -> bool {
        self.is_large || self.calls.len() >= BATCH_CALLS_MAX || self.bytes >= BATCH_BYTES_MAX
    }

    /// Answers with `reply` in its turn.
    pub(crate) fn push_reply(&mut self, reply: Reply) {
        self.calls.push(Call::Ready(reply));
    }

    /// Asks and answers in its turn. `bytes` is what the call measures.
    pub(crate) fn push(&mut self, prepared: Prepared, reply: MakeReply, bytes: usize) {
        // Replies are held in memory until the client takes them, so there is one large one at a time.
        self.is_large |= prepared.is_large();
        let (ops, turns) = prepared.apart();
        self.bytes += bytes;
        self.calls.push(Call::Asked { turns, count: ops.len(), reply });
        self.txns.push(ops);
    }

    /// Asks for all of it and writes the replies, in order.
    pub(crate) async fn answer(&mut self, node: &Node, out: &mut Output) {
        let Self { mut calls, txns, is_large, .. } = std::mem::take(self);
        let room = if is_large { room_for(node, txns.iter().flatten()).await.map(Some) } else { Ok(None) };
        let (mut room, txns) = match room {
            Ok(room) => (room, txns),
            Err(reply) => return refuse(calls, &reply, out),
        };
        if has(Bug::RepliesSwapped) && matches!(calls[..], [Call::Asked { .. }, Call::Ready(_), ..]) {
            calls.swap(0, 1);
        }
        let mut answers = if txns.is_empty() { Vec::new() } else { submit(node, txns).await }.into_iter();
        for call in calls {
            match call {
                Call::Ready(reply) => out.push(&reply),
                Call::Asked { turns, count, reply } => {
                    let mut answered =
                        answers.next().unwrap_or_else(|| vec![Err(OpError::Unknown); count]).into_iter();
                    let reply = reply(Prepared::answers(turns, &mut answered), out.protocol());
                    // The one that may be large is the last one.
                    match room.take_if(|_| answers.len() == 0) {
                        Some(room) => out.push_large(&reply, room),
                        None => out.push(&reply),
                    }
                }
            }
        }
    }
}

/// Refuses what was to be asked.
fn refuse(calls: Vec<Call>, reply: &Reply, out: &mut Output) {
    for call in calls {
        match call {
            Call::Ready(reply) => out.push(&reply),
            Call::Asked { .. } => out.push(reply),
        }
    }
}

fn may_be_large(kind: &OpKind) -> bool {
    matches!(
        kind,
        OpKind::Read(_)
            | OpKind::Reader(ReaderOp::Read(_) | ReaderOp::Transfer(_) | ReaderOp::ScanTransfer(_))
    )
}

/// What the parts of a call measure together.
pub(crate) fn measure(parts: &[Bytes]) -> usize {
    parts.iter().map(Bytes::len).sum()
}
