//! The Redis door's address until the door is built.
//!
//! Lives here: one answer for everyone who connects. Not here: any of Redis' words.

use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use crate::net::accept;

const ANSWER: &[u8] = b"-ERR the Redis door is not built yet in this version; use the HTTP door\r\n";
/// How long one client may keep the answer from being written.
const PATIENCE: Duration = Duration::from_secs(1);

/// Answers every connection with the same error and closes it, until `stop`.
pub(crate) async fn refuse_all(listener: TcpListener, stop: CancellationToken) {
    loop {
        let stream = tokio::select! {
            stream = accept(&listener) => stream,
            () = stop.cancelled() => return,
        };
        // One after the other: the answer fits into a socket's buffer, so this does not wait.
        drop(tokio::time::timeout(PATIENCE, refuse(stream)).await);
    }
}

async fn refuse(mut stream: TcpStream) -> std::io::Result<()> {
    stream.write_all(ANSWER).await?;
    stream.shutdown().await
}
