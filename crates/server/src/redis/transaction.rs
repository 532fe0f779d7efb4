//! MULTI, EXEC and WATCH.
//!
//! Lives here: queueing calls, and running them as one transaction of the engine. Not here: single calls
//! (`connection.rs`).
//!
//! What calls ask of the engine once is asked at one point of the order, with nothing between. A call that asks
//! more than once (KEYS, SCAN, a flush) has no such point and runs behind it.

use naven_api::limits::REDIS_COMMAND_BYTES_MAX;
use naven_store::read::{Page, Read};
use naven_store::reply::{OpError, Refused};
use naven_store::txn::{Op, StreamRef};

use super::asked::{Prepared, Turn, measure, submit_watching};
use super::command::Command;
use super::commands::parser;
use super::frame::{Protocol, Reply, Request};
use super::large::room_for;
use super::plan::{Answer, AtDoor, Plan, Setting, Step, Tried, Waiting};
use super::refusal::refusal;
use super::session::{Session, Transaction};
use crate::auth::{Caller, Thing};
use crate::room::Taken;

/// Most calls of a transaction.
const CALLS_MAX: usize = 10_000;

/// A call of a transaction that has been asked for.
enum Item {
    Ready(Reply),
    Asked { turns: Vec<Turn>, reply: Box<dyn FnOnce(Vec<Answer>, Protocol) -> Reply + Send> },
    Tried { turns: Vec<Turn>, waiting: Box<dyn Waiting> },
    Session(Box<dyn FnOnce(&mut Session) -> Reply + Send>),
    Door(Box<dyn AtDoor>, &'static str),
}

impl Session {
    /// Keeps a call for EXEC.
    pub(crate) fn queue(&mut self, request: Request, command: &'static Command) -> Reply {
        let Some(transaction) = &mut self.transaction else { return Reply::error("ERR EXEC without MULTI") };
        let bytes = request.name().len() + measure(request.arguments());
        if transaction.calls.len() >= CALLS_MAX || transaction.bytes + bytes > REDIS_COMMAND_BYTES_MAX {
            transaction.is_refused = true;
            return Reply::error("ERR the transaction is too large");
        }
        transaction.bytes += bytes;
        if !transaction.is_refused {
            transaction.calls.push((request, command));
        }
        self.client.shown().queued = Some(transaction.calls.len());
        Reply::Simple("QUEUED".into())
    }

    /// A call between MULTI and EXEC was refused.
    pub(crate) fn refuse_transaction(&mut self) {
        if let Some(transaction) = &mut self.transaction {
            transaction.is_refused = true;
            transaction.calls.clear();
        }
    }

    /// Does a step of a transaction. `room` becomes what the reply takes.
    pub(crate) async fn step(&mut self, step: Step, room: &mut Option<Taken>) -> Reply {
        match step {
            Step::Multi => {
                self.transaction = Some(Transaction::default());
                self.client.shown().queued = Some(0);
                Reply::OK
            }
            Step::Discard => match self.end_transaction() {
                Some(_) => Reply::OK,
                None => Reply::error("ERR DISCARD without MULTI"),
            },
            Step::Exec => {
                let watched = std::mem::take(&mut self.watched);
                match self.end_transaction() {
                    Some(transaction) => self.exec(transaction, watched, room).await,
                    None => {
                        self.set_watched(watched);
                        Reply::error("ERR EXEC without MULTI")
                    }
                }
            }
            Step::Watch(keys) => self.watch(keys).await,
            Step::Unwatch => {
                self.set_watched(Vec::new());
                Reply::OK
            }
        }
    }

    fn end_transaction(&mut self) -> Option<Transaction> {
        let transaction = self.transaction.take()?;
        self.client.shown().queued = None;
        self.set_watched(Vec::new());
        Some(transaction)
    }

    fn set_watched(&mut self, watched: Vec<(StreamRef, u64)>) {
        self.client.shown().watched = watched.len();
        self.watched = watched;
    }

    async fn watch(&mut self, keys: Vec<bytes::Bytes>) -> Reply {
        let Some(caller) = self.caller_now() else { return Reply::error(super::words::NOAUTH) };
        let mut watched = std::mem::take(&mut self.watched);
        for key in keys {
            let stream = StreamRef(bytes::Bytes::copy_from_slice(&key));
            // What the key does not reach is as if it were not there, and stays so.
            let is_new = watched.iter().all(|(known, _)| *known != stream);
            if is_new && caller.reaches(Thing::Stream(&stream.0)) {
                match version(self, &stream).await {
                    Ok(version) => watched.push((stream, version)),
                    Err(error) => return refusal(&error),
                }
            }
        }
        self.set_watched(watched);
        Reply::OK
    }

