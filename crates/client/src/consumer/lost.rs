//! A lease that was lost.
//!
//! Lives here: what is known of it. Not here: how that is found out (`lease.rs`, `settling.rs`).

use naven_api::{ErrorCode, EventId};

use super::delivery::Facts;
use crate::error::Error;

/// A lease that ended before its event was settled, and what is known: enough to reconcile what may already have
/// happened outside.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lost {
    /// The event.
    pub event: EventId,
    /// Its queue's name.
    pub queue: String,
    /// Which attempt this was.
    pub attempt: u32,
    /// The fencing number under which the handler worked.
    pub fence: u64,
    /// How it was found out.
    pub reason: LostReason,
    /// How far the attempt had come.
    pub phase: LostPhase,
}

/// How a lost lease was found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LostReason {
    /// No heartbeat got through for the length of the lease, by the clock here: the server may or may not have given the
    /// event to another.
    TimeOver,
    /// The server said that the lease has expired (40900). The event will be delivered again.
    Expired,
    /// The server said that another consumer has the event, or had it (40901).
    Reassigned,
    /// The server said that the event was settled otherwise (40902).
    Settled,
    /// The server does not know the event any more (40402).
    Unknown,
    /// The server refuses to be told how the attempt ended, by an answer that is logged: its key may have been revoked.
    Refused,
}

/// How far an attempt had come when its lease was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LostPhase {
    /// Its handler had not begun: nothing has happened.
    NotBegun,
    /// Its handler was running.
    Running,
    /// Its handler had ended, and the server was being told.
    Settling {
        /// True where the event was finished: its effects have happened.
        done: bool,
        /// True where the server may have been told: an answer was lost. Then `done` may be known there.
        may_be_known: bool,
    },
}

impl Lost {
    pub(super) fn new(facts: &Facts, reason: LostReason, phase: LostPhase) -> Self {
        let Facts { event, queue, attempt, fence, .. } = facts;
        Self { event: *event, queue: queue.clone(), attempt: *attempt, fence: *fence, reason, phase }
    }
}

impl LostReason {
    /// What the server's answer says of the lease, where it says that it is gone.
    pub(super) fn of(error: &Error) -> Option<Self> {
        match error.code() {
            Some(ErrorCode::LeaseExpired) => Some(Self::Expired),
            Some(ErrorCode::LeaseLost) => Some(Self::Reassigned),
            Some(ErrorCode::LeaseSettled) => Some(Self::Settled),
            Some(ErrorCode::EventNotFound) => Some(Self::Unknown),
            // Codes are added one by one: none of them is one of a lease.
            Some(_) | None => None,
        }
    }
}
