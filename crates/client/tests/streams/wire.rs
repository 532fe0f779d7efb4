//! Asking a server directly, beside the consumer under test.
//!
//! Lives here: one connection, and what tests look at. Not here: the server (`servers.rs`).

use std::time::Duration;

use redis::{Connection, FromRedisValue, Value};

/// The stream and the group of every test.
pub(crate) const STREAM: &str = "factory:events";
pub(crate) const GROUP: &str = "worker-mail";

/// A connection of a test's own.
pub(crate) struct Wire(Connection);

/// A line of the pending list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) id: String,
    pub(crate) consumer: String,
    pub(crate) count: u64,
}

impl Wire {
    pub(crate) fn to(url: &str) -> Self {
        Self(redis::Client::open(url).expect("a URL").get_connection().expect("it runs"))
    }

    pub(crate) fn answers(url: &str) -> bool {
        let client = redis::Client::open(url).expect("a URL");
        let connected = client.get_connection_with_timeout(Duration::from_secs(1));
        connected.is_ok_and(|mut connection| redis::cmd("PING").query::<String>(&mut connection).is_ok())
    }

    pub(crate) fn try_ask<T: FromRedisValue>(&mut self, words: &[&str]) -> redis::RedisResult<T> {
        let (verb, arguments) = words.split_first().expect("a command");
        redis::cmd(verb).arg(arguments).query(&mut self.0)
    }

    pub(crate) fn ask<T: FromRedisValue>(&mut self, words: &[&str]) -> T {
        self.try_ask(words).unwrap_or_else(|error| panic!("{words:?}: {error}"))
    }

    /// Makes the group of every test.
    pub(crate) fn make_group(&mut self) {
        self.ask::<Value>(&["XGROUP", "CREATE", STREAM, GROUP, "0", "MKSTREAM"]);
    }

    /// Writes an event as the factory does: its number is its payload.
    pub(crate) fn add(&mut self, number: u32) -> String {
        let payload = format!("{{\"n\":{number}}}");
        self.ask(&["XADD", STREAM, "*", "event", "order.paid", "payload", &payload, "ts", "1764426154123"])
    }

    pub(crate) fn add_many(&mut self, count: u32) -> Vec<String> {
        (1..=count).map(|number| self.add(number)).collect()
    }

    /// Reads new entries as a consumer that does nothing with them.
    pub(crate) fn read_as(&mut self, consumer: &str, count: usize) {
        let count = count.to_string();
        let words = ["XREADGROUP", "GROUP", GROUP, consumer, "COUNT", &count, "STREAMS", STREAM, ">"];
        self.ask::<Value>(&words);
    }

    pub(crate) fn pending(&mut self) -> Vec<Row> {
        type Line = (String, String, i64, u64);
        let rows: Vec<Line> =
            self.try_ask(&["XPENDING", STREAM, GROUP, "-", "+", "1000"]).unwrap_or_default();
        rows.into_iter().map(|(id, consumer, _, count)| Row { id, consumer, count }).collect()
    }

    /// Waits until so many entries are pending.
    pub(crate) async fn until_pending(&mut self, count: usize) {
        self.until(|wire| wire.pending().len() == count).await;
    }

    pub(crate) async fn until(&mut self, is_so: impl Fn(&mut Self) -> bool) {
        let mut tries = 0;
        while !is_so(self) {
            tries += 1;
            assert!(tries < 3_000, "it does not come to it: {:?} is pending", self.pending());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// The names of the group's consumers.
    pub(crate) fn consumers(&mut self) -> Vec<String> {
        let consumers: Vec<std::collections::HashMap<String, Value>> =
            self.ask(&["XINFO", "CONSUMERS", STREAM, GROUP]);
        let name =
            |of: &std::collections::HashMap<String, Value>| String::from_redis_value(of["name"].clone());
        consumers.iter().map(|of| name(of).expect("a name")).collect()
    }

    /// The dead letters, each a list of names and values.
    pub(crate) fn dead(&mut self) -> Vec<Vec<(String, String)>> {
        let dead: Vec<(String, Vec<(String, String)>)> =
            self.ask(&["XRANGE", &format!("{STREAM}:dead"), "-", "+"]);
        dead.into_iter().map(|(_, fields)| fields).collect()
    }
}