    async fn exec(
        &mut self,
        transaction: Transaction,
        watched: Vec<(StreamRef, u64)>,
        room: &mut Option<Taken>,
    ) -> Reply {
        if transaction.is_refused {
            return Reply::error("EXECABORT Transaction discarded because of previous errors.");
        }
        let Some(caller) = self.caller_now() else { return Reply::error(super::words::NOAUTH) };
        let (mut items, mut ops) = (Vec::with_capacity(transaction.calls.len()), Vec::new());
        for (request, command) in transaction.calls {
            let (item, asked) = self.item(&caller, &request, command).await;
            items.push(item);
            ops.extend(asked);
        }
        let answered = if ops.is_empty() {
            for (stream, before) in &watched {
                match version(self, stream).await {
                    Ok(now) if now == *before => {}
                    Ok(_) => return Reply::NullArray,
                    Err(error) => return refusal(&error),
                }
            }
            Vec::new()
        } else {
            match room_for(&self.door.node, &ops).await {
                Ok(taken) => *room = Some(taken),
                Err(reply) => return reply,
            }
            submit_watching(&self.door.node, ops, watched).await
        };
        if answered.contains(&Err(OpError::Refused(Refused::Changed))) {
            return Reply::NullArray;
        }
        let mut answered = answered.into_iter();
        let mut replies = Vec::with_capacity(items.len());
        for item in items {
            replies.push(self.reply(&caller, item, &mut answered).await);
        }
        Reply::Array(replies)
    }

    async fn item(&self, caller: &Caller, request: &Request, command: &'static Command) -> (Item, Vec<Op>) {
        let setting = Setting { limits: &self.door.node.limits };
        let Some(parse) = parser(command.name) else {
            return (Item::Ready(super::words::unbuilt(command)), Vec::new());
        };
        let plan = parse(request, setting).unwrap_or_else(Plan::Reply);
        let node = &self.door.node;
        match plan {
            Plan::Reply(reply) => (Item::Ready(reply), Vec::new()),
            Plan::Ask(asking) => match Prepared::of(node, caller, asking.asks, command.name).await {
                Ok(prepared) => {
                    let (ops, turns) = prepared.apart();
                    (Item::Asked { turns, reply: asking.reply }, ops)
                }
                Err(reply) => (Item::Ready(reply), Vec::new()),
            },
            Plan::Wait(waiting) => match Prepared::of(node, caller, waiting.asks(), command.name).await {
                Ok(prepared) => {
                    let (ops, turns) = prepared.apart();
                    (Item::Tried { turns, waiting }, ops)
                }
                Err(reply) => (Item::Ready(reply), Vec::new()),
            },
            Plan::Session(run) => (Item::Session(run), Vec::new()),
            Plan::Door(at_door) => (Item::Door(at_door, command.name), Vec::new()),
            Plan::Transaction(Step::Unwatch) => (Item::Ready(Reply::OK), Vec::new()),
            Plan::Transaction(_) => (Item::Ready(Reply::error("ERR not inside a transaction")), Vec::new()),
        }
    }

    async fn reply(
        &mut self,
        caller: &Caller,
        item: Item,
        answered: &mut impl Iterator<Item = Answer>,
    ) -> Reply {
        match item {
            Item::Ready(reply) => reply,
            Item::Asked { turns, reply } => reply(Prepared::answers(turns, answered), self.protocol),
            Item::Tried { turns, mut waiting } => {
                match waiting.tried(Prepared::answers(turns, answered), self.protocol) {
                    Tried::Over(reply) => reply,
                    Tried::Nothing(_) => waiting.empty(),
                }
            }
            Item::Session(run) => run(self),
            Item::Door(at_door, name) => at_door.run(&self.door, caller, name).await,
        }
    }
}

/// The version of a stream, 0 where it is not there.
async fn version(session: &Session, stream: &StreamRef) -> Result<u64, OpError> {
    match session.door.node.engine.read(Read::Stream(stream.clone())).await {
        Ok(Page::Stream(view)) => Ok(view.version),
        Ok(_) => Err(OpError::Unknown),
        Err(OpError::Refused(Refused::StreamNotFound)) => Ok(0),
        Err(error) => Err(error),
    }
}
