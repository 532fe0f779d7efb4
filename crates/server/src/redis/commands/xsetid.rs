//! `XSETID`: move a stream's last place.
//!
//! Lives here: its arguments and its reply. Not here: the rules on places (the engines).

use naven_api::Scope;
use naven_store::read::Page;
use naven_store::reply::{OpError, OpReply, Refused};
use naven_store::txn::{OpKind, Place, SetId, StreamRef};

use super::number::whole;
use super::{ids, names, words};
use crate::redis::frame::{Reply, Request};
use crate::redis::plan::{Answer, Ask, Plan, Setting};

/// `XSETID key last-id [ENTRIESADDED count] [MAXDELETEDID id]`.
pub(super) fn parse(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    let [key, last, rest @ ..] = call.arguments() else { return Err(words::arity("xsetid")) };
    let last = ids::place(last)?;
    let (mut added, mut max_deleted) = (None, ids::FIRST);
    let mut rest = rest;
    while let [option, behind @ ..] = rest {
        let Some((value, behind)) = behind.split_first() else { return Err(words::syntax()) };
        if option.eq_ignore_ascii_case(b"ENTRIESADDED") {
            let count = u64::try_from(whole(value)?);
            added = Some(count.map_err(|_| Reply::error("ERR entries_added must be positive"))?);
        } else if option.eq_ignore_ascii_case(b"MAXDELETEDID") {
            max_deleted = ids::place(value)?;
            if last < max_deleted {
                return Err(Reply::error(
                    "ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id",
                ));
            }
        } else {
            return Err(words::syntax());
        }
        rest = behind;
    }
    let key = names::key(key);
    let max_deleted = Some(max_deleted).filter(|place| *place != ids::FIRST);
    let op = SetId { stream: StreamRef(key.clone()), last, added, max_deleted };
    let told = String::from_utf8_lossy(&key).into_owned();
    let set = Ask::on_stream(OpKind::SetId(op), Scope::Admin, key.clone()).noted("stream.set-id", told);
    // The stream's facts tell two refusals apart that are one to the engine.
    let look = names::look_at_stream(&key, Scope::Admin);
    Ok(Plan::asks(vec![set, look], move |answers, _| reply(answers, last)))
}

fn reply(answers: Vec<Answer>, last: Place) -> Reply {
    let mut answers = answers.into_iter();
    let (set, look) = (answers.next(), answers.next());
    match set.unwrap_or(Err(OpError::Unknown)) {
        Ok(_) => Reply::OK,
        Err(OpError::Refused(Refused::FactsWrong)) if is_behind_deleted(look, last) => {
            Reply::error("ERR The ID specified in XSETID is smaller than current max_deleted_entry_id")
        }
        error => words::unless_missing(error, words::no_key(), words::unexpected),
    }
}

fn is_behind_deleted(look: Option<Answer>, last: Place) -> bool {
    match look {
        Some(Ok(OpReply::Page(page))) => matches!(*page, Page::Stream(view) if last < view.max_deleted),
        _ => false,
    }
}
