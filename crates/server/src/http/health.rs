//! Health checks, for supervisors and load balancers. They are open: no key is asked for.
//!
//! Lives here: the two handlers. Not here: figures (`system.rs`).

use std::sync::Arc;

use axum::extract::State;
use naven_api::ErrorCode;
use naven_api::system::HealthReply;

use super::answer::{Reply, ok};
use crate::failure::Failure;
use crate::node::Node;

/// `GET /healthz`: the process turns its loop.
pub(super) async fn alive() -> Reply {
    ok(&HealthReply { status: "up".to_owned() })
}

/// `GET /readyz`: calls will be served. Not while the server shuts down or its storage has failed.
pub(super) async fn ready(State(node): State<Arc<Node>>) -> Reply {
    if node.is_draining() {
        return Err(Failure::new(ErrorCode::Draining, "the server is shutting down"));
    }
    if node.has_failed() {
        return Err(Failure::new(ErrorCode::StorageUnavailable, "the storage has failed"));
    }
    ok(&HealthReply { status: "ready".to_owned() })
}
