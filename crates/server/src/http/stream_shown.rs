//! How streams look in JSON.
//!
//! Lives here: views of streams, entries and their queues into replies. Not here: events and queues by
//! themselves (`shown.rs`), the replies' shapes (`naven_api`).

use naven_api::Headers;
use naven_api::stream::{EntryReply, GroupReply, StreamReply};
use naven_store::read::{EntryView, GroupView, StreamView};
use naven_store::txn::Place;

use super::shown::{PayloadShown, age_seconds, entry_id, payload, queue, retention};
use crate::failure::Failure;

/// A stream.
pub(super) fn stream(view: StreamView) -> StreamReply {
    StreamReply {
        name: name(&view.name),
        retention: retention(view.settings.retention),
        dedupe_window_seconds: view.settings.dedupe_window_seconds,
        length: view.length,
        first_id: view.first.map(entry_id),
        last_id: given(view.last).map(entry_id),
        entries_added: view.added,
        scheduled: view.scheduled,
        queues: view.queues,
        created_at: view.created_at,
    }
}

/// A stream's name as text. Those made over HTTP are text; of others, what is not becomes U+FFFD.
pub(super) fn name(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// An entry.
pub(super) fn entry(view: EntryView, shown: PayloadShown) -> Result<EntryReply, Failure> {
    let payload = match shown {
        PayloadShown::No => None,
        PayloadShown::Yes => Some(view.body.map(payload).transpose()?),
    };
    Ok(EntryReply {
        stream_id: entry_id(view.place),
        event_id: view.event,
        payload,
        headers: Headers::stored(view.headers),
        created_at: view.created_at,
    })
}

/// A queue of a stream.
pub(super) fn group(view: GroupView) -> GroupReply {
    let now = view.queue.now;
    let queue = queue(view.queue);
    GroupReply {
        queue_id: queue.id,
        name: queue.name,
        paused: queue.paused,
        last_delivered_id: given(view.last_delivered).map(entry_id),
        lag: view.lag,
        pending: view.pending,
        oldest_pending_age_seconds: view.oldest_pending.map(|since| age_seconds(since, now)),
        trimmed_unread: view.trimmed_unread,
        counts: queue.counts,
    }
}

/// Engines say zero where no place was given yet.
fn given(place: Place) -> Option<Place> {
    (place != Place::default()).then_some(place)
}
