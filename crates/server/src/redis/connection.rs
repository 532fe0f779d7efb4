//! One connection of the Redis door, from its first byte to its last.
//!
//! Lives here: reading, running calls in order, and writing replies. Not here: accepting (`listen.rs`), what a
//! call means (`commands`), transactions (`transaction.rs`).

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::BytesMut;
use naven_api::limits::{REDIS_COMMAND_BYTES_MAX, REDIS_KEPT_BUFFER_BYTES, REDIS_UNREAD_BYTES_MAX};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::asked::{Batch, Prepared, measure};
use super::block::Waiter;
use super::command::{Command, Flag, resolve};
use super::commands::parser;
use super::frame::{Bounds, Decoder, Output, Reply, Request};
use super::letting_go::{LettingGo, throw_away_rest};
use super::plan::{Asking, Plan, Setting};
use super::rights;
use super::session::Session;
use crate::auth::Caller;
use crate::room::{Taken, UNCOUNTED_BYTES};

/// Room for what is read at once. Idle connections are many, and each keeps its room: so it is small until reads
/// fill it, then four times as large, up to the most.
const READ_BYTES_MIN: usize = 1024;
const READ_BYTES_MAX: usize = 16 * 1024;
/// Commands that no bound on calls holds back: that would make what is held come again.
const FREE: [&str; 3] = ["xack", "xackdel", "xnack"];

/// A client's socket, and what it has sent and is to be sent.
pub(crate) struct Connection<S> {
    stream: S,
    buffer: BytesMut,
    /// Least room for the next read.
    read_bytes: usize,
    decoder: Decoder,
    out: Output,
    batch: Batch,
    session: Session,
    letting_go: LettingGo,
    /// The room that a large call takes, from when it is seen to be one until it is answered.
    room: Option<Taken>,
    /// True where calls were left in the buffer, because replies were not read.
    has_held_back: bool,
    /// Since when nobody is known to call.
    stranger_since: Instant,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    pub(crate) fn new(stream: S, session: Session, drain: CancellationToken) -> Self {
        Self {
            stream,
            buffer: BytesMut::new(),
            read_bytes: READ_BYTES_MIN,
            decoder: Decoder::new(bounds_of(&session)),
            out: Output::new(REDIS_UNREAD_BYTES_MAX),
            batch: Batch::default(),
            letting_go: LettingGo { patience: session.door.node.patience.write, drain },
            session,
            room: None,
            has_held_back: false,
            stranger_since: Instant::now(),
        }
    }

    /// Answers until the client goes, or is let go.
    ///
    /// # Errors
    /// Where the socket ends early.
    pub(crate) async fn serve(mut self) -> io::Result<()> {
        loop {
            self.run_calls().await?;
            self.write_out().await?;
            if self.buffer.len() <= UNCOUNTED_BYTES {
                self.room = None;
            }
            if self.session.is_closing {
                return self.farewell().await;
            }
            // What is in the buffer was held back by unread replies, so it is looked at before more is read.
            if std::mem::take(&mut self.has_held_back) {
                continue;
            }
            if self.buffer.len() > UNCOUNTED_BYTES && self.room.is_none() && !self.has_room_for_call().await {
                continue;
            }
            if !self.read_more().await? {
                // Without it a client over TLS would take the end for a cut.
                return self.letting_go.within(self.stream.shutdown()).await;
            }
        }
    }

    /// Runs the calls that have come, until the client does not read what it is answered.
    async fn run_calls(&mut self) -> io::Result<()> {
        loop {
            if self.batch.is_full() {
                self.answer().await;
            }
            if self.session.is_closing {
                return Ok(());
            }
            if self.out.is_holding_back() {
                self.has_held_back = true;
                return Ok(());
            }
            match self.decoder.decode(&mut self.buffer) {
                Ok(Some(request)) => self.take(request).await?,
                Ok(None) => {
                    self.answer().await;
                    // The answers may have filled the account: the next call has come already, or has not.
                    return Ok(());
                }
                Err(error) => {
                    self.answer().await;
                    self.out.push(&error.reply());
                    self.session.is_closing = true;
                    return Ok(());
                }
            }
        }
    }

    /// Answers the calls that were put together.
    async fn answer(&mut self) {
        if !self.batch.is_empty() {
            let node = Arc::clone(&self.session.door.node);
            self.batch.answer(&node, &mut self.out).await;
        }
    }

    /// Answers in its turn with what ended the run of a call, and takes this room.
    async fn answer_with(&mut self, reply: &Reply, room: Option<Taken>) {
        self.answer().await;
        self.out.speak(self.session.protocol);
        match room {
            Some(room) => self.out.push_large(reply, room),
            None => self.out.push(reply),
        }
    }

