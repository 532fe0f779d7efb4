//! Commands about all keys: KEYS, SCAN and DBSIZE.
//!
//! Lives here: going through the streams that a caller's key reaches. Not here: single keys (`keys.rs`).

use bytes::Bytes;
use naven_api::Scope;
use naven_store::BoxFuture;
use naven_store::read::{Cursor, Page, Read, StreamView};
use naven_store::reply::OpError;

use super::arguments::{NOT_AN_INTEGER, integer, is, shown, syntax};
use super::glob::{matches, prefix};
use crate::auth::{Caller, Thing};
use crate::redis::door::RedisDoor;
use crate::redis::frame::{Reply, Request};
use crate::redis::plan::{AtDoor, Plan, Setting};
use crate::redis::refusal::refusal;
use crate::redis::rights::no_permission;

/// Streams that are looked at in one question.
const PAGE_STREAMS: u32 = 500;
/// Types of keys that Redis has and that are never here.
const OTHER_TYPES: [&str; 5] = ["string", "list", "set", "zset", "hash"];

/// The next streams of `door` behind `cursor`, of these first bytes of their names, and where to go on.
pub(super) async fn page(
    door: &RedisDoor,
    name_prefix: Bytes,
    cursor: Option<Cursor>,
    limit: u32,
) -> Result<(Vec<StreamView>, Option<Cursor>), OpError> {
    match door.node.engine.read(Read::Streams { name_prefix, cursor, limit }).await? {
        Page::Streams(streams, next) => Ok((streams, next)),
        _ => Err(OpError::Unknown),
    }
}

/// The names of all streams that `caller` reaches and that `pattern` takes.
async fn names(door: &RedisDoor, caller: &Caller, pattern: &[u8]) -> Result<Vec<Bytes>, OpError> {
    let (start, mut names, mut cursor) = (Bytes::copy_from_slice(prefix(pattern)), Vec::new(), None);
    loop {
        let (streams, next) = page(door, start.clone(), cursor, PAGE_STREAMS).await?;
        let seen = streams.into_iter().map(|stream| stream.name);
        names.extend(seen.filter(|name| is_seen(caller, pattern, name)));
        match next {
            Some(next) => cursor = Some(next),
            None => return Ok(names),
        }
    }
}

fn is_seen(caller: &Caller, pattern: &[u8], name: &[u8]) -> bool {
    caller.reaches(Thing::Stream(name)) && matches(pattern, name)
}

/// How many streams `caller` reaches.
pub(super) async fn count(door: &RedisDoor, caller: &Caller) -> Result<usize, OpError> {
    Ok(names(door, caller, b"*").await?.len())
}

struct Names {
    pattern: Bytes,
    /// True where only their number is asked for.
    counts: bool,
}

/// `KEYS pattern`.
pub(super) fn keys(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    let pattern = call.arguments().first().cloned().unwrap_or_default();
    Ok(Plan::Door(Box::new(Names { pattern, counts: false })))
}

/// `DBSIZE`.
pub(super) fn size(_: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    Ok(Plan::Door(Box::new(Names { pattern: Bytes::from_static(b"*"), counts: true })))
}

impl AtDoor for Names {
    fn run<'a>(
        self: Box<Self>,
        door: &'a RedisDoor,
        caller: &'a Caller,
        name: &'a str,
    ) -> BoxFuture<'a, Reply> {
        Box::pin(async move {
            if caller.may(Scope::Read, Thing::Nothing).is_err() {
                return no_permission(caller, name);
            }
            match names(door, caller, &self.pattern).await {
                Ok(names) if self.counts => Reply::Integer(names.len() as i64),
                Ok(names) => Reply::Array(names.into_iter().map(Reply::Bulk).collect()),
                Err(error) => refusal(&error),
            }
        })
    }
}

/// Bits of a SCAN cursor that say how many bytes the engine's own cursor has.
const LENGTH_BITS: u32 = 5;

/// The engine's cursor as the number that SCAN has to give: its value, and its length. None where that is no
/// number of 64 bits, which no engine's cursor of streams is.
fn number_of(Cursor(bytes): &Cursor) -> Option<u64> {
    let mut value = [0; 16];
    value.get_mut(16_usize.checked_sub(bytes.len())?..)?.copy_from_slice(bytes);
    let value = u64::try_from(u128::from_be_bytes(value)).ok()?;
    let room = u64::MAX >> LENGTH_BITS;
    (value <= room).then_some((value << LENGTH_BITS) | bytes.len() as u64)
}

