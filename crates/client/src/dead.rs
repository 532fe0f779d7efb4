//! Many dead letters at once, and operations.
//!
//! Lives here: finding them by error, redriving and discarding many, looking after operations. Not here: one
//! dead letter (`event.rs`).

use naven_api::bulk::{
    BulkReply, DeadDiscardRequest, DeadFilterRequest, DeadRedriveRequest, MatchedReply, OperationReply,
};
use naven_api::dead::ErrorGroupsReply;
use naven_api::envelope::List;
use naven_api::purge::PurgeRequest;
use naven_api::{IdempotencyKey, OperationId};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::client::{Call, Client};
use crate::error::Error;
use crate::event::DeadLetter;
use crate::once::Once;

/// What was answered to a call on many dead letters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum BulkAnswer {
    /// An operation does it in the background.
    Begun(OperationReply),
    /// It was done: an answer for each event that was named, those to which it could not be done among them.
    Done(BulkReply),
    /// A dry run: nothing was done.
    Matched(MatchedReply),
}

fn parameters(filter: &DeadFilterRequest) -> Vec<(&'static str, String)> {
    let mut query = Vec::new();
    query.extend(filter.reason.as_ref().map(|reason| ("reason", reason.clone())));
    query.extend(filter.error.as_ref().map(|error| ("error", error.clone())));
    query.extend(filter.died_after.map(|at| ("diedAfter", at.to_string())));
    query.extend(filter.died_before.map(|at| ("diedBefore", at.to_string())));
    query
}

impl Client {
    /// The dead events of `queue` that `filter` lets in, latest death first. A page may be short, or empty,
    /// and have a `next_cursor`, as one looks at 20,000 of them at most.
    ///
    /// Cancel safety: harmless, it only reads.
    ///
    /// # Errors
    /// As [`dead_letters`](Self::dead_letters).
    pub async fn dead_letters_where(
        &self,
        queue: &str,
        filter: &DeadFilterRequest,
        cursor: Option<&str>,
    ) -> Result<List<DeadLetter>, Error> {
        let mut query = parameters(filter);
        query.push(("includePayload", "true".to_owned()));
        query.extend(cursor.map(|cursor| ("cursor", cursor.to_owned())));
        self.send(Call::get(&["event-queues", queue, "dead-letters"], &query)).await
    }

    /// The dead events of `queue` that `filter` lets in by their errors, the largest group first: at most
    /// `limit` groups (1 to 500).
    ///
    /// Cancel safety: harmless, it only reads.
    ///
    /// # Errors
    /// `queue_not_found` and what every call may meet.
    pub async fn dead_letter_groups(
        &self,
        queue: &str,
        filter: &DeadFilterRequest,
        limit: u32,
    ) -> Result<ErrorGroupsReply, Error> {
        let mut query = parameters(filter);
        query.extend([("groupBy", "error".to_owned()), ("limit", limit.to_string())]);
        self.send(Call::get(&["event-queues", queue, "dead-letters"], &query)).await
    }

    /// Gives many dead events of `queue` a new round.
    ///
    /// Cancel safety: dropped, it may or may not have been done.
    ///
    /// # Errors
    /// `queue_not_found`, `operation_running` and what every call may meet. What was refused of events that
    /// were named is in the answer.
    pub async fn redrive_many(&self, queue: &str, request: &DeadRedriveRequest) -> Result<BulkAnswer, Error> {
        self.bulk(queue, "redrive", request, None).await
    }

    /// Forgets many dead events of `queue`.
    ///
    /// Cancel safety: dropped, it may or may not have been done.
    ///
    /// # Errors
    /// As [`redrive_many`](Self::redrive_many).
    pub async fn discard_many(&self, queue: &str, request: &DeadDiscardRequest) -> Result<BulkAnswer, Error> {
        self.bulk(queue, "discard", request, None).await
    }

    async fn bulk<B: Serialize>(
        &self,
        queue: &str,
        verb: &str,
        request: &B,
        once: Option<&IdempotencyKey>,
    ) -> Result<BulkAnswer, Error> {
        let path = ["event-queues", queue, "dead-letters", verb];
        self.send_items(Call { once, ..Call::post(&path, request) }).await
    }

    /// Throws away what waits in `queue`, or is dead there: an operation does it in the background. A dry run only
    /// says how many are meant.
    ///
    /// Cancel safety: dropped, it may or may not have been begun.
    ///
    /// # Errors
    /// `queue_not_found`, `operation_running` and what every call may meet.
    pub async fn purge(&self, queue: &str, request: &PurgeRequest) -> Result<BulkAnswer, Error> {
        self.send(Call::post(&["event-queues", queue, "purge"], request)).await
    }

    /// Operations, newest first, 50 a page: hand the last page's `next_cursor` in for the next one.
    ///
    /// Cancel safety: harmless, it only reads.
    ///
    /// # Errors
    /// `invalid_cursor` and what every call may meet.
    pub async fn operations(&self, cursor: Option<&str>) -> Result<List<OperationReply>, Error> {
        let query: Vec<_> = cursor.map(|cursor| ("cursor", cursor.to_owned())).into_iter().collect();
        self.send(Call::get(&["operations"], &query)).await
    }

    /// One operation.
    ///
    /// Cancel safety: harmless, it only reads.
    ///
    /// # Errors
    /// `other_not_found` and what every call may meet.
    pub async fn operation(&self, operation: OperationId) -> Result<OperationReply, Error> {
        self.send(Call::get(&["operations", &operation.to_string()], &[])).await
    }

    /// Ends an operation where it stands. What it did stays.
    ///
    /// Cancel safety: dropped, it may or may not have been done; repeated, it answers the same.
    ///
    /// # Errors
    /// `other_not_found`, `wrong_state` where it is over, and what every call may meet.
    pub async fn cancel_operation(&self, operation: OperationId) -> Result<OperationReply, Error> {
        self.send(Call::post(&["operations", &operation.to_string(), "cancel"], json!({}))).await
    }
}

impl Once<'_> {
    /// As [`Client::redrive_many`]; repeated, it answers the same operation.
    ///
    /// # Errors
    /// As there, and `idempotency_key_reused`.
    pub async fn redrive_many(&self, queue: &str, request: &DeadRedriveRequest) -> Result<BulkAnswer, Error> {
        self.client.bulk(queue, "redrive", request, Some(self.key)).await
    }

    /// As [`Client::purge`]; repeated, it answers the same operation.
    ///
    /// # Errors
    /// As there, and `idempotency_key_reused`.
    pub async fn purge(&self, queue: &str, request: &PurgeRequest) -> Result<BulkAnswer, Error> {
        let path = ["event-queues", queue, "purge"];
        self.client.send(Call { once: Some(self.key), ..Call::post(&path, request) }).await
    }

    /// As [`Client::discard_many`]; repeated, it answers the same operation.
    ///
    /// # Errors
    /// As there, and `idempotency_key_reused`.
    pub async fn discard_many(&self, queue: &str, request: &DeadDiscardRequest) -> Result<BulkAnswer, Error> {
        self.client.bulk(queue, "discard", request, Some(self.key)).await
    }
}