    /// A call that is refused before it runs: a transaction that it belongs to is refused with it.
    fn refuse(&mut self, reply: Reply) {
        self.session.refuse_transaction();
        self.batch.push_reply(reply);
    }

    async fn take(&mut self, request: Request) -> io::Result<()> {
        let command = match resolve(&request) {
            Ok(command) => command,
            Err(error) => {
                self.refuse(error.reply());
                return Ok(());
            }
        };
        self.note(command);
        let was_known = self.session.caller.is_some();
        let caller = self.session.caller_now();
        if was_known && caller.is_none() {
            self.know_caller();
        }
        if caller.is_none() && !command.is(Flag::NoAuth) {
            self.refuse(Reply::error(super::words::NOAUTH));
            return Ok(());
        }
        if let Some(reply) = caller.as_ref().and_then(|caller| held_back(caller, command)) {
            self.refuse(reply);
            return Ok(());
        }
        let Some(parse) = parser(command.name) else {
            self.refuse(super::words::unbuilt(command));
            return Ok(());
        };
        if self.session.transaction.is_some()
            && !matches!(command.name, "exec" | "discard" | "quit" | "reset")
        {
            if command.is(Flag::NoMulti) {
                let text = format!("ERR Command '{}' not allowed inside a transaction", command.name);
                self.refuse(Reply::error(text));
            } else {
                let reply = self.session.queue(request, command);
                self.batch.push_reply(reply);
            }
            return Ok(());
        }
        let plan = parse(&request, Setting { limits: &self.session.door.node.limits });
        self.run(plan.unwrap_or_else(Plan::Reply), caller, command, &request).await
    }

    /// What CLIENT tells of the connection.
    fn note(&self, command: &'static Command) {
        let mut shown = self.session.client.shown();
        (shown.last, shown.last_at) = (command.name, Instant::now());
        shown.commands += 1;
        drop(shown);
        self.session.door.clients.commands.fetch_add(1, Ordering::Relaxed);
    }

    async fn run(
        &mut self,
        plan: Plan,
        caller: Option<Caller>,
        command: &'static Command,
        request: &Request,
    ) -> io::Result<()> {
        match (plan, caller) {
            (Plan::Reply(reply), _) => self.batch.push_reply(reply),
            (Plan::Session(run), _) => {
                self.answer().await;
                let reply = run(&mut self.session);
                self.know_caller();
                self.answer_with(&reply, None).await;
            }
            (Plan::Transaction(step), _) => {
                self.answer().await;
                self.write_room_free().await?;
                let mut room = None;
                let reply = self.session.step(step, &mut room).await;
                self.know_caller();
                self.answer_with(&reply, room).await;
            }
            (Plan::Ask(asking), Some(caller)) => self.ask(asking, &caller, command, request).await?,
            (Plan::Wait(waiting), Some(caller)) => {
                self.answer().await;
                self.write_some().await?;
                let waiter = Waiter {
                    door: Arc::clone(&self.session.door),
                    client: Arc::clone(&self.session.client),
                    caller,
                    protocol: self.session.protocol,
                    name: command.name,
                };
                let is_blocking = waiting.patience().is_some();
                let (reply, room) = self.unless_gone(waiter.run(waiting), is_blocking).await?;
                self.answer_with(&reply, room).await;
            }
            (Plan::Door(at_door), Some(caller)) => {
                self.answer().await;
                let reply = at_door.run(&self.session.door, &caller, command.name).await;
                self.answer_with(&reply, None).await;
            }
            (Plan::Ask(_) | Plan::Wait(_) | Plan::Door(_), None) => {
                self.refuse(Reply::error(super::words::NOAUTH))
            }
        }
        Ok(())
    }

    async fn ask(
        &mut self,
        asking: Asking,
        caller: &Caller,
        command: &'static Command,
        request: &Request,
    ) -> io::Result<()> {
        if !rights::are_plain(caller, &asking.asks) {
            // The names of queues are looked up, behind what was asked before.
            self.answer().await;
        }
        let bytes = measure(request.arguments());
        match Prepared::of(&self.session.door.node, caller, asking.asks, command.name).await {
            Ok(prepared) => {
                if prepared.is_large() {
                    self.write_room_free().await?;
                }
                self.batch.push(prepared, asking.reply, bytes);
            }
            Err(reply) => self.batch.push_reply(reply),
        }
        Ok(())
    }

    /// Writes what takes room before more is asked for: who waits for room holds none.
    async fn write_room_free(&mut self) -> io::Result<()> {
        if self.out.has_room() { self.write_some().await } else { Ok(()) }
    }

