//! Connections to a server, made anew where they break.
//!
//! Lives here: one that is shared by all that is answered at once, and one for reads that wait. Not here: what is asked
//! (`scripts.rs`, `commands.rs`, `door.rs`), and when a failed call is made again.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{Cmd, Value, cmd};
use tokio::sync::Mutex;
use tokio::time::timeout;
use tracing::debug;

use super::error::Error;
use super::reply;
use super::scripts::{Script, Scripts};
use super::server::Server;

/// Longest wait for the answer to a call that does not block: a quarter of a lease, but no less and no more. So a connection
/// that is dead without a word is given up before a heartbeat is.
const ANSWER_MAX: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(10)];
/// How much longer than a read blocks its answer is waited for.
const READ_MARGIN: Duration = Duration::from_secs(5);

/// The way to one server.
pub(super) struct Link {
    server: Server,
    stream: Vec<u8>,
    answer_max: Duration,
    shared: Mutex<Option<Rc<Shared>>>,
    reader: RefCell<Option<MultiplexedConnection>>,
}

/// A connection on which calls are answered at once.
pub(super) struct Shared {
    connection: MultiplexedConnection,
    pub(super) means: Means,
}

/// What a server offers to act on an entry only where it is still ours.
#[derive(Debug)]
pub(super) enum Means {
    /// Scripts, which are as one command.
    Scripts(Scripts),
    /// Single commands, and `XNACK`: Naven's own door.
    Commands,
}

impl Link {
    /// The way to where `stream` is, under leases of this length.
    pub(super) fn new(server: Server, stream: &str, lease: Duration) -> Self {
        let answer_max = (lease / 4).clamp(ANSWER_MAX[0], ANSWER_MAX[1]);
        Self {
            server,
            stream: stream.into(),
            answer_max,
            shared: Mutex::new(None),
            reader: RefCell::new(None),
        }
    }

    pub(super) fn address(&self) -> &str {
        self.server.address()
    }

    /// The connection that calls share.
    ///
    /// Cancel safety: whoever waits next connects in its place.
    pub(super) async fn shared(&self) -> Result<Rc<Shared>, Error> {
        let mut shared = self.shared.lock().await;
        if let Some(shared) = &*shared {
            return Ok(Rc::clone(shared));
        }
        let connection = self.server.connect(&self.stream).await?;
        let means = self.means(&connection).await?;
        let made = Rc::new(Shared { connection, means });
        *shared = Some(Rc::clone(&made));
        Ok(made)
    }

    /// What the server has, by its own word: versions of forks do not tell.
    async fn means(&self, connection: &MultiplexedConnection) -> Result<Means, Error> {
        let mut asked = cmd("COMMAND");
        asked.arg("INFO").arg("EVALSHA").arg("XNACK");
        let known = match self.ask_on(connection, &asked).await {
            Ok(Value::Array(known)) => known,
            // Whoever may not ask what there is may still use it.
            Err(error) if error.is_refusal() => vec![Value::Okay],
            Ok(_) => return Err(self.unexpected("a table of commands")),
            Err(error) => return Err(error),
        };
        let has = |at: usize| known.get(at).is_some_and(|command| !matches!(command, Value::Nil));
        if !has(0) {
            if has(1) {
                return Ok(Means::Commands);
            }
            let why = format!("{} has neither scripts nor XNACK", self.address());
            return Err(Error::Setup { why });
        }
        let mut scripts = Scripts::default();
        for script in Script::ALL {
            let mut load = cmd("SCRIPT");
            load.arg("LOAD").arg(script.text());
            let sha = reply::text(self.ask_on(connection, &load).await?);
            scripts.loaded(script, sha.ok_or_else(|| self.unexpected("the name of a script"))?);
        }
        Ok(Means::Scripts(scripts))
    }

    /// The answer to a call on the shared connection.
    ///
    /// Cancel safety: dropped, the call may or may not have taken effect.
    pub(super) async fn ask(&self, shared: &Rc<Shared>, call: &Cmd) -> Result<Value, Error> {
        let answer = self.ask_on(&shared.connection, call).await;
        if let Err(error) = &answer
            && error.ends_connection()
        {
            debug!(at = self.address(), error = error as &dyn std::error::Error, "a connection is given up");
            let mut present = self.shared.lock().await;
            if present.as_ref().is_some_and(|present| Rc::ptr_eq(present, shared)) {
                *present = None;
            }
        }
        answer
    }

    /// The answer to a script.
    pub(super) async fn run(
        &self,
        shared: &Rc<Shared>,
        (script, sha): (Script, &str),
        keys: &[&[u8]],
        arguments: &[Vec<u8>],
    ) -> Result<Value, Error> {
        let call = |verb: &str, body: &str| {
            let mut call = cmd(verb);
            call.arg(body).arg(keys.len()).arg(keys).arg(arguments);
            call
        };
        match self.ask(shared, &call("EVALSHA", sha)).await {
            // Somebody emptied the server's list of scripts: it is back in it by this.
            Err(Error::Answered { code, .. }) if code == "NOSCRIPT" => {
                self.ask(shared, &call("EVAL", script.text())).await
            }
            answer => answer,
        }
    }

    /// The answer to a read that waits for up to `block` for it.
    ///
    /// Cancel safety: dropped, its connection is closed, and the server hands out nothing more to it. What it had handed
    /// out by then is pending.
    pub(super) async fn read(&self, call: &Cmd, block: Duration) -> Result<Value, Error> {
        let connection = self.reader.borrow_mut().take();
        let mut connection = match connection {
            Some(connection) => connection,
            None => self.server.connect(&self.stream).await?,
        };
        let answer = timeout(block + READ_MARGIN, connection.send_packed_command(call)).await;
        let answer = self.answer(answer);
        if !answer.as_ref().is_err_and(Error::ends_connection) {
            self.reader.replace(Some(connection));
        }
        answer
    }

    async fn ask_on(&self, connection: &MultiplexedConnection, call: &Cmd) -> Result<Value, Error> {
        let mut connection = connection.clone();
        self.answer(timeout(self.answer_max, connection.send_packed_command(call)).await)
    }

    fn answer(
        &self,
        answer: Result<redis::RedisResult<Value>, tokio::time::error::Elapsed>,
    ) -> Result<Value, Error> {
        let answer = answer.map_err(|_| Error::no_answer(self.address()))?;
        let answer = answer.and_then(Value::extract_error);
        answer.map_err(|error| Error::from_redis(self.address(), error, true))
    }

    pub(super) fn unexpected(&self, what: &str) -> Error {
        Error::Unexpected { at: self.address().to_owned(), what: what.to_owned() }
    }
}
