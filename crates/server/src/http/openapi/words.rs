//! The words of the OpenAPI document.
//!
//! Lives here: the list of the schemas of requests and replies. Not here: the schemas (`naven_api`), and what
//! is made stricter of them (`requests.rs`).

use naven_api::lease_batch::{LeaseBatchReply, LeaseBatchRequest};
use naven_api::settle::{AckRequest, HeartbeatRequest, NackRequest};
use naven_api::{
    audit, bulk, claim, dead, envelope, event, event_list, key, operate, pending, publish, purge, queue,
    settle, stream, system, watch,
};
use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

/// A schema under its name.
pub(super) type Named = (String, RefOr<Schema>);

/// The schemas of requests and replies, with everything that they are made of.
pub(super) fn words() -> Vec<Named> {
    let mut all = Vec::new();
    add_requests(&mut all);
    add_replies(&mut all);
    all
}

fn add_requests(all: &mut Vec<Named>) {
    add::<queue::QueueCreateRequest>(all);
    add::<queue::QueuePatchRequest>(all);
    add::<queue::PauseRequest>(all);
    add::<publish::PublishRequest>(all);
    add::<publish::PublishBatchRequest>(all);
    add::<event::RedriveRequest>(all);
    add::<operate::CancelRequest>(all);
    add::<operate::RescheduleRequest>(all);
    add::<operate::RunNowRequest>(all);
    add::<purge::PurgeRequest>(all);
    add::<bulk::DeadRedriveRequest>(all);
    add::<bulk::DeadDiscardRequest>(all);
    add::<stream::ResetRequest>(all);
    add::<stream::TrimRequest>(all);
    add::<claim::ClaimRequest>(all);
    add::<claim::ClaimBatchRequest>(all);
    add::<HeartbeatRequest>(all);
    add::<AckRequest>(all);
    add::<NackRequest>(all);
    add_as::<LeaseBatchRequest<HeartbeatRequest>>("HeartbeatBatchRequest", all);
    add_as::<LeaseBatchRequest<AckRequest>>("AckBatchRequest", all);
    add_as::<LeaseBatchRequest<NackRequest>>("NackBatchRequest", all);
    add::<key::KeyCreateRequest>(all);
    add::<key::KeyPatchRequest>(all);
    add::<key::KeyRotateRequest>(all);
}

fn add_replies(all: &mut Vec<Named>) {
    add::<queue::QueueReply>(all);
    add::<queue::QueueDeletedReply>(all);
    add::<event::EventReply>(all);
    add::<event::TimelineReply>(all);
    add::<event_list::EventsReply>(all);
    add::<dead::DeadLettersReply>(all);
    add::<bulk::MatchedReply>(all);
    add::<bulk::BulkReply>(all);
    add::<bulk::OperationReply>(all);
    add::<dead::ErrorGroupsReply>(all);
    add::<stream::StreamReply>(all);
    add::<stream::EntryReply>(all);
    add::<stream::GroupReply>(all);
    add::<pending::PendingListReply>(all);
    add::<stream::StreamDeletedReply>(all);
    add::<stream::ConsumerDeletedReply>(all);
    add::<stream::TrimReply>(all);
    add::<claim::ClaimReply>(all);
    add::<claim::ClaimBatchReply>(all);
    add::<settle::HeartbeatReply>(all);
    add::<settle::AckReply>(all);
    add::<settle::NackReply>(all);
    add_as::<LeaseBatchReply<settle::HeartbeatReply>>("HeartbeatBatchReply", all);
    add_as::<LeaseBatchReply<settle::AckReply>>("AckBatchReply", all);
    add_as::<LeaseBatchReply<settle::NackReply>>("NackBatchReply", all);
    add::<key::KeyReply>(all);
    add::<key::KeyDeletedReply>(all);
    add::<audit::AuditReply>(all);
    add::<watch::StatsReply>(all);
    add::<watch::ConsumersReply>(all);
    add::<watch::ChangeReply>(all);
    add::<system::MeReply>(all);
    add::<system::SystemReply>(all);
    add::<system::NodesReply>(all);
    add::<system::HealthReply>(all);
    add::<envelope::ErrorData>(all);
}

fn add<T: ToSchema>(all: &mut Vec<Named>) {
    add_as::<T>(&T::name(), all);
}

fn add_as<T: ToSchema>(name: &str, all: &mut Vec<Named>) {
    all.push((name.to_owned(), T::schema()));
    T::schemas(all);
}
