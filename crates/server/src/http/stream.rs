//! Streams: seeing them, their entries and queues, trimming and deleting them.
//!
//! Lives here: the handlers. Not here: publishing (`publish.rs`), making a queue on a stream (`queue.rs`),
//! one queue of a stream (`group.rs`).

use std::sync::Arc;

use axum::extract::State;
use naven_api::envelope::List;
use naven_api::limits::PAGE_PAYLOAD_BYTES_MAX;
use naven_api::stream::{GroupReply, StreamDeletedReply, TrimReply, TrimRequest};
use naven_store::read::{Cursor, EntryView, Page, Read};
use naven_store::reply::OpReply;
use naven_store::txn::{DeleteOp, Keep, Op, OpKind, Place, StreamRef, Trim, Trimming};

use super::answer::{Reply, ok};
use super::body::Sent;
use super::event::shown_if;
use super::extract::StreamInPath;
use super::list::page;
use super::query::Query;
use super::reach::allow_stream;
use super::stream_shown as shown;
use crate::auth::{Caller, Scope, Thing};
use crate::failure::Failure;
use crate::node::{Node, odd_page, odd_reply};

/// `GET /v1/streams`: streams, newest first.
pub(super) async fn list(State(node): State<Arc<Node>>, caller: Caller, mut query: Query) -> Reply {
    caller.may(Scope::Read, Thing::Nothing)?;
    let name_prefix = query.text("namePrefix").unwrap_or_default();
    let filter = format!("streams {name_prefix}").into_bytes();
    let (cursor, limit) = (query.cursor(&filter), query.limit());
    query.end()?;
    let read = Read::Streams { name_prefix: name_prefix.into(), cursor, limit };
    match node.engine.read(read).await? {
        Page::Streams(views, next) => {
            let seen = views.into_iter().filter(|view| caller.reaches(Thing::Stream(&view.name)));
            page(seen.map(shown::stream).collect(), next.as_ref(), &filter)
        }
        other => Err(odd_page(&other)),
    }
}

/// `GET /v1/streams/{name}`.
pub(super) async fn get(
    State(node): State<Arc<Node>>,
    caller: Caller,
    StreamInPath(stream): StreamInPath,
    query: Query,
) -> Reply {
    allow_stream(&caller, Scope::Read, &stream)?;
    node.in_stream(&stream, query.end()).await?;
    ok(&shown::stream(node.stream(stream).await?))
}

/// `GET /v1/streams/{name}/entries`: in the order of their places, or the last one first.
pub(super) async fn entries(
    State(node): State<Arc<Node>>,
    caller: Caller,
    StreamInPath(stream): StreamInPath,
    mut query: Query,
) -> Reply {
    allow_stream(&caller, Scope::Read, &stream)?;
    let asked = Asked::read(&mut query, &stream);
    node.in_stream(&stream, query.end()).await?;
    let Asked { start, end, reverse, limit, payload, filter } = asked;
    let limit = node.page_items(limit, payload);
    let room = node.room_for_payloads(if payload { limit } else { 0 }).await?;
    let read = Read::Entries {
        stream,
        start,
        end,
        reverse,
        limit,
        max_bytes: PAGE_PAYLOAD_BYTES_MAX as u64,
        payload,
    };
    match node.engine.read(read).await? {
        Page::Entries(views, more) => {
            let next = if more { views.last().and_then(|last| after(last, reverse)) } else { None };
            let shown = views.into_iter().map(|view| shown::entry(view, shown_if(payload)));
            Ok(page(shown.collect::<Result<Vec<_>, Failure>>()?, next.as_ref(), &filter)?.taking(room))
        }
        other => Err(odd_page(&other)),
    }
}

/// Which entries are asked for.
#[derive(Debug)]
pub(super) struct Asked {
    start: Place,
    end: Place,
    reverse: bool,
    limit: u32,
    payload: bool,
    filter: Vec<u8>,
}

impl Asked {
    pub(super) fn read(query: &mut Query, stream: &StreamRef) -> Self {
        let start = query.place("start", 0).unwrap_or_default();
        let end = query.place("end", u64::MAX).unwrap_or(Place { ms: u64::MAX, seq: u64::MAX });
        let reverse = query.flag("reverse", false);
        let mut filter = format!("entries {start} {end} {reverse} ").into_bytes();
        filter.extend_from_slice(&stream.0);
        let next = query.cursor(&filter).map(|cursor| place_of(&cursor));
        let (limit, payload) = (query.limit(), query.flag("includePayload", true));
        let (start, end) = match next {
            None => (start, end),
            Some(None) => {
                query.bad_cursor();
                (start, end)
            }
            Some(Some(place)) if reverse => (start, end.min(place)),
            Some(Some(place)) => (start.max(place), end),
        };
        Self { start, end, reverse, limit, payload, filter }
    }
}

