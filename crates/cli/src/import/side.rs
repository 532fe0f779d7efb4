//! One of the two servers of an import.
//!
//! Lives here: connecting, asking with a bound on each wait, and errors that name the side and the command. Not
//! here: what is asked, and what answers mean (`reply.rs`).

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Cmd, Pipeline, RedisError, ServerError, Value, cmd};

use super::address::Address;
use super::limits::{ANSWER_WAIT, CONNECT_WAIT};
use super::reply::shown;
use super::trouble::Trouble;

/// A server that is spoken to.
pub(super) struct Side {
    /// `source HOST:PORT` or `target HOST:PORT`.
    pub(super) name: String,
    connection: MultiplexedConnection,
}

impl Side {
    /// Connects, shows the password and sees that a Redis answers.
    ///
    /// # Errors
    /// [`Trouble::Broken`].
    pub(super) async fn open(side: &str, address: &Address) -> Result<Self, Trouble> {
        let name = format!("{side} {}", address.shown);
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(CONNECT_WAIT))
            .set_response_timeout(Some(ANSWER_WAIT));
        let connected = address.client.get_multiplexed_async_connection_with_config(&config);
        let broken = |why: String| Trouble::Broken(format!("{name}: {why}"));
        let connection = connected.await.map_err(|error| broken(not_let_in(&error)))?;
        let side = Self { name: name.clone(), connection };
        let answer = side.try_ask(&cmd("PING")).await;
        match answer.map_err(|trouble| Trouble::Broken(format!("{trouble} (is a Redis there?)")))? {
            // A user who may not even PING may still read streams.
            Err(refusal) if refusal.code() != "NOPERM" => Err(broken(text(&refusal))),
            Ok(_) | Err(_) => Ok(side),
        }
    }

    /// The answer to a command.
    ///
    /// # Errors
    /// What the side says instead, or that it is gone.
    pub(super) async fn ask(&self, command: &Cmd) -> Result<Value, Trouble> {
        self.try_ask(command).await?.map_err(|refusal| self.refused(command, &text(&refusal)))
    }

    /// The answer to a command, or the refusal.
    ///
    /// # Errors
    /// That the side is gone.
    pub(super) async fn try_ask(&self, command: &Cmd) -> Result<Result<Value, ServerError>, Trouble> {
        let mut pipeline = Pipeline::new();
        pipeline.add_command(command.clone());
        let mut replies = self.replies(&pipeline, 1).await?;
        Ok(match replies.pop() {
            Some(Value::ServerError(refusal)) => Err(refusal),
            Some(value) => Ok(value),
            None => Ok(Value::Nil),
        })
    }

    /// The answers to commands that are sent at once.
    ///
    /// # Errors
    /// The first refusal, or that the side is gone.
    pub(super) async fn ask_all(&self, commands: Vec<Cmd>) -> Result<Vec<Value>, Trouble> {
        let count = commands.len();
        if count == 0 {
            return Ok(Vec::new());
        }
        let mut pipeline = Pipeline::with_capacity(count);
        for command in commands {
            pipeline.add_command(command);
        }
        let replies = self.replies(&pipeline, count).await?;
        for (command, reply) in pipeline.cmd_iter().zip(&replies) {
            if let Some(refusal) = refusal_in(reply) {
                return Err(self.refused(command, &text(refusal)));
            }
        }
        Ok(replies)
    }

    /// That this side does not do what it was asked for.
    pub(super) fn refused(&self, command: &Cmd, why: &str) -> Trouble {
        Trouble::Refused(format!("{}: {}: {why}", self.name, verb(command)))
    }

    async fn replies(&self, commands: &Pipeline, count: usize) -> Result<Vec<Value>, Trouble> {
        let broken = |why: &str| {
            let verb = commands.cmd_iter().next().map_or_else(String::new, verb);
            Trouble::Broken(format!("{}: {verb}: {why}", self.name))
        };
        let mut connection = self.connection.clone();
        let replies = connection.send_packed_commands(commands, 0, count).await;
        let replies = replies.map_err(|error| broken(&said(&error)))?;
        if replies.len() == count {
            return Ok(replies);
        }
        Err(broken(&format!("{} answers to {count} commands", replies.len())))
    }
}

/// The refusal that an answer is, or that EXEC brings along.
fn refusal_in(reply: &Value) -> Option<&ServerError> {
    match reply {
        Value::ServerError(refusal) => Some(refusal),
        Value::Array(items) => items.iter().find_map(|item| match item {
            Value::ServerError(refusal) => Some(refusal),
            _ => None,
        }),
        _ => None,
    }
}

/// The name of a command, with that word of it that says which one of many it is.
fn verb(command: &Cmd) -> String {
    let words = command.args_iter().filter_map(|arg| match arg {
        redis::Arg::Simple(word) => Some(shown(word)),
        _ => None,
    });
    let words: Vec<String> = words.take(3).collect();
    match words.as_slice() {
        [first, second, ..] if first == "XGROUP" || first == "XINFO" => format!("{first} {second}"),
        [first, _, third] if first == "XADD" => format!("{first} {third}"),
        [first, ..] => first.clone(),
        [] => String::new(),
    }
}

/// A refusal as the server wrote it.
fn text(refusal: &ServerError) -> String {
    match refusal.details() {
        Some(details) => format!("{} {details}", refusal.code()),
        None => refusal.code().to_owned(),
    }
}

/// Why there is no connection.
fn not_let_in(error: &RedisError) -> String {
    match error.kind() {
        redis::ErrorKind::AuthenticationFailed => "AUTH: it does not know this user and password".to_owned(),
        // Whoever answers AUTH with something else is no Redis, and what it wrote may have many lines.
        redis::ErrorKind::Parse | redis::ErrorKind::UnexpectedReturnType => {
            "AUTH: not an answer of Redis (is a Redis there?)".to_owned()
        }
        _ if error.is_timeout() => format!("no connection within {} s", CONNECT_WAIT.as_secs()),
        _ => format!("no connection: {error}"),
    }
}

/// What went wrong with a connection.
fn said(error: &RedisError) -> String {
    if error.is_timeout() {
        return format!("no answer within {} s", ANSWER_WAIT.as_secs());
    }
    if error.is_connection_dropped() {
        return format!("the connection broke: {error}");
    }
    match error.kind() {
        redis::ErrorKind::Parse => format!("not an answer of Redis: {error}"),
        _ => match (error.code(), error.detail()) {
            (Some(code), Some(detail)) => format!("{code} {detail}"),
            _ => error.to_string(),
        },
    }
}
