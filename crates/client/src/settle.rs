//! A holder's words on its event: heartbeat, ack, nack.
//!
//! Lives here: the three calls, each for one lease or for many at once. Not here: when to make them (`docs/consumers.md`).

use std::time::Duration;

use naven_api::lease_batch::{LeaseBatchReply, LeaseBatchRequest, LeaseItem, LeaseItemData, LeaseItemReply};
use naven_api::settle::{
    AckReply, AckRequest, HeartbeatReply, HeartbeatRequest, NackMode, NackReply, NackRequest,
};
use naven_api::{AckResult, DelaySeconds, ErrorText, EventId, LeaseSeconds, LeaseToken, Progress};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::client::{Call, Client};
use crate::error::{ApiError, Code, Error};

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

    fn request(&self, token: &LeaseToken) -> NackRequest {
        NackRequest {
            lease_token: token.clone(),
            error: self.error.as_deref().map(ErrorText::new),
            retry_delay_seconds: self.retry_delay,
            mode: self.mode,
        }
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
        self.beat(event, token, lease, None).await
    }

    /// As [`heartbeat`](Self::heartbeat), and says how far the work came. It is shown as the delivery's
    /// `progress` until the next delivery begins.
    ///
    /// Cancel safety: as there.
    ///
    /// # Errors
    /// As there.
    pub async fn heartbeat_with(
        &self,
        event: EventId,
        token: &LeaseToken,
        lease: Option<LeaseSeconds>,
        progress: Progress,
    ) -> Result<HeartbeatReply, Error> {
        self.beat(event, token, lease, Some(progress)).await
    }

    async fn beat(
        &self,
        event: EventId,
        token: &LeaseToken,
        lease_seconds: Option<LeaseSeconds>,
        progress: Option<Progress>,
    ) -> Result<HeartbeatReply, Error> {
        let body = HeartbeatRequest { lease_token: token.clone(), lease_seconds, progress };
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
        self.finish(event, token, None).await
    }

    /// As [`ack`](Self::ack), and says what came of it: a JSON value, shown as the delivery's `result` for as
    /// long as the done event is remembered. Of several acks with the same token the first one's stands.
    ///
    /// Cancel safety: as there.
    ///
    /// # Errors
    /// As there.
    pub async fn ack_with(
        &self,
        event: EventId,
        token: &LeaseToken,
        result: AckResult,
    ) -> Result<AckReply, Error> {
        self.finish(event, token, Some(result)).await
    }

    async fn finish(
        &self,
        event: EventId,
        token: &LeaseToken,
        result: Option<AckResult>,
    ) -> Result<AckReply, Error> {
        let body = AckRequest { lease_token: token.clone(), result };
        self.send(Call::post(&["events", &event.to_string(), "ack"], body)).await
    }

    /// Says that 1 to 500 events are finished. Each is taken or refused by itself, and answered in order.
    ///
    /// Cancel safety: as for [`ack`](Self::ack), for each of them.
    ///
    /// # Errors
    /// What every call may meet. What became of one lease is its own answer, with the errors of
    /// [`ack`](Self::ack).
    pub async fn ack_batch(
        &self,
        leases: &[(EventId, LeaseToken)],
    ) -> Result<Vec<Result<AckReply, Error>>, Error> {
        let word = |token: &LeaseToken| AckRequest { lease_token: token.clone(), result: None };
        self.say_each("ack", leases.iter().map(|(event, token)| (*event, word(token)))).await
    }

    /// As [`ack_batch`](Self::ack_batch), with what came of each.
    ///
    /// Cancel safety: as there.
    ///
    /// # Errors
    /// As there.
    pub async fn ack_batch_with(
        &self,
        leases: &[(EventId, LeaseToken, AckResult)],
    ) -> Result<Vec<Result<AckReply, Error>>, Error> {
        let words = leases.iter().map(|(event, token, result)| {
            (*event, AckRequest { lease_token: token.clone(), result: Some(result.clone()) })
        });
        self.say_each("ack", words).await
    }

    /// Says of 1 to 500 events that the work goes on. Each is taken or refused by itself, and answered in
    /// order.
    ///
    /// Cancel safety: as for [`heartbeat`](Self::heartbeat).
    ///
    /// # Errors
    /// What every call may meet. What became of one lease is its own answer, with the errors of
    /// [`heartbeat`](Self::heartbeat).
    pub async fn heartbeat_batch(
        &self,
        leases: &[(EventId, LeaseToken)],
        lease: Option<LeaseSeconds>,
    ) -> Result<Vec<Result<HeartbeatReply, Error>>, Error> {
        let words = leases.iter().map(|(event, token)| {
            (*event, HeartbeatRequest { lease_token: token.clone(), lease_seconds: lease, progress: None })
        });
        self.say_each("heartbeat", words).await
    }

    /// As [`heartbeat_batch`](Self::heartbeat_batch), with how far the work on each came.
    ///
    /// Cancel safety: as there.
    ///
    /// # Errors
    /// As there.
    pub async fn heartbeat_batch_with(
        &self,
        leases: &[(EventId, LeaseToken, Progress)],
        lease: Option<LeaseSeconds>,
    ) -> Result<Vec<Result<HeartbeatReply, Error>>, Error> {
        let words = leases.iter().map(|(event, token, progress)| {
            let progress = Some(progress.clone());
            (*event, HeartbeatRequest { lease_token: token.clone(), lease_seconds: lease, progress })
        });
        self.say_each("heartbeat", words).await
    }

    /// Says that 1 to 500 events were not finished. Each is taken or refused by itself, and answered in
    /// order.
    ///
    /// Cancel safety: as for [`nack`](Self::nack), for each of them.
    ///
    /// # Errors
    /// What every call may meet. What became of one lease is its own answer, with the errors of
    /// [`nack`](Self::nack).
    pub async fn nack_batch(
        &self,
        leases: &[(EventId, LeaseToken, Nack)],
    ) -> Result<Vec<Result<NackReply, Error>>, Error> {
        let words = leases.iter().map(|(event, token, nack)| (*event, nack.request(token)));
        self.say_each("nack", words).await
    }

    /// As [`heartbeat_batch`](Self::heartbeat_batch), with how far the work came where that is to be said.
    pub(crate) async fn beat_each(
        &self,
        leases: Vec<(EventId, LeaseToken, Option<Progress>)>,
        lease_seconds: Option<LeaseSeconds>,
    ) -> Result<Vec<Result<HeartbeatReply, Error>>, Error> {
        let words = leases.into_iter().map(|(event, lease_token, progress)| {
            (event, HeartbeatRequest { lease_token, lease_seconds, progress })
        });
        self.say_each("heartbeat", words).await
    }

    async fn say_each<W: Serialize, R: DeserializeOwned>(
        &self,
        verb: &str,
        words: impl Iterator<Item = (EventId, W)>,
    ) -> Result<Vec<Result<R, Error>>, Error> {
        let items = words.map(|(event, word)| LeaseItem { event_id: event.to_string(), word }).collect();
        let body = LeaseBatchRequest { items };
        let reply: LeaseBatchReply<R> = self.send_items(Call::post(&["leases", verb], body)).await?;
        Ok(reply.items.into_iter().map(outcome).collect())
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
        self.send(Call::post(&["events", &event.to_string(), "nack"], nack.request(token))).await
    }
}

fn outcome<R>(item: LeaseItemReply<R>) -> Result<R, Error> {
    match item.data {
        LeaseItemData::Taken(reply) => Ok(reply),
        LeaseItemData::Refused(data) => Err(Error::Api(Box::new(ApiError {
            code: Code::from_number(item.code),
            status: (item.code / 100) as u16,
            message: item.message,
            reason: data.reason,
            request_id: data.request_id,
            fields: data.fields.unwrap_or_default(),
            retry_after: data.retry_after_seconds.map(|seconds| Duration::from_secs(u64::from(seconds))),
            retryable: data.retryable,
        }))),
    }
}
