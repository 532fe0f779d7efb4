//! The node's figures, for Prometheus.
//!
//! Lives here: the handler, and who may see them. Not here: the figures (`metrics`).

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequestParts, Request, State};
use axum::response::Response;
use http::HeaderValue;
use http::header::CONTENT_TYPE;

use crate::auth::{Caller, Scope};
use crate::config::MetricsAccess;
use crate::failure::Failure;
use crate::metrics;
use crate::node::Node;

/// `GET /metrics`: every figure of this node, in the text format of Prometheus. Queries are passed over,
/// since scrapers send some of their own.
pub(super) async fn metrics(State(node): State<Arc<Node>>, request: Request) -> Result<Response, Failure> {
    if node.metrics.access != MetricsAccess::Open {
        let (mut parts, _) = request.into_parts();
        let caller = Caller::from_request_parts(&mut parts, &node).await?;
        // Names of all queues are in it.
        caller.may_everywhere(Scope::Admin).or_else(|_| caller.may_everywhere(Scope::Read))?;
    }
    let text = node.metrics.scrape(&node).await?;
    let mut response = Response::new(Body::from(text));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(metrics::CONTENT_TYPE));
    Ok(response)
}