    /// Holds the client to the bounds of who it is now.
    fn know_caller(&mut self) {
        self.decoder.set_bounds(bounds_of(&self.session));
        self.out.speak(self.session.protocol);
        if self.session.caller.is_some() {
            self.stranger_since = Instant::now();
        }
    }

    /// What `running` gives, unless the client goes while it waits. What it sends meanwhile is kept, within a
    /// bound.
    async fn unless_gone(
        &mut self,
        running: impl Future<Output = (Reply, Option<Taken>)>,
        is_blocking: bool,
    ) -> io::Result<(Reply, Option<Taken>)> {
        let mut running = std::pin::pin!(running);
        loop {
            let listens = is_blocking && self.buffer.len() < REDIS_KEPT_BUFFER_BYTES;
            self.buffer.reserve(1);
            tokio::select! {
                biased;
                reply = &mut running => return Ok(reply),
                read = self.stream.read_buf(&mut self.buffer), if listens => if read? == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                },
            }
        }
    }

    /// Writes replies until further calls may run, or none is left.
    async fn write_out(&mut self) -> io::Result<()> {
        while self.out.pending_bytes() > 0 {
            let written = self.letting_go.within(self.stream.write(self.out.unsent())).await?;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.out.sent(written);
            if self.has_held_back && !self.out.is_holding_back() {
                return Ok(());
            }
        }
        self.letting_go.within(self.stream.flush()).await
    }

    /// Writes all replies before a call waits.
    async fn write_some(&mut self) -> io::Result<()> {
        let held_back = std::mem::take(&mut self.has_held_back);
        let written = self.write_out().await;
        self.has_held_back = held_back;
        written
    }

    /// Takes room for the largest call there may be before more of it is read, so that half-read calls never wait for
    /// each other. False where there was none: the connection ends with the reply that says so.
    async fn has_room_for_call(&mut self) -> bool {
        let node = &self.session.door.node;
        self.room = node.request_room.take(REDIS_COMMAND_BYTES_MAX, node.patience.body_idle).await;
        if self.room.is_none() {
            self.out
                .push(&Reply::error("TRYAGAIN large calls under way take all the room; nothing was done"));
            self.session.is_closing = true;
        }
        self.room.is_some()
    }

    /// Reads more; false where there is no more to come.
    async fn read_more(&mut self) -> io::Result<bool> {
        let idle_since = Instant::now();
        self.buffer.reserve(self.read_bytes);
        let room = self.buffer.capacity() - self.buffer.len();
        let patience = self.session.door.node.patience.keep_alive;
        let stranger_until = self.session.caller.is_none().then(|| self.stranger_since + patience);
        // Who stops in the middle of a large call has what others wait for.
        let room_until = self.room.is_some().then(|| idle_since + self.session.door.node.patience.body_idle);
        let ends = stranger_until.into_iter().chain(room_until).min();
        // Who idles when shutdown begins has a moment left to say what it still has to say.
        let drained = self.letting_go.drained();
        let until = ends.unwrap_or(idle_since + Duration::from_secs(3_600));
        tokio::select! {
            biased;
            read = self.stream.read_buf(&mut self.buffer) => {
                let read = read?;
                if read == room {
                    self.read_bytes = READ_BYTES_MAX.min(self.read_bytes * 4);
                }
                Ok(read > 0)
            }
            () = tokio::time::sleep_until(until), if ends.is_some() => Ok(false),
            () = drained => Ok(false),
        }
    }

    /// Ends our side, then throws away what still comes: closing over unread bytes would make the system reset
    /// the connection, and the client would lose the answer that says why.
    async fn farewell(mut self) -> io::Result<()> {
        self.letting_go.within(self.stream.shutdown()).await?;
        throw_away_rest(&mut self.stream, &mut self.buffer).await;
        Ok(())
    }
}

/// What is said to a caller whose key makes too many calls.
fn held_back(caller: &Caller, command: &Command) -> Option<Reply> {
    let counts = (command.is(Flag::Write) || command.is(Flag::ReadOnly)) && !FREE.contains(&command.name);
    let standing = caller.pace().filter(|_| counts)?.call();
    (standing.wait_seconds > 0).then(|| {
        let (most, wait) = (standing.per_second, standing.wait_seconds);
        Reply::error(format!(
            "ERR the key makes more than {most} calls a second: try again in {wait} seconds"
        ))
    })
}

fn bounds_of(session: &Session) -> Bounds {
    if session.caller.is_some() { Bounds::AFTER_AUTH } else { Bounds::BEFORE_AUTH }
}
