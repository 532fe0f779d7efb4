//! The Redis door's address until the door is built.
//!
//! Lives here: one answer for everyone who connects. Not here: any of Redis' words.

use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use crate::net::{Tls, accept};

const ANSWER: &[u8] = b"-ERR the Redis door is not built yet in this version; use the HTTP door\r\n";
/// How long one client may keep the answer from being written.
const PATIENCE: Duration = Duration::from_secs(1);

/// Answers every connection with the same error and closes it, until `stop`.
pub(crate) async fn refuse_all(listener: TcpListener, tls: Option<Tls>, stop: CancellationToken) {
    loop {
        let stream = tokio::select! {
            stream = accept(&listener) => stream,
            () = stop.cancelled() => return,
        };
        // One after the other: the answer fits into a socket's buffer, and who is slow has a second.
        drop(tokio::time::timeout(PATIENCE, refuse(stream, tls.as_ref())).await);
    }
}

async fn refuse(stream: TcpStream, tls: Option<&Tls>) -> std::io::Result<()> {
    match tls {
        Some(tls) => answer(tls.accept(stream).await?).await,
        None => answer(stream).await,
    }
}

async fn answer<S: AsyncWrite + Unpin>(mut stream: S) -> std::io::Result<()> {
    stream.write_all(ANSWER).await?;
    stream.shutdown().await
}
