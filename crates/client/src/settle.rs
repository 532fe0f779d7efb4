//! A holder's words on its event: heartbeat, ack, nack.
//!
//! Lives here: the three calls. Not here: when to make them (`docs/consumers.md`).

use naven_api::settle::{
    AckReply, AckRequest, HeartbeatReply, HeartbeatRequest, NackMode, NackReply, NackRequest,
};
use naven_api::{DelaySeconds, ErrorText, EventId, LeaseSeconds, LeaseToken};

use crate::client::{Call, Client};
use crate::error::Error;

/// How an attempt ended that did not finish its event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Nack {
    /// What becomes of the event.
    pub mode: NackMode,
    /// What went wrong, for people: more than 8 KiB is cut.
    pub error: Option<String>,
    /// When to try again, with the mode `fail` only; by the queue's backoff where it is none.
    pub retry_delay: Option<DelaySeconds>,
}

impl Nack {
    /// The attempt failed for this reason; retry by the queue's backoff.
    pub fn failed(error: impl Into<String>) -> Self {
        Self { error: Some(error.into()), ..Self::default() }
    }
}

impl Client {
    /// Says that the work goes on: the lease ends `lease` from now, or the queue's default. The token
    /// stays the same.
    ///
    /// Cancel safety: harmless. A heartbeat may be repeated at any time.
    ///
    /// # Errors
    /// [`Error::is_lease_gone`] where the lease is over: stop side effects.
    pub async fn heartbeat(
        &self,
        event: EventId,
        token: &LeaseToken,
        lease: Option<LeaseSeconds>,
    ) -> Result<HeartbeatReply, Error> {
        let body = HeartbeatRequest { lease_token: token.clone(), lease_seconds: lease };
        self.send(Call::post(&["events", &event.to_string(), "heartbeat"], body)).await
    }

    /// Says that the event is finished.
    ///
    /// Cancel safety: dropped, it may or may not have been taken. Repeat it with the same token: that
    /// is always safe, and `replayed` tells that the first one had been taken.
    ///
    /// # Errors
    /// [`Error::is_lease_gone`] where the lease is over: the event was, or will be, delivered again.
    pub async fn ack(&self, event: EventId, token: &LeaseToken) -> Result<AckReply, Error> {
        let body = AckRequest { lease_token: token.clone() };
        self.send(Call::post(&["events", &event.to_string(), "ack"], body)).await
    }

    /// Says that the event was not finished. Never send it after an ack whose answer was lost: repeat
    /// the ack.
    ///
    /// Cancel safety: dropped, it may or may not have been taken. Repeat it with the same token and
    /// mode: that is always safe.
    ///
    /// # Errors
    /// [`Error::is_lease_gone`] where the lease is over, or this token acked the event already.
    pub async fn nack(&self, event: EventId, token: &LeaseToken, nack: &Nack) -> Result<NackReply, Error> {
        let body = NackRequest {
            lease_token: token.clone(),
            error: nack.error.as_deref().map(ErrorText::new),
            retry_delay_seconds: nack.retry_delay,
            mode: nack.mode,
        };
        self.send(Call::post(&["events", &event.to_string(), "nack"], body)).await
    }
}