/// Where the page goes on that ends with `last`; none where no place is left.
fn after(last: &EntryView, reverse: bool) -> Option<Cursor> {
    let Place { ms, seq } = last.place;
    let next = match (reverse, seq) {
        (false, u64::MAX) => Place { ms: ms.checked_add(1)?, seq: 0 },
        (false, _) => Place { ms, seq: seq + 1 },
        (true, 0) => Place { ms: ms.checked_sub(1)?, seq: u64::MAX },
        (true, _) => Place { ms, seq: seq - 1 },
    };
    Some(cursor_at(next))
}

/// Where a page goes on that begins with `place`.
pub(super) fn cursor_at(place: Place) -> Cursor {
    Cursor([place.ms.to_be_bytes(), place.seq.to_be_bytes()].concat())
}

/// The place at which a page goes on; none where the cursor says none.
pub(super) fn place_of(cursor: &Cursor) -> Option<Place> {
    let bytes: [u8; 16] = cursor.0.as_slice().try_into().ok()?;
    let both = u128::from_be_bytes(bytes);
    Some(Place { ms: (both >> 64) as u64, seq: both as u64 })
}

/// `GET /v1/streams/{name}/groups`: its queues, oldest first.
pub(super) async fn groups(
    State(node): State<Arc<Node>>,
    caller: Caller,
    StreamInPath(stream): StreamInPath,
    query: Query,
) -> Reply {
    allow_stream(&caller, Scope::Read, &stream)?;
    node.in_stream(&stream, query.end()).await?;
    match node.engine.read(Read::Groups(stream)).await? {
        Page::Groups(views) => {
            let seen = views.into_iter().filter(|view| caller.reaches(Thing::Queue(&view.queue.name)));
            ok(&List::<GroupReply> { items: seen.map(shown::group).collect(), next_cursor: None })
        }
        other => Err(odd_page(&other)),
    }
}

/// `DELETE /v1/streams/{name}`: with its queues; with `?force=true` whatever they still hold becomes dead
/// letters.
pub(super) async fn delete(
    State(node): State<Arc<Node>>,
    caller: Caller,
    StreamInPath(stream): StreamInPath,
    mut query: Query,
) -> Reply {
    allow_stream(&caller, Scope::Admin, &stream)?;
    let force = query.flag("force", false);
    node.in_stream(&stream, query.end()).await?;
    let name = shown::name(&stream.0);
    let note = caller.note("stream.delete", name.clone());
    match node.apply_noted(OpKind::Delete(DeleteOp::Stream { stream, force }), note).await? {
        OpReply::Done => ok(&StreamDeletedReply { name, deleted: true }),
        other => Err(odd_reply(&other)),
    }
}

/// Entries that leave in one transaction of a trim: few enough that other calls do not wait for it.
const TRIM_STEP: u64 = 1_000;

/// `POST /v1/streams/{name}/trim`: in steps. Where its caller goes away meanwhile, it stops half way.
pub(super) async fn trim(
    State(node): State<Arc<Node>>,
    caller: Caller,
    StreamInPath(stream): StreamInPath,
    sent: Sent,
) -> Reply {
    allow_stream(&caller, Scope::Admin, &stream)?;
    let keep = match node.in_stream(&stream, sent.decode(TrimRequest::decode)).await? {
        TrimRequest::MaxLength(newest) => Keep::Newest(newest.into()),
        TrimRequest::Id(id) => Keep::From(Place { ms: id.ms, seq: id.seq }),
        TrimRequest::Time(at) => {
            // No entry is older than 1970.
            Keep::From(Place { ms: u64::try_from(at.as_ms()).unwrap_or(0), seq: 0 })
        }
    };
    // The log tells of a trim once, however many steps it takes.
    let mut note = Some(caller.note("stream.trim", shown::name(&stream.0)));
    let mut trimmed = 0;
    loop {
        let step =
            Trim { stream: stream.clone(), how: Trimming { limit: Some(TRIM_STEP), ..Trimming::to(keep) } };
        let op = Op { audit: note.take(), ..Op::plain(OpKind::Trim(step)) };
        match node.ask(op).await? {
            OpReply::Removed(count) => {
                trimmed += count;
                if count < TRIM_STEP {
                    return ok(&TrimReply { name: shown::name(&stream.0), trimmed });
                }
            }
            other => return Err(odd_reply(&other)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(ms: u64, seq: u64, reverse: bool) -> Option<Place> {
        let entry = EntryView {
            place: Place { ms, seq },
            event: naven_api::EventId::from_bits(0),
            body: None,
            headers: Vec::new(),
            created_at: naven_api::Timestamp::default(),
        };
        after(&entry, reverse).map(|cursor| place_of(&cursor).expect("a cursor of ours"))
    }

    #[test]
    fn a_page_goes_on_at_the_neighbour_of_its_last_entry() {
        let place = |ms, seq| Some(Place { ms, seq });
        assert_eq!(next(5, 1, false), place(5, 2));
        assert_eq!(next(5, 1, true), place(5, 0));
        assert_eq!(next(5, u64::MAX, false), place(6, 0));
        assert_eq!(next(5, 0, true), place(4, u64::MAX));
        assert_eq!(next(u64::MAX, u64::MAX, false), None);
        assert_eq!(next(0, 0, true), None);
        assert_eq!(place_of(&Cursor(vec![1])), None);
    }
}
