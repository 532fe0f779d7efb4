//! A backup, streamed.
//!
//! Lives here: its handler, the one answer that is no JSON. Not here: what is in it (the engine).

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use http::HeaderValue;
use http::header::CONTENT_TYPE;
use naven_api::ErrorCode;
use naven_store::backup::{Backup, BackupFailed, BackupRefused};

use super::query::Query;
use crate::auth::{Caller, Scope};
use crate::failure::Failure;
use crate::node::Node;

/// `GET /v1/system/backup`: everything that was answered before the last piece was asked for.
///
/// The client sets the pace. Where it goes away the backup ends; where the engine fails the connection
/// breaks off, and what was sent lacks its end mark.
pub(super) async fn backup(
    State(node): State<Arc<Node>>,
    caller: Caller,
    query: Query,
) -> Result<Response, Failure> {
    caller.may_everywhere(Scope::Admin)?;
    query.end()?;
    if node.is_draining() {
        return Err(Failure::new(ErrorCode::Draining, "the server is shutting down"));
    }
    let backup = node.engine.backup().await?;
    let pieces = stream::unfold(Some(backup), |backup| async move {
        match next(backup?).await {
            Ok(Some((piece, backup))) => Some((Ok(piece), Some(backup))),
            Ok(None) => None,
            Err(error) => {
                tracing::error!("a backup broke off: {error}");
                Some((Err(error), None))
            }
        }
    });
    let mut response = Response::new(Body::from_stream(pieces));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    Ok(response)
}

type Next = Result<Option<(Bytes, Box<dyn Backup>)>, BackupFailed>;

/// The next piece, read on a thread that may block.
async fn next(mut backup: Box<dyn Backup>) -> Next {
    let read = move || Ok(backup.next_piece()?.map(|piece| (piece, backup)));
    tokio::task::spawn_blocking(read).await.map_err(BackupFailed::from)?
}

impl From<BackupRefused> for Failure {
    fn from(refused: BackupRefused) -> Self {
        let text = refused.to_string();
        match refused {
            BackupRefused::Running => Self::new(ErrorCode::OperationRunning, text),
            BackupRefused::Unavailable(_) => Self::new(ErrorCode::StorageUnavailable, text),
            BackupRefused::Unsupported => Self::internal(text),
        }
    }
}
