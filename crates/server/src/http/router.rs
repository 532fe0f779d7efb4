//! Which handler answers which path.
//!
//! Lives here: the routes' handlers, and what is not a route. Not here: what routes take and answer,
//! for people (`routes.rs`; a test holds the two to each other).

use std::sync::Arc;

use axum::Router;
use axum::routing::{delete, get, post};
use naven_api::ErrorCode;
use tower::util::MapRequestLayer;

use super::{
    audit, backup, cancel, claim, consumer, dead_bulk, dead_letter, docs, event, event_list, group, health,
    key, lease_batch, metrics, openapi, operate, operation, pending, publish, purge, queue, settle, stats,
    stream, system, tail, timeline,
};
use crate::config::MetricsAccess;
use crate::failure::Failure;
use crate::metrics::note_route;
use crate::node::Node;

/// Every route of the door.
pub(super) fn router(node: Arc<Node>) -> Router {
    streams()
        .merge(about(node.metrics.access))
        .route("/v1/event-queues", get(queue::list).post(queue::create))
        .route("/v1/event-queues/{queue}", get(queue::get).patch(queue::patch).delete(queue::delete))
        .route("/v1/event-queues/{queue}/pause", post(queue::pause))
        .route("/v1/event-queues/{queue}/resume", post(queue::resume))
        .route("/v1/event-queues/{queue}/events", get(event_list::of_queue).post(publish::publish))
        .route("/v1/event-queues/{queue}/events/batch", post(publish::publish_batch))
        .route("/v1/event-queues/{queue}/claim", post(claim::claim))
        .route("/v1/event-queues/{queue}/claim-batch", post(claim::claim_batch))
        .route("/v1/event-queues/{queue}/purge", post(purge::purge))
        .route("/v1/event-queues/{queue}/dead-letters", get(dead_letter::of_queue))
        .route("/v1/event-queues/{queue}/dead-letters/redrive", post(dead_bulk::redrive))
        .route("/v1/event-queues/{queue}/dead-letters/discard", post(dead_bulk::discard))
        .route("/v1/event-queues/{queue}/stats", get(stats::stats))
        .route("/v1/event-queues/{queue}/tail", get(tail::tail))
        .route("/v1/event-queues/{queue}/consumers", get(consumer::consumers))
        .route("/v1/operations", get(operation::list))
        .route("/v1/operations/{id}", get(operation::get))
        .route("/v1/operations/{id}/cancel", post(operation::cancel))
        .route("/v1/events/{id}", get(event::get).patch(operate::reschedule))
        .route("/v1/events/{id}/run-now", post(operate::run_now))
        .route("/v1/events/{id}/heartbeat", post(settle::heartbeat))
        .route("/v1/events/{id}/ack", post(settle::ack))
        .route("/v1/events/{id}/nack", post(settle::nack))
        .route("/v1/events/{id}/cancel", post(cancel::cancel))
        .route("/v1/events/{id}/redrive", post(event::redrive))
        .route("/v1/events/{id}/timeline", get(timeline::timeline))
        .route("/v1/leases/heartbeat", post(lease_batch::heartbeat))
        .route("/v1/leases/ack", post(lease_batch::ack))
        .route("/v1/leases/nack", post(lease_batch::nack))
        .route("/v1/dead-letters", get(dead_letter::of_any))
        .route("/v1/keys", get(key::list).post(key::create))
        .route("/v1/keys/{id}", get(key::get).patch(key::patch).delete(key::delete))
        .route("/v1/keys/{id}/rotate", post(key::rotate))
        .route("/v1/audit-log", get(audit::list))
        .route("/v1/me", get(system::me))
        .route("/v1/system", get(system::system))
        .route("/v1/system/nodes", get(system::nodes))
        .route("/v1/system/backup", get(backup::backup))
        .fallback(no_route)
        .method_not_allowed_fallback(no_method)
        .layer(MapRequestLayer::new(note_route))
        .with_state(node)
}

/// What says how the server is and what it takes.
fn about(looking: MetricsAccess) -> Router<Arc<Node>> {
    let router = Router::new()
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .route("/docs", get(docs::calls))
        .route("/docs/errors", get(docs::errors))
        .route("/docs/errors/{code}", get(docs::error))
        .route("/openapi.json", get(openapi::document));
    match looking {
        MetricsAccess::Key | MetricsAccess::Open => router.route("/metrics", get(metrics::metrics)),
        MetricsAccess::Off => router,
    }
}

fn streams() -> Router<Arc<Node>> {
    Router::new()
        .route("/v1/streams", get(stream::list))
        .route("/v1/streams/{name}", get(stream::get).delete(stream::delete))
        .route("/v1/streams/{name}/events", post(publish::publish_to_stream))
        .route("/v1/streams/{name}/events/batch", post(publish::publish_batch_to_stream))
        .route("/v1/streams/{name}/entries", get(stream::entries))
        .route("/v1/streams/{name}/groups", get(stream::groups))
        .route("/v1/streams/{name}/groups/{group}", delete(group::delete))
        .route("/v1/streams/{name}/groups/{group}/consumers", get(group::consumers))
        .route("/v1/streams/{name}/groups/{group}/consumers/{consumer}", delete(group::delete_consumer))
        .route("/v1/streams/{name}/groups/{group}/pending", get(pending::of_group))
        .route("/v1/streams/{name}/groups/{group}/reset", post(group::reset))
        .route("/v1/streams/{name}/trim", post(stream::trim))
}

async fn no_route() -> Failure {
    Failure::new(ErrorCode::RouteNotFound, "no such path")
}

/// The router adds `Allow`.
async fn no_method() -> Failure {
    Failure::new(ErrorCode::MethodNotAllowed, "this path does not take this method: see Allow")
}
