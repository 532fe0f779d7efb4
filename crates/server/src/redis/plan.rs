//! What a call of a command comes to, before it is run.
//!
//! Lives here: plans, what they ask of the engine, and the rights that this takes. Not here: the commands
//! (`commands`), and who runs plans (`run.rs`, `transaction.rs`).
//!
//! A command's `parse` looks at its arguments alone and gives a [`Plan`]. A plan asks the engine at most
//! once, for one or more ops of one transaction, and turns their answers into the reply. So calls that were
//! sent together are submitted together, and those between MULTI and EXEC are one transaction.

use std::time::Duration;

use bytes::Bytes;
use naven_api::{QueueId, Scope};
use naven_store::BoxFuture;
use naven_store::reply::{OpError, OpReply};
use naven_store::txn::OpKind;

use super::door::RedisDoor;
use super::frame::{Protocol, Reply, Request};
use super::session::Session;
use crate::auth::Caller;
use crate::config::ServerLimits;

/// What a parser may look at besides the call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting<'a> {
    pub(crate) limits: &'a ServerLimits,
}

/// Reads one command's arguments; the name and the number of parts were checked against the command table.
/// The error is the reply.
pub(crate) type Parse = fn(&Request, Setting<'_>) -> Result<Plan, Reply>;

/// What a call comes to.
pub(crate) enum Plan {
    /// The answer, for which the engine is not needed.
    Reply(Reply),
    /// Ask the engine, then answer.
    Ask(Asking),
    /// Ask the engine, and perhaps wait until it has something.
    Wait(Box<dyn Waiting>),
    /// Something about the connection or the server itself, for which the engine is not needed.
    Session(Box<dyn FnOnce(&mut Session) -> Reply + Send>),
    /// Something that asks the engine more than once: what has no one point of the order.
    Door(Box<dyn AtDoor>),
    /// What begins, ends or watches a transaction.
    Transaction(Step),
}

/// A call that asks the engine as often as it likes.
pub(crate) trait AtDoor: Send {
    /// Does it. The command's name is for refusals.
    fn run<'a>(
        self: Box<Self>,
        door: &'a RedisDoor,
        caller: &'a Caller,
        name: &'a str,
    ) -> BoxFuture<'a, Reply>;
}

/// A step of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    Multi,
    Exec,
    Discard,
    Watch(Vec<Bytes>),
    Unwatch,
}

/// One answer of the engine. Where the caller's key does not reach what is touched, it is that of a stream or
/// a queue that is not there.
pub(crate) type Answer = Result<OpReply, OpError>;

/// Questions to the engine, and what is made of the answers.
pub(crate) struct Asking {
    pub(crate) asks: Vec<Ask>,
    /// Makes the reply of one answer for each of `asks`, in order.
    pub(crate) reply: Box<dyn FnOnce(Vec<Answer>, Protocol) -> Reply + Send>,
}

/// One op, and what it takes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ask {
    pub(crate) kind: OpKind,
    pub(crate) needs: Vec<Need>,
    /// What the audit log says of it: the action, and on what; none: nothing.
    pub(crate) note: Option<(&'static str, String)>,
}

/// A right on one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Need {
    pub(crate) scope: Scope,
    pub(crate) on: Touched,
}

/// What a right is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Touched {
    /// A stream, there or not.
    Stream(Bytes),
    /// What is called `group` on `stream`, there or not.
    Group { stream: Bytes, group: Bytes },
}

impl Ask {
    /// `kind`, which needs `scope` on the stream `stream`.
    pub(crate) fn on_stream(kind: OpKind, scope: Scope, stream: Bytes) -> Self {
        Self { kind, needs: vec![Need { scope, on: Touched::Stream(stream) }], note: None }
    }

    /// `kind`, which needs `scope` on the group `group` of `stream`.
    pub(crate) fn on_group(kind: OpKind, scope: Scope, stream: Bytes, group: Bytes) -> Self {
        Self { kind, needs: vec![Need { scope, on: Touched::Group { stream, group } }], note: None }
    }

    /// The same, of which the audit log tells.
    pub(crate) fn noted(self, action: &'static str, on: impl Into<String>) -> Self {
        Self { note: Some((action, on.into())), ..self }
    }
}

impl Plan {
    /// Ask once, for one op.
    pub(crate) fn ask(ask: Ask, reply: impl FnOnce(Answer, Protocol) -> Reply + Send + 'static) -> Self {
        Self::asks(vec![ask], move |answers, protocol| {
            reply(answers.into_iter().next().unwrap_or(Err(OpError::Unknown)), protocol)
        })
    }

    /// Something about the connection or the server itself.
    pub(crate) fn session(run: impl FnOnce(&mut Session) -> Reply + Send + 'static) -> Self {
        Self::Session(Box::new(run))
    }

    /// Ask once, for several ops.
    pub(crate) fn asks(
        asks: Vec<Ask>,
        reply: impl FnOnce(Vec<Answer>, Protocol) -> Reply + Send + 'static,
    ) -> Self {
        Self::Ask(Asking { asks, reply: Box::new(reply) })
    }
}

/// A call that may wait for something to read. It is tried at once; where nothing was found it is tried again
/// whenever something may be there, until its time is over.
pub(crate) trait Waiting: Send {
    /// What one try asks the engine.
    fn asks(&self) -> Vec<Ask>;

    /// What a try's answers come to. What has to be fixed at the first try (`$`) is fixed here.
    fn tried(&mut self, answers: Vec<Answer>, protocol: Protocol) -> Tried;

    /// For how long it waits in all, from its arrival; none: it does not wait.
    fn patience(&self) -> Option<BlockFor>;

    /// What is answered where nothing came.
    fn empty(&self) -> Reply {
        Reply::NullArray
    }
}

/// For how long a call waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockFor {
    /// For this long at most.
    Time(Duration),
    /// Until something comes (`BLOCK 0`).
    Ever,
}

/// What a try came to.
pub(crate) enum Tried {
    /// The reply, an error too: the call is over.
    Over(Reply),
    /// Nothing yet.
    Nothing(Wake),
}

/// When to try again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Wake {
    /// At a hint of any of these queues.
    pub(crate) queues: Vec<QueueId>,
    /// At a hint of any of these streams.
    pub(crate) streams: Vec<Bytes>,
    /// After this long in any case.
    pub(crate) due_in: Option<Duration>,
}
