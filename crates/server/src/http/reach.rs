//! Whether a key reaches what a call names.
//!
//! Lives here: finding the names behind ids, where the key's patterns need them, and what of an event a
//! key sees. Not here: the decision itself (`Caller::may`).

use naven_api::{EventId, QueueId};
use naven_store::queue::QueueRef;
use naven_store::read::EventView;
use naven_store::reply::Refused;
use naven_store::txn::StreamRef;

use crate::auth::{Caller, Scope, Thing};
use crate::failure::Failure;
use crate::node::Node;

impl Node {
    /// Whether `caller` may do to `queue` what needs `scope`.
    ///
    /// # Errors
    /// 40401 and 40101.
    pub(super) async fn allow_queue(
        &self,
        caller: &Caller,
        scope: Scope,
        queue: &QueueRef,
    ) -> Result<(), Failure> {
        match queue {
            QueueRef::Name(name) => caller.may(scope, Thing::Queue(name)),
            QueueRef::Group { .. } => caller.may(scope, Thing::Queue(&queue.to_text())),
            QueueRef::Id(_) if caller.reaches_all() => caller.may(scope, Thing::Nothing),
            QueueRef::Id(_) => caller.may(scope, Thing::Queue(&self.queue(queue.clone()).await?.name)),
        }
    }

    /// Whether `caller` sees anything of `event`. Cancelling and redriving ask this; the scope was asked for
    /// before.
    ///
    /// # Errors
    /// 40402.
    pub(super) async fn allow_event(&self, caller: &Caller, event: EventId) -> Result<(), Failure> {
        if caller.reaches_all() {
            return Ok(());
        }
        seen_by(caller, self.event(event, false).await?).map(drop)
    }

    /// In which queues `caller` may settle `event`: `None` is in any. An event of a shared stream is in
    /// several, and a token of a queue that the key does not reach is none for it.
    ///
    /// # Errors
    /// 40402 where it sees nothing of the event.
    pub(super) async fn settles_in(
        &self,
        caller: &Caller,
        event: EventId,
    ) -> Result<Option<Vec<QueueId>>, Failure> {
        if caller.reaches_all() {
            return Ok(None);
        }
        let mut view = seen_by(caller, self.event(event, false).await?)?;
        view.deliveries.retain(|delivery| caller.reaches(Thing::Queue(&delivery.queue)));
        Ok(Some(view.deliveries.iter().map(|delivery| delivery.queue_id).collect()))
    }
}

/// Whether `caller` may do to `stream` what needs `scope`.
///
/// # Errors
/// 40404 and 40101.
pub(super) fn allow_stream(caller: &Caller, scope: Scope, stream: &StreamRef) -> Result<(), Failure> {
    caller.may(scope, Thing::Stream(&stream.0))
}

/// What `caller` sees of an event: all of it where it reaches the stream, else the deliveries of the
/// queues that it reaches.
///
/// # Errors
/// 40402 where it sees nothing.
pub(super) fn seen_by(caller: &Caller, mut event: EventView) -> Result<EventView, Failure> {
    if caller.reaches(Thing::Stream(event.stream.as_bytes())) {
        return Ok(event);
    }
    event.deliveries.retain(|delivery| caller.reaches(Thing::Queue(&delivery.queue)));
    if event.deliveries.is_empty() { Err(Refused::EventNotFound.into()) } else { Ok(event) }
}
