//! What a server says of a stream, its groups and their consumers.
//!
//! Lives here: asking for it. Older servers say less: what they do not tell is none. Not here: entries
//! (`entries.rs`) and pending lists (`pending.rs`).

use redis::{Cmd, Value, cmd};

use super::find::type_of;
use super::limits::{CONSUMERS_MAX, GROUPS_MAX};
use super::place::Place;
use super::reply::{count, field, list, place, shown};
use super::side::Side;
use super::trouble::Trouble;

/// A stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StreamInfo {
    pub(super) entries: u64,
    /// The last place that was ever given, whether or not its entry is still there.
    pub(super) last: Place,
    /// Told since 7.0.
    pub(super) added: Option<u64>,
    /// The largest id that was ever deleted. Told since 7.0.
    pub(super) deleted: Option<Place>,
}

/// A group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GroupInfo {
    pub(super) name: Vec<u8>,
    /// The last entry that was delivered.
    pub(super) last: Place,
    /// Told since 7.0, where it is known.
    pub(super) read: Option<u64>,
    pub(super) pending: u64,
}

/// A consumer of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ConsumerInfo {
    pub(super) name: Vec<u8>,
    pub(super) pending: u64,
}

/// The stream; none where there is no such key.
///
/// # Errors
/// What the side says; also where the key holds something else.
pub(super) async fn stream(side: &Side, name: &[u8]) -> Result<Option<StreamInfo>, Trouble> {
    match type_of(side, name).await?.as_str() {
        "stream" => {}
        "none" => return Ok(None),
        other => {
            let why = format!("{}: {} is a {other}, not a stream", side.name, shown(name));
            return Err(Trouble::Refused(why));
        }
    }
    let mut command = cmd("XINFO");
    command.arg("STREAM").arg(name);
    let answer = side.ask(&command).await?;
    let number = |name| field(&answer, name).and_then(count);
    let id = |name| field(&answer, name).and_then(place);
    let told = number("length").zip(id("last-generated-id"));
    let (entries, last) = told.ok_or_else(|| side.refused(&command, "not an answer to it"))?;
    Ok(Some(StreamInfo {
        entries,
        last,
        added: number("entries-added"),
        deleted: id("max-deleted-entry-id"),
    }))
}

/// The groups of a stream that is there.
///
/// # Errors
/// What the side says; also where there are too many.
pub(super) async fn groups(side: &Side, stream: &[u8]) -> Result<Vec<GroupInfo>, Trouble> {
    let mut command = cmd("XINFO");
    command.arg("GROUPS").arg(stream);
    let read = |group: &Value| {
        Some(GroupInfo {
            name: name(group)?,
            last: place(field(group, "last-delivered-id")?)?,
            read: field(group, "entries-read").and_then(count),
            pending: count(field(group, "pending")?)?,
        })
    };
    all(side, &command, GROUPS_MAX, read).await
}

/// The consumers of a group that is there.
///
/// # Errors
/// What the side says; also where there are too many.
pub(super) async fn consumers(
    side: &Side,
    stream: &[u8],
    group: &[u8],
) -> Result<Vec<ConsumerInfo>, Trouble> {
    let mut command = cmd("XINFO");
    command.arg("CONSUMERS").arg(stream).arg(group);
    let read = |consumer: &Value| {
        Some(ConsumerInfo { name: name(consumer)?, pending: count(field(consumer, "pending")?)? })
    };
    all(side, &command, CONSUMERS_MAX, read).await
}

async fn all<T>(
    side: &Side,
    command: &Cmd,
    most: usize,
    read: impl Fn(&Value) -> Option<T>,
) -> Result<Vec<T>, Trouble> {
    let answer = side.ask(command).await?;
    let found = list(answer).and_then(|items| items.iter().map(read).collect::<Option<Vec<_>>>());
    let found = found.ok_or_else(|| side.refused(command, "not an answer to it"))?;
    if found.len() > most {
        return Err(side.refused(command, &format!("{} of them; {most} is the most", found.len())));
    }
    Ok(found)
}

fn name(thing: &Value) -> Option<Vec<u8>> {
    match field(thing, "name")? {
        Value::BulkString(name) => Some(name.clone()),
        _ => None,
    }
}
