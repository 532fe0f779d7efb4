//! One connection of the Redis door, from its first byte to its last.
//!
//! Lives here: reading, running calls in order, and writing replies. Not here: accepting (`listen.rs`), what a
//! call means (`commands`), transactions (`transaction.rs`).

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::BytesMut;
use naven_api::limits::{REDIS_KEPT_BUFFER_BYTES, REDIS_UNREAD_BYTES_MAX};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::asked::{Batch, Prepared, measure};
use super::block::Waiter;
use super::command::{Command, Flag, resolve};
use super::commands::parser;
use super::frame::{Bounds, Decoder, Output, Reply, Request};
use super::plan::{Asking, Plan, Setting};
use super::rights;
use super::session::Session;
use crate::auth::Caller;

/// Least room for what is read at once.
const READ_BYTES: usize = 16 * 1024;
/// How long an idle connection lives on once shutdown has begun.
const DRAIN_IDLE: Duration = Duration::from_millis(500);
/// How long a closing connection goes on throwing away what its client still sends, and how much of it.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_BYTES: usize = 16 * 1024 * 1024;
/// Commands that no bound on calls holds back: that would make what is held come again.
const FREE: [&str; 3] = ["xack", "xackdel", "xnack"];

/// A client's socket, and what it has sent and is to be sent.
pub(crate) struct Connection<S> {
    stream: S,
    buffer: BytesMut,
    decoder: Decoder,
    out: Output,
    batch: Batch,
    session: Session,
    drain: CancellationToken,
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
            decoder: Decoder::new(bounds_of(&session)),
            out: Output::new(REDIS_UNREAD_BYTES_MAX),
            batch: Batch::default(),
            session,
            drain,
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
            if self.session.is_closing {
                return self.farewell().await;
            }
            // What is in the buffer was held back by unread replies, so it is looked at before more is read.
            if std::mem::take(&mut self.has_held_back) {
                continue;
            }
            if !self.read_more().await? {
                return Ok(());
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

    /// Answers in its turn with what ended the run of a call.
    async fn answer_with(&mut self, reply: &Reply) {
        self.answer().await;
        self.out.speak(self.session.protocol);
        self.out.push(reply);
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
                self.answer_with(&reply).await;
            }
            (Plan::Transaction(step), _) => {
                self.answer().await;
                let reply = self.session.step(step).await;
                self.know_caller();
                self.answer_with(&reply).await;
            }
            (Plan::Ask(asking), Some(caller)) => self.ask(asking, &caller, command, request).await,
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
                let reply = self.unless_gone(waiter.run(waiting), is_blocking).await?;
                self.answer_with(&reply).await;
            }
            (Plan::Door(at_door), Some(caller)) => {
                self.answer().await;
                let reply = at_door.run(&self.session.door, &caller, command.name).await;
                self.answer_with(&reply).await;
            }
            (Plan::Ask(_) | Plan::Wait(_) | Plan::Door(_), None) => {
                self.refuse(Reply::error(super::words::NOAUTH))
            }
        }
        Ok(())
    }

    async fn ask(&mut self, asking: Asking, caller: &Caller, command: &'static Command, request: &Request) {
        if !rights::are_plain(caller, &asking.asks) {
            // The names of queues are looked up, behind what was asked before.
            self.answer().await;
        }
        let bytes = measure(request.arguments());
        match Prepared::of(&self.session.door.node, caller, asking.asks, command.name).await {
            Ok(prepared) => self.batch.push(prepared, asking.reply, bytes),
            Err(reply) => self.batch.push_reply(reply),
        }
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
        running: impl Future<Output = Reply>,
        is_blocking: bool,
    ) -> io::Result<Reply> {
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
            let written = self.stream.write(self.out.unsent()).await?;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.out.sent(written);
            if self.has_held_back && !self.out.is_holding_back() {
                return Ok(());
            }
        }
        self.stream.flush().await
    }

    /// Writes all replies before a call waits.
    async fn write_some(&mut self) -> io::Result<()> {
        let held_back = std::mem::take(&mut self.has_held_back);
        let written = self.write_out().await;
        self.has_held_back = held_back;
        written
    }

    /// Reads more; false where there is no more to come.
    async fn read_more(&mut self) -> io::Result<bool> {
        let idle_since = Instant::now();
        self.buffer.reserve(READ_BYTES);
        let patience = self.session.door.node.patience.keep_alive;
        let stranger_until = self.session.caller.is_none().then(|| self.stranger_since + patience);
        let drain = self.drain.clone();
        let drained = async {
            drain.cancelled().await;
            // Who idles when shutdown begins has a moment left to say what it still has to say.
            tokio::time::sleep(DRAIN_IDLE).await;
        };
        let until = stranger_until.unwrap_or(idle_since + Duration::from_secs(3_600));
        tokio::select! {
            biased;
            read = self.stream.read_buf(&mut self.buffer) => Ok(read? > 0),
            () = tokio::time::sleep_until(until), if stranger_until.is_some() => Ok(false),
            () = drained => Ok(false),
        }
    }

    /// Ends our side, then throws away what still comes: closing over unread bytes would make the system reset
    /// the connection, and the client would lose the answer that says why.
    async fn farewell(mut self) -> io::Result<()> {
        self.stream.shutdown().await?;
        self.buffer.clear();
        let drop_rest = async {
            let mut left = LINGER_BYTES;
            while left > 0 {
                match self.stream.read_buf(&mut self.buffer).await {
                    Ok(0) | Err(_) => return,
                    Ok(bytes) => left = left.saturating_sub(bytes),
                }
                self.buffer.clear();
            }
        };
        let _ = tokio::time::timeout(LINGER, drop_rest).await;
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
