//! When a client that stands still is let go.
//!
//! Lives here: how long a client may take nothing of what it is sent, and what shutdown leaves it. Not here: how
//! long it may say nothing (`connection.rs`).

use std::io;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio_util::sync::CancellationToken;

/// How long a closing connection goes on throwing away what its client still sends, and how much of it.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_BYTES: usize = 16 * 1024 * 1024;

/// Reads what a client still sends on a connection that closes, and forgets it.
pub(super) async fn throw_away_rest(stream: &mut (impl AsyncRead + Unpin), buffer: &mut BytesMut) {
    buffer.clear();
    let drop_rest = async {
        let mut left = LINGER_BYTES;
        while left > 0 {
            match stream.read_buf(buffer).await {
                Ok(0) | Err(_) => return,
                Ok(bytes) => left = left.saturating_sub(bytes),
            }
            buffer.clear();
        }
    };
    let _ = tokio::time::timeout(LINGER, drop_rest).await;
}

/// How long a connection that stands still lives on once shutdown has begun.
const DRAIN_IDLE: Duration = Duration::from_millis(500);

/// The patience with one client.
#[derive(Debug)]
pub(super) struct LettingGo {
    /// For it to take a first byte of what is sent next.
    pub(super) patience: Duration,
    pub(super) drain: CancellationToken,
}

impl LettingGo {
    /// What `sending` gives. Who does not read holds its replies in our memory, so it may not do so for ever; nor
    /// may it hold up shutdown.
    ///
    /// # Errors
    /// That of `sending`, and `TimedOut` where the client took nothing in time.
    pub(super) async fn within<T>(&self, sending: impl Future<Output = io::Result<T>>) -> io::Result<T> {
        tokio::select! {
            biased;
            sent = sending => sent,
            () = tokio::time::sleep(self.patience) => Err(io::ErrorKind::TimedOut.into()),
            () = self.drained() => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    /// Ends a moment after shutdown has begun.
    pub(super) async fn drained(&self) {
        self.drain.cancelled().await;
        tokio::time::sleep(DRAIN_IDLE).await;
    }
}
