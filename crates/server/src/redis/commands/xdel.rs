//! `XDEL` and `XDELEX`: drop single entries.
//!
//! Lives here: their arguments and replies, and the list of ids with its count that Redis 8 has. Not here:
//! `XACKDEL` (`xack.rs`).

use bytes::Bytes;
use naven_api::Scope;
use naven_store::reply::{Fate, OpReply};
use naven_store::txn::{DeleteEntries, OpKind, Place, References, StreamRef};

use super::number::{shown, whole_or};
use super::trimming::references;
use super::{ids, names, words};
use crate::redis::frame::{Reply, Request};
use crate::redis::plan::{Answer, Ask, Plan, Setting};

/// `XDEL key id [id ...]`.
pub(super) fn parse(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    let [key, given @ ..] = call.arguments() else { return Err(words::arity("xdel")) };
    let key = names::key(key);
    let places = match ids::places(given) {
        Ok(places) => places,
        Err(error) => {
            let look = names::look_at_stream(&key, Scope::Admin);
            let none = |answer: &Answer| words::missing(answer).map(|_| Reply::Integer(0));
            return Ok(names::once_found(look, error, none));
        }
    };
    Ok(Plan::ask(ask(key, places, References::Keep), |answer, _| count(answer)))
}

/// `XDELEX key [KEEPREF|DELREF|ACKED] IDS count id [id ...]`.
pub(super) fn parse_ex(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    let [key, rest @ ..] = call.arguments() else { return Err(words::arity("xdelex")) };
    let (references, places) = listed(rest)?;
    let key = names::key(key);
    let wanted = places.len();
    Ok(Plan::ask(ask(key, places, references), move |answer, _| fates(answer, wanted)))
}

fn ask(key: Bytes, places: Vec<Place>, references: References) -> Ask {
    let op = DeleteEntries { stream: StreamRef(key.clone()), places, references };
    Ask::on_stream(OpKind::DeleteEntries(op), Scope::Admin, key)
}

/// How many of what was named were there; none where the key or the group is not.
pub(super) fn count(answer: Answer) -> Reply {
    words::unless_missing(answer, Reply::Integer(0), |answer| match answer {
        Ok(OpReply::Fates(fates)) => {
            shown(fates.iter().filter(|fate| **fate != Fate::Missing).count() as u64)
        }
        Ok(OpReply::Removed(count)) => shown(count),
        answer => words::unexpected(answer),
    })
}

/// What became of each of `wanted`: -1 for what was not there, 1, or 2 for what was done to an entry that stays.
pub(super) fn fates(answer: Answer, wanted: usize) -> Reply {
    let absent = Reply::Array(vec![Reply::Integer(-1); wanted]);
    words::unless_missing(answer, absent, |answer| match answer {
        Ok(OpReply::Fates(fates)) => Reply::Array(fates.into_iter().map(fate).collect()),
        answer => words::unexpected(answer),
    })
}

fn fate(fate: Fate) -> Reply {
    Reply::Integer(match fate {
        Fate::Missing => -1,
        Fate::Done => 1,
        Fate::Kept => 2,
    })
}

/// `[KEEPREF|DELREF|ACKED] IDS count id [id ...]`, the two in either order.
pub(super) fn listed(arguments: &[Bytes]) -> Result<(References, Vec<Place>), Reply> {
    let (mut wanted, mut places) = (None, None);
    let mut rest = arguments;
    while let [option, behind @ ..] = rest {
        if let Some(references) = references(option) {
            if wanted.replace(references).is_some() {
                return Err(words::syntax());
            }
            rest = behind;
        } else if option.eq_ignore_ascii_case(b"IDS") && places.is_none() {
            let (found, behind) = counted(behind)?;
            places = Some(found);
            rest = behind;
        } else {
            return Err(words::syntax());
        }
    }
    let places = places.ok_or_else(words::syntax)?;
    Ok((wanted.unwrap_or(References::Keep), places))
}

/// The ids behind their count, and what follows them.
pub(super) fn counted(arguments: &[Bytes]) -> Result<(Vec<Place>, &[Bytes]), Reply> {
    let words = "ERR Number of IDs must be a positive integer";
    let [count, rest @ ..] = arguments else { return Err(words::syntax()) };
    let count = whole_or(count, words)?;
    let count = usize::try_from(count).ok().filter(|count| *count > 0).ok_or_else(|| Reply::error(words))?;
    let Some((given, behind)) = rest.split_at_checked(count) else {
        return Err(Reply::error("ERR The `numids` parameter must match the number of arguments"));
    };
    Ok((ids::places(given)?, behind))
}
