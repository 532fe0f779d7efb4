//! The Redis door of a server under test.
//!
//! Lives here: connecting, and answers that are refusals. Not here: what is asked (`redis.rs`).

use std::time::Duration;

use anyhow::{Context, bail};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, Cmd, IntoConnectionInfo, Value};

/// Longest wait for an answer: every one is on disk before it comes.
const ANSWER_WAIT: Duration = Duration::from_secs(30);

/// Where it is, and under which key it is spoken to.
pub(crate) struct Door {
    client: Client,
}

/// A connection to it.
pub(crate) struct Talk {
    connection: MultiplexedConnection,
}

impl Door {
    /// The door at HOST:PORT.
    ///
    /// # Errors
    /// Where `place` is none.
    pub(crate) fn new(place: &str, is_over_tls: bool, key: Option<&str>) -> anyhow::Result<Self> {
        let scheme = if is_over_tls { "rediss" } else { "redis" };
        let info = format!("{scheme}://{place}").into_connection_info();
        let info = info.with_context(|| format!("redis: {place} is no HOST:PORT"))?;
        let mut settings = info.redis_settings().clone().set_skip_set_lib_name();
        if let Some(key) = key {
            settings = settings.set_password(key);
        }
        Ok(Self { client: Client::open(info.set_redis_settings(settings))? })
    }

    /// A connection that has shown the key.
    ///
    /// # Errors
    /// Where nobody answers, or the key is not let in.
    pub(crate) async fn talk(&self) -> anyhow::Result<Talk> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(ANSWER_WAIT))
            .set_response_timeout(Some(ANSWER_WAIT));
        let connection = self.client.get_multiplexed_async_connection_with_config(&config).await;
        Ok(Talk { connection: connection.context("the Redis door")? })
    }
}

impl Talk {
    /// The answer to a command of words without spaces.
    ///
    /// # Errors
    /// What the door says instead of it.
    pub(crate) async fn ask(&mut self, command: &str) -> anyhow::Result<Value> {
        let mut words = command.split(' ');
        let mut asked = Cmd::new();
        for word in &mut words {
            asked.arg(word);
        }
        let answer = self.connection.send_packed_command(&asked).await;
        match answer.with_context(|| command.to_owned())? {
            Value::ServerError(refusal) => {
                bail!("{command}: {} {}", refusal.code(), refusal.details().unwrap_or(""))
            }
            answer => Ok(answer),
        }
    }
}

/// An answer as one line: items of lists apart by spaces, in the order in which they came.
pub(crate) fn flat(answer: &Value) -> String {
    match answer {
        Value::Nil => "nil".to_owned(),
        Value::Int(number) => number.to_string(),
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::SimpleString(text) => text.clone(),
        Value::Okay => "OK".to_owned(),
        Value::Array(items) => items.iter().map(flat).collect::<Vec<_>>().join(" "),
        other => format!("{other:?}"),
    }
}
