//! What is asked of a server for entries that are pending.
//!
//! Lives here: the steps and their answers, whatever the means. Not here: how they are done by scripts (`scripted.rs`) and by
//! commands (`commands.rs`).

use std::time::Duration;

use naven_api::EntryId;

use super::fields::Fields;

/// The consumer under whose name entries are pending that wait for a retry, where the server has no place for them.
pub(super) const WAITING: &str = "naven:waiting";

/// The names of what a consumer works with.
#[derive(Debug)]
pub(super) struct Names {
    pub(super) stream: Vec<u8>,
    pub(super) group: Vec<u8>,
    pub(super) consumer: Vec<u8>,
    /// The stream of dead letters.
    pub(super) dead: Vec<u8>,
    /// A sorted set: entries that wait, by the instant at which they are due.
    pub(super) due: Vec<u8>,
    /// A hash: how often an entry was given back.
    pub(super) released: Vec<u8>,
}

impl Names {
    pub(super) fn new(stream: &str, group: &str, consumer: &str, dead: &str) -> Self {
        let beside = beside(stream);
        let kept = |what: &str| format!("{beside}:naven:{group}:{what}").into_bytes();
        Self {
            stream: stream.into(),
            group: group.into(),
            consumer: consumer.into(),
            dead: dead.into(),
            due: kept("due"),
            released: kept("released"),
        }
    }

    /// The stream of dead letters, unless another is set.
    pub(super) fn dead_of(stream: &str, is_cluster: bool) -> String {
        if is_cluster { format!("{}:dead", beside(stream)) } else { format!("{stream}:dead") }
    }
}

/// How the name of a key begins that is on the same node of a Cluster as `stream`.
fn beside(stream: &str) -> String {
    if hash_tag(stream) == stream { format!("{{{stream}}}") } else { stream.to_owned() }
}

/// The part of a key's name by which a Cluster gives it to a node.
pub(super) fn hash_tag(name: &str) -> &str {
    let tag = name.split_once('{').and_then(|(_, rest)| rest.split_once('}')).map(|(tag, _)| tag);
    tag.filter(|tag| !tag.is_empty()).unwrap_or(name)
}

/// An entry as it was handed to us: its id, and how often it had been delivered then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Handed {
    pub(super) id: EntryId,
    pub(super) count: u64,
    /// True where some of these deliveries count as no attempt.
    pub(super) was_released: bool,
}

/// What is said of an entry that is ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Word {
    /// It goes on to be ours.
    Beat,
    /// It is finished.
    Ack,
    /// It is due for anybody, later: by the server's own rule where there is no delay and the server has one.
    Wait { asked: Option<Duration>, otherwise: Duration },
    /// It is due for anybody at once, and no attempt is counted.
    Release,
    /// It is a dead letter.
    Bury { reason: &'static str, error: String },
}

/// How an entry stands, once something was said of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// It was ours, and the word was taken.
    Taken,
    /// It was ours, and is not in its stream any more.
    Deleted,
    /// It is not pending.
    Gone,
    /// It waits, since the delivery that we speak of.
    Waiting,
    /// It is somebody else's, or was delivered again.
    Other,
}

/// Which pending entries are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// What our own name holds, and we do not.
    Own,
    /// What waited and is due.
    Due,
    /// That, and what others have held for longer than a lease without a word.
    DueAndIdle,
}

/// A look at what is pending.
#[derive(Debug, Clone)]
pub(super) struct Look {
    pub(super) wanted: Wanted,
    pub(super) most: usize,
    pub(super) lease: Duration,
    /// Entries that were delivered so often already are dead letters.
    pub(super) max_deliveries: Option<u32>,
    /// Where it goes on.
    pub(super) cursor: String,
    /// What is in work here.
    pub(super) in_work: Vec<EntryId>,
}

/// Where a look begins.
pub(super) const START: &str = "-";

/// What a look found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Where the next one goes on.
    pub(super) cursor: String,
    /// When the first of those that wait is due, where it is known.
    pub(super) next_due: Option<Duration>,
    pub(super) entries: Vec<Pending>,
    /// Entries that were deleted: they are acked.
    pub(super) deleted: Vec<EntryId>,
    /// Entries that became dead letters.
    pub(super) buried: Vec<EntryId>,
    /// Entries that should have, and why they did not: they stay pending.
    pub(super) unburied: Vec<(EntryId, String)>,
    /// True where there may be more.
    pub(super) is_full: bool,
}

/// An entry that was pending, and is ours now.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Pending {
    pub(super) id: EntryId,
    pub(super) fields: Fields,
    /// How often it was delivered, this time included.
    pub(super) count: u64,
    /// How many of these count as no attempt.
    pub(super) released: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_beside_a_stream_has_its_hash_tag() {
        let due = |stream| String::from_utf8(Names::new(stream, "g", "c", "dead").due).unwrap();
        assert_eq!(due("factory:events"), "{factory:events}:naven:g:due");
        assert_eq!(due("{factory}:events"), "{factory}:events:naven:g:due");
        for stream in ["factory:events", "{factory}:events", "a{b}c{d}", "a{b"] {
            assert_eq!(hash_tag(&due(stream)), hash_tag(stream), "{stream}");
            assert_eq!(hash_tag(&Names::dead_of(stream, true)), hash_tag(stream), "{stream}");
        }
        assert_eq!(Names::dead_of("factory:events", false), "factory:events:dead");
    }

    #[test]
    fn a_hash_tag_is_what_is_in_the_first_braces() {
        let tags = ["a", "{a}b", "x{a}y{b}", "{}a", "a}{", "{{a}}b"].map(hash_tag);
        assert_eq!(tags, ["a", "a", "a", "{}a", "a}{", "{a"]);
    }
}