/// The same back again; none where no cursor has this number.
fn cursor_of(number: u64) -> Option<Cursor> {
    let length = (number & ((1 << LENGTH_BITS) - 1)) as usize;
    let value = u128::from(number >> LENGTH_BITS).to_be_bytes();
    let bytes = value.get(16_usize.checked_sub(length)?..).filter(|bytes| !bytes.is_empty())?;
    // Else it is a number that was never given: its value has more bytes than it says.
    Some(Cursor(bytes.to_vec())).filter(|cursor| number_of(cursor) == Some(number))
}

/// Holds a number to the law of SCAN's cursors: one that is taken is the number of the cursor that it stands for.
///
/// # Panics
/// Where it is broken.
#[cfg(any(test, fuzzing))]
pub(crate) fn check_scan_cursor(number: u64) {
    if let Some(cursor) = cursor_of(number) {
        assert_eq!(number_of(&cursor), Some(number), "{cursor:?}");
    }
}

/// One step through the streams, newest first.
struct Scan {
    cursor: u64,
    pattern: Bytes,
    count: u32,
    /// False where a type is asked for that no key has.
    is_of_streams: bool,
}

/// `SCAN cursor [MATCH pattern] [COUNT count] [TYPE type]`.
pub(super) fn scan(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    let Some((cursor, mut rest)) = call.arguments().split_first() else { return Err(syntax()) };
    let cursor = std::str::from_utf8(cursor).ok().and_then(|cursor| cursor.parse().ok());
    let cursor = cursor.ok_or_else(|| Reply::error("ERR invalid cursor"))?;
    let mut scan = Scan { cursor, pattern: Bytes::from_static(b"*"), count: 10, is_of_streams: true };
    while let Some((option, behind)) = rest.split_first() {
        let (value, behind) = behind.split_first().ok_or_else(syntax)?;
        if is(option, "match") {
            scan.pattern = value.clone();
        } else if is(option, "count") {
            let count = integer(value).ok_or_else(|| Reply::error(NOT_AN_INTEGER))?;
            if count < 1 {
                return Err(syntax());
            }
            scan.count = u32::try_from(count).map_or(PAGE_STREAMS, |count| count.min(PAGE_STREAMS));
        } else if is(option, "type") {
            scan.is_of_streams = is(value, "stream");
            if !scan.is_of_streams && !OTHER_TYPES.iter().any(|known| is(value, known)) {
                return Err(Reply::error(format!("ERR unknown type name '{}'", shown(value))));
            }
        } else {
            return Err(syntax());
        }
        rest = behind;
    }
    Ok(Plan::Door(Box::new(scan)))
}

impl AtDoor for Scan {
    fn run<'a>(
        self: Box<Self>,
        door: &'a RedisDoor,
        caller: &'a Caller,
        name: &'a str,
    ) -> BoxFuture<'a, Reply> {
        Box::pin(async move {
            if caller.may(Scope::Read, Thing::Nothing).is_err() {
                return no_permission(caller, name);
            }
            let cursor = match self.cursor {
                0 => None,
                number => match cursor_of(number) {
                    Some(cursor) => Some(cursor),
                    None => return Reply::error("ERR invalid cursor"),
                },
            };
            let start = Bytes::copy_from_slice(prefix(&self.pattern));
            let (streams, next) = match page(door, start, cursor, self.count).await {
                Ok(found) => found,
                Err(error) => return refusal(&error),
            };
            let next = next.and_then(|next| number_of(&next)).unwrap_or(0);
            let names = streams.into_iter().map(|stream| stream.name);
            let seen = names.filter(|name| self.is_of_streams && is_seen(caller, &self.pattern, name));
            Reply::Array(vec![Reply::bulk(next.to_string()), Reply::Array(seen.map(Reply::Bulk).collect())])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_s_cursor_comes_back_from_its_number() {
        for bytes in [vec![0, 0, 1, 2], vec![0xff; 4], u128::from(7_u64).to_be_bytes().to_vec()] {
            let cursor = Cursor(bytes);
            let number = number_of(&cursor).expect("it is a number");
            assert_eq!(cursor_of(number), Some(cursor));
        }
        assert_eq!(number_of(&Cursor(vec![0xff; 16])), None);
        assert_eq!(cursor_of(32), None, "of no bytes");
        assert_eq!(cursor_of(31), None, "of too many");
        assert_eq!(cursor_of((1 << 37) | 4), None, "of more than it says");
    }
}
