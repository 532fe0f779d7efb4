//! `XREAD`: read streams on from a place.
//!
//! Lives here: its ids, and what a try asks and finds. Not here: the options (`read_options.rs`), waiting.

use bytes::Bytes;
use naven_api::Scope;
use naven_api::limits::REDIS_REPLY_ENTRIES_MAX;
use naven_store::read::{EntryView, Page, Read};
use naven_store::reply::OpReply;
use naven_store::txn::{OpKind, Place, StreamRef};

use super::read_options::{ReadOptions, Reader};
use super::{entries, ids, names, words};
use crate::redis::frame::{Protocol, Reply, Request};
use crate::redis::plan::{Answer, Ask, BlockFor, Plan, Setting, Tried, Waiting, Wake};

/// From where a stream is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Behind {
    /// Behind this place.
    Place(Place),
    /// Behind what is last at the first try (`$`).
    Last,
    /// The last entry itself (`+`).
    Newest,
}

/// A call.
struct XRead {
    streams: Vec<(Bytes, Behind)>,
    limit: u32,
    max_bytes: u64,
    patience: Option<BlockFor>,
}

/// `XREAD [COUNT count] [BLOCK ms] STREAMS key [key ...] id|$|+ [id ...]`.
pub(super) fn parse(call: &Request, _: Setting<'_>) -> Result<Plan, Reply> {
    let options = ReadOptions::parse(call.arguments(), Reader::Anybody)?;
    let max_bytes = options.max_bytes();
    let streams = options.streams.iter().map(|(key, id)| {
        let behind = behind(id)?;
        Ok((names::key(key), behind))
    });
    Ok(Plan::Wait(Box::new(XRead {
        streams: streams.collect::<Result<_, Reply>>()?,
        limit: options.count.and_then(|count| u32::try_from(count).ok()).unwrap_or(u32::MAX),
        max_bytes,
        patience: options.patience,
    })))
}

fn behind(id: &[u8]) -> Result<Behind, Reply> {
    match id {
        b"$" => Ok(Behind::Last),
        b"+" => Ok(Behind::Newest),
        b">" => Err(Reply::error(
            "ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> option.",
        )),
        id => ids::place(id).map(Behind::Place),
    }
}

impl XRead {
    fn ask(&self, key: &Bytes, behind: Behind) -> Ask {
        let (start, reverse, limit) = match behind {
            Behind::Place(place) => match place.after() {
                Some(start) => (start, false, self.limit.min(REDIS_REPLY_ENTRIES_MAX)),
                None => return names::look_at_stream(key, Scope::Read),
            },
            Behind::Newest => (ids::FIRST, true, 1),
            Behind::Last => return names::look_at_stream(key, Scope::Read),
        };
        let read = Read::Entries {
            stream: StreamRef(key.clone()),
            start,
            end: ids::LAST,
            reverse,
            limit,
            max_bytes: self.max_bytes,
            payload: true,
        };
        Ask::on_stream(OpKind::Read(read), Scope::Read, key.clone())
    }
}

impl Waiting for XRead {
    fn asks(&self) -> Vec<Ask> {
        self.streams.iter().map(|(key, behind)| self.ask(key, *behind)).collect()
    }

    fn tried(&mut self, answers: Vec<Answer>, protocol: Protocol) -> Tried {
        let mut read = Vec::new();
        for ((key, behind), answer) in self.streams.iter_mut().zip(answers) {
            match found(answer) {
                Ok(Found::Entries(list)) if list.is_empty() => {
                    // There is no last entry yet: any that comes is one.
                    if *behind == Behind::Newest {
                        *behind = Behind::Place(ids::FIRST);
                    }
                }
                Ok(Found::Entries(list)) => read.push((key.clone(), entries::listed(&list))),
                Ok(Found::Last(last)) if *behind == Behind::Last => *behind = Behind::Place(last),
                Ok(Found::Last(_)) => {}
                Err(error) => return Tried::Over(error),
            }
        }
        if read.is_empty() {
            let streams = self.streams.iter().map(|(key, _)| key.clone()).collect();
            return Tried::Nothing(Wake { streams, ..Wake::default() });
        }
        Tried::Over(entries::by_key(read, protocol))
    }

    fn patience(&self) -> Option<BlockFor> {
        self.patience
    }
}

/// What one stream answers.
enum Found {
    Entries(Vec<EntryView>),
    Last(Place),
}

fn found(answer: Answer) -> Result<Found, Reply> {
    if words::missing(&answer).is_some() {
        return Ok(Found::Last(ids::FIRST));
    }
    match answer {
        Ok(OpReply::Page(page)) => match *page {
            Page::Entries(list, _) => Ok(Found::Entries(list)),
            Page::Stream(view) => Ok(Found::Last(view.last)),
            page => Err(words::unexpected(Ok(OpReply::Page(Box::new(page))))),
        },
        answer => Err(words::unexpected(answer)),
    }
}
