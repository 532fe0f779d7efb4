//! Accepting connections.
//!
//! Lives here: binding, the accept loop, and the bound on connections. Not here: what is said on
//! them (`connection.rs`).

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::connection;
use super::socket::{Listener, Socket};
use crate::http::{HttpDoor, Peer};

/// Connections that the operating system keeps for us until they are accepted.
const BACKLOG: u32 = 4_096;
/// Pause after a failed accept: it usually means that descriptors ran out, which takes a moment.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Binds `address`.
pub(crate) fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // A restart may take the port while old connections still linger.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// The next connection, and its place of `room`; none once `end` has come. Cancel safe.
pub(crate) async fn next_connection<L: Listener>(
    listener: &L,
    room: &Arc<Semaphore>,
    end: &CancellationToken,
) -> Option<(L::Stream, OwnedSemaphorePermit)> {
    // A full house waits in the operating system's backlog, where it costs us nothing.
    let permit = tokio::select! {
        biased;
        () = end.cancelled() => return None,
        permit = Arc::clone(room).acquire_owned() => permit.ok()?,
    };
    let stream = tokio::select! {
        biased;
        () = end.cancelled() => return None,
        stream = accept(listener) => stream,
    };
    if let Err(error) = stream.send_at_once() {
        tracing::debug!(%error, "could not set TCP_NODELAY");
    }
    Some((stream, permit))
}

/// The next connection. Errors of accepting are the world's, and pass. Cancel safe.
async fn accept<L: Listener>(listener: &L) -> L::Stream {
    loop {
        match listener.accept().await {
            Ok(stream) => return stream,
            Err(error) => {
                tracing::warn!(%error, "could not accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// When connections end.
#[derive(Clone)]
pub(crate) struct Stops {
    /// Shutdown begins: idle connections are closed, the others go on.
    pub(crate) drain: CancellationToken,
    /// Shutdown ends: every connection is dropped.
    pub(crate) end: CancellationToken,
}

/// Serves `listener` until `stops.end`. Every connection is a task of `connections` and takes a place of
/// `room`, which both doors share.
pub(crate) async fn serve_http(
    listener: impl Listener,
    door: HttpDoor,
    stops: Stops,
    room: Arc<Semaphore>,
    connections: TaskTracker,
) {
    while let Some((stream, permit)) = next_connection(&listener, &room, &stops.end).await {
        let (door, stops) = (door.clone(), stops.clone());
        let streams = connections.clone();
        connections.spawn(async move {
            let node = Arc::clone(&door.node);
            node.connections.fetch_add(1, Ordering::Relaxed);
            let inside = node.metrics.doors.http.enter();
            let peer = stream.peer_addr().ok().map(Peer::new);
            connection::serve(stream, door.from(peer), stops, streams).await;
            node.connections.fetch_sub(1, Ordering::Relaxed);
            drop((inside, permit));
        });
    }
}
