//! Asking the engine for what calls need.
//!
//! Lives here: ops out of asks, their answers in the order of the asks, and calls that are submitted together.
//! Not here: rights (`rights.rs`), transactions (`transaction.rs`).

use bytes::Bytes;
use naven_store::reply::{OpError, OpReply};
use naven_store::txn::{Op, OpKind, ReaderOp, StreamRef, Txn};

use super::frame::{Output, Protocol, Reply};
use super::plan::{Answer, Ask};
use super::rights::{Right, right};
use crate::auth::Caller;
use crate::node::Node;

/// Most calls that are submitted together.
const BATCH_CALLS_MAX: usize = 128;
/// Most bytes of them, on the wire: the call that steps over it is the last one.
const BATCH_BYTES_MAX: usize = 1024 * 1024;

/// The ops of one call, and which of its answers are known without the engine.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) ops: Vec<Op>,
    known: Vec<Option<Answer>>,
}

impl Prepared {
    /// What `caller`, who calls the command `name`, may have of `asks`.
    ///
    /// # Errors
    /// The reply, where a scope is missing.
    pub(crate) async fn of(node: &Node, caller: &Caller, asks: Vec<Ask>, name: &str) -> Result<Self, Reply> {
        let (mut ops, mut known) = (Vec::with_capacity(asks.len()), Vec::with_capacity(asks.len()));
        for ask in asks {
            match right(node, caller, &ask, name).await {
                Right::Given => {
                    let audit = ask.note.map(|(action, on)| caller.note(action, on));
                    ops.push(Op { audit, ..Op::plain(ask.kind) });
                    known.push(None);
                }
                Right::Unseen(error) => known.push(Some(Err(error))),
                Right::Refused(reply) => return Err(reply),
            }
        }
        Ok(Self { ops, known })
    }

    /// The answers in the order of the asks; `answered` are those of the ops.
    pub(crate) fn answers(
        known: Vec<Option<Answer>>,
        answered: &mut impl Iterator<Item = Answer>,
    ) -> Vec<Answer> {
        let next = |known: Option<Answer>| known.or_else(|| answered.next()).unwrap_or(Err(OpError::Unknown));
        known.into_iter().map(next).collect()
    }

    /// Ops and known answers.
    pub(crate) fn apart(self) -> (Vec<Op>, Vec<Option<Answer>>) {
        (self.ops, self.known)
    }

    /// Asks now, in one transaction.
    pub(crate) async fn ask(self, node: &Node) -> Vec<Answer> {
        let (ops, known) = self.apart();
        let mut answered = submit(node, vec![ops]).await.into_iter().flatten();
        Self::answers(known, &mut answered)
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
    Asked { known: Vec<Option<Answer>>, count: usize, reply: MakeReply },
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
        let (ops, known) = prepared.apart();
        self.bytes += bytes;
        // Replies are held in memory until the client takes them, so there is one large one at a time.
        self.is_large |= ops.iter().any(|op| may_be_large(&op.kind));
        self.calls.push(Call::Asked { known, count: ops.len(), reply });
        self.txns.push(ops);
    }

    /// Asks for all of it and writes the replies, in order.
    pub(crate) async fn answer(&mut self, node: &Node, out: &mut Output) {
        let Self { calls, txns, .. } = std::mem::take(self);
        let mut answers = if txns.is_empty() { Vec::new() } else { submit(node, txns).await }.into_iter();
        for call in calls {
            match call {
                Call::Ready(reply) => out.push(&reply),
                Call::Asked { known, count, reply } => {
                    let mut answered =
                        answers.next().unwrap_or_else(|| vec![Err(OpError::Unknown); count]).into_iter();
                    let reply = reply(Prepared::answers(known, &mut answered), out.protocol());
                    out.push(&reply);
                }
            }
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
