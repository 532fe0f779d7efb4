//! A source, a target, and how they look.
//!
//! Lives here: starting both, running the import, and all of a stream as text. Not here: what is imported.

use serde_json::Value;

use crate::support::{Ended, Naven, Redis, Reply, Start, exchange, key, run};

/// A server that is spoken to as Redis clients do.
pub(crate) trait Side {
    /// HOST:PORT.
    fn place(&self) -> String;

    /// The address of it by way of `place`, with what lets the import in.
    fn address(&self, place: &str) -> String;

    /// Runs many commands at once.
    fn all(&self, commands: &[Vec<Vec<u8>>]) -> Vec<Reply>;

    /// Runs a command whose words have no spaces, and panics where it is refused.
    fn done(&self, command: &str) -> Reply {
        let words = command.split(' ').map(|word| word.as_bytes().to_vec()).collect();
        let reply = self.all(&[words]).remove(0);
        assert!(!matches!(reply, Reply::Error(_)), "{command}: {reply:?}");
        reply
    }
}

impl Side for Redis {
    fn place(&self) -> String {
        self.place()
    }

    fn address(&self, place: &str) -> String {
        format!("redis://{place}")
    }

    fn all(&self, commands: &[Vec<Vec<u8>>]) -> Vec<Reply> {
        self.all(commands)
    }
}

/// The Redis door, to which each connection shows the shared key.
impl Side for Naven {
    fn place(&self) -> String {
        self.redis().to_owned()
    }

    fn address(&self, place: &str) -> String {
        format!("redis://:{}@{place}", key())
    }

    fn all(&self, commands: &[Vec<Vec<u8>>]) -> Vec<Reply> {
        let show = vec![b"AUTH".to_vec(), key().as_bytes().to_vec()];
        let mut replies = exchange(self.redis(), &[&[show], commands].concat());
        assert_eq!(replies.remove(0), Reply::Text(b"OK".to_vec()), "the door lets the key in");
        replies
    }
}

/// A source, which is a real Redis, and the server that its streams are copied to.
pub(crate) struct Scene<T: Side = Naven> {
    pub(crate) source: Redis,
    pub(crate) target: T,
}

impl Scene {
    /// With nothing on either.
    pub(crate) fn start() -> Self {
        Self { source: Redis::start(&[]), target: Start::serve().ready() }
    }
}

impl Scene<Redis> {
    /// From one real Redis to another.
    pub(crate) fn between_redises() -> Self {
        Self { source: Redis::start(&[]), target: Redis::start(&[]) }
    }
}

impl<T: Side> Scene<T> {
    /// Imports with these further arguments.
    pub(crate) fn import(&self, args: &[&str]) -> Ended {
        self.import_by(&self.source.place(), &self.target.place(), args)
    }

    /// The same by way of other addresses.
    pub(crate) fn import_by(&self, source: &str, target: &str, args: &[&str]) -> Ended {
        let (source, target) = (format!("redis://{source}"), self.target.address(target));
        run(&[&["import", &source, "--to", &target, "--output", "json"], args].concat(), &[])
    }

    /// Imports, and panics where it is not whole. The report of `stream`.
    pub(crate) fn whole(&self, stream: &str) -> Value {
        report(&self.import(&[]), 0, stream)
    }

    /// Panics where the stream looks otherwise on the target.
    pub(crate) fn assert_alike(&self, stream: &str) {
        assert_eq!(picture(&self.target, stream), picture(&self.source, stream));
    }
}

/// The report of `stream`, from a command that ended with `code`.
pub(crate) fn report(ended: &Ended, code: i32, stream: &str) -> Value {
    assert_eq!(ended.code, Some(code), "{ended:?}");
    let all: Value = serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("not JSON: {ended:?}"));
    let streams = all["streams"].as_array().expect("a list of streams");
    let found = streams.iter().find(|report| report["stream"] == stream);
    found.unwrap_or_else(|| panic!("no {stream} in {ended:?}")).clone()
}

/// A field of a report's first group.
pub(crate) fn of_group(report: &Value, field: &str) -> u64 {
    report["groups"][0][field].as_u64().unwrap_or_else(|| panic!("{field} in {report}"))
}

/// All of a stream but the time of day: entries, what it remembers, groups, consumers, pending lists. How long
/// ago a line was delivered stands in it in whole minutes, which tests count in.
pub(crate) fn picture(redis: &impl Side, stream: &str) -> Vec<String> {
    let info = redis.done(&format!("XINFO STREAM {stream}"));
    let mut picture: Vec<String> =
        ["length", "last-generated-id", "entries-added", "max-deleted-entry-id", "groups"]
            .map(|name| format!("{name} {}", info.field(name).text()))
            .to_vec();
    for entry in redis.done(&format!("XRANGE {stream} - +")).list() {
        picture.push(format!("{entry:?}"));
    }
    for group in redis.done(&format!("XINFO GROUPS {stream}")).list() {
        let name = group.field("name").text();
        let told = ["pending", "last-delivered-id", "entries-read"].map(|name| group.field(name).text());
        picture.push(format!("group {name} {told:?}"));
        for consumer in redis.done(&format!("XINFO CONSUMERS {stream} {name}")).list() {
            let pending = consumer.field("pending").text();
            picture.push(format!("group {name} consumer {} {pending}", consumer.field("name").text()));
        }
        for line in redis.done(&format!("XPENDING {stream} {name} - + 100000")).list() {
            let [id, consumer, Reply::Number(idle), count] = line.list() else { panic!("{line:?}") };
            let (id, consumer, count) = (id.text(), consumer.text(), count.text());
            picture.push(format!("group {name} {id} {consumer} {} min {count}", idle / 60_000));
        }
    }
    picture
}
