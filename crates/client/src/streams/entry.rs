//! What a handler is given.
//!
//! Lives here: the entry with its lease, as its handler sees them. Not here: keeping the lease (`consumer/lease.rs`).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use naven_api::EntryId;

use super::fields::{Fields, FromFields};
use crate::consumer::door::Known;
use crate::consumer::handler::{Handed, Handler, IntoOutcome};
use crate::consumer::hold::Hold;
use crate::consumer::{LostPhase, LostReason, StopReason, Undecodable};

/// An entry in the hands of a handler, read as a `T`.
///
/// The lease is kept for as long as the handler runs. What happens outside, and has to happen once, should be guarded by
/// [`id`](Self::id) or by [`fence`](Self::fence): the entry may be delivered again.
pub struct Entry<T> {
    payload: T,
    facts: Arc<Facts>,
    hold: Arc<Hold>,
}

/// Where entries come from.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) stream: String,
    pub(super) group: String,
    /// Both, for logs.
    pub(super) shown: String,
}

/// What is known of an entry from its delivery on.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(super) id: EntryId,
    pub(super) source: Arc<Source>,
    pub(super) fields: Fields,
    pub(super) attempt: u32,
    pub(super) fence: u64,
}

impl Known for Facts {
    type Id = EntryId;

    fn event(&self) -> &EntryId {
        &self.id
    }

    fn queue(&self) -> &str {
        &self.source.shown
    }

    fn attempt(&self) -> u32 {
        self.attempt
    }

    fn fence(&self) -> u64 {
        self.fence
    }
}

impl<T> Entry<T> {
    /// What its fields were read as.
    pub fn payload(&self) -> &T {
        &self.payload
    }

    /// The same, given away.
    pub fn into_payload(self) -> T {
        self.payload
    }

    /// Its fields, byte for byte.
    pub fn fields(&self) -> &Fields {
        &self.facts.fields
    }

    /// Its id: the same at each of its deliveries.
    pub fn id(&self) -> EntryId {
        self.facts.id
    }

    /// Its stream.
    pub fn stream(&self) -> &str {
        &self.facts.source.stream
    }

    /// The group that it is read for.
    pub fn group(&self) -> &str {
        &self.facts.source.group
    }

    /// Which attempt this is, from 1 on: how often it was delivered to this group, but for times that gave it back
    /// ([`Outcome::Release`](crate::consumer::Outcome::Release)).
    pub fn attempt(&self) -> u32 {
        self.facts.attempt
    }

    /// The fencing number: how often the entry was delivered to this group, as the server counts it. It rises at each
    /// delivery by this runtime. Others can set it back: a server that lost writes, `XGROUP SETID`, and
    /// `XCLAIM ... RETRYCOUNT`.
    pub fn fence(&self) -> u64 {
        self.facts.fence
    }

    /// Waits until this handler is to stop, and says why.
    ///
    /// Cancel safety: harmless, it only looks.
    pub async fn cancelled(&self) -> StopReason {
        self.hold.until_stopped().await
    }

    /// Waits until the lease is lost.
    ///
    /// Cancel safety: harmless, it only looks.
    pub async fn lease_lost(&self) {
        self.hold.until_lost().await;
    }

    /// Why this handler is to stop, where it is. It asks the clock too: a handler that never awaits may ask this before
    /// each side effect.
    pub fn stop_reason(&self) -> Option<StopReason> {
        self.hold.stopped()
    }

    /// True where this handler is to stop.
    pub fn is_cancelled(&self) -> bool {
        self.stop_reason().is_some()
    }

    /// For how long the lease is surely held, were no further heartbeat to get through.
    pub fn lease_remaining(&self) -> Duration {
        self.hold.remaining()
    }
}

impl<T> fmt::Debug for Entry<T> {
    /// Without what it holds, which may be a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("id", &self.facts.id)
            .field("stream", &self.facts.source.stream)
            .field("group", &self.facts.source.group)
            .field("attempt", &self.facts.attempt)
            .field("fence", &self.facts.fence)
            .finish_non_exhaustive()
    }
}

/// A lease that ended before its entry was settled, and what is known: enough to reconcile what may already have happened
/// outside.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LostEntry {
    /// The entry.
    pub id: EntryId,
    /// Its stream.
    pub stream: String,
    /// The group that it was read for.
    pub group: String,
    /// Which attempt this was.
    pub attempt: u32,
    /// The fencing number under which the handler worked.
    pub fence: u64,
    /// How it was found out. `Reassigned`: another has it, or had it. `Unknown`: it is not pending any more.
    pub reason: LostReason,
    /// How far the attempt had come.
    pub phase: LostPhase,
}

impl LostEntry {
    pub(super) fn new(facts: &Facts, reason: LostReason, phase: LostPhase) -> Self {
        let Facts { id, source, attempt, fence, .. } = facts;
        Self {
            id: *id,
            stream: source.stream.clone(),
            group: source.group.clone(),
            attempt: *attempt,
            fence: *fence,
            reason,
            phase,
        }
    }
}

/// `handler`, with its fields read.
pub(super) fn handler<T, F, R>(
    handler: impl Fn(Entry<T>) -> F + Send + Sync + 'static,
    undecodable: Undecodable,
) -> Handler<Facts>
where
    T: FromFields + Send + 'static,
    F: Future<Output = R> + Send + 'static,
    R: IntoOutcome,
{
    let handler = Arc::new(handler);
    Arc::new(move |handed| {
        let handler = Arc::clone(&handler);
        Box::pin(async move {
            let Handed { facts, hold, .. } = handed;
            match T::from_fields(&facts.fields) {
                Ok(payload) => handler(Entry { payload, facts, hold }).await.into_outcome(),
                Err(error) => undecodable.outcome(error),
            }
        })
    })
}
