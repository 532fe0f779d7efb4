//! Accepting connections of the Redis door.
//!
//! Lives here: the accept loop, TLS, and what ends a connection from outside. Not here: what is said on one
//! (`connection.rs`).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use super::clients::Client;
use super::connection::Connection;
use super::door::RedisDoor;
use super::session::Session;
use crate::net::{Listener, Socket, Stops, next_connection};

/// Serves `listener` until `stops.end`. Every connection is a task of `connections` and takes a place of
/// `room`, which both doors share.
pub(crate) async fn serve_redis(
    listener: impl Listener,
    door: Arc<RedisDoor>,
    stops: Stops,
    room: Arc<Semaphore>,
    connections: TaskTracker,
) {
    while let Some((stream, permit)) = next_connection(&listener, &room, &stops.end).await {
        let (door, stops) = (Arc::clone(&door), stops.clone());
        connections.spawn(async move {
            let client = door.clients.enter(stream.peer_addr().ok(), stream.local_addr().ok());
            let entered = Entered { door: Arc::clone(&door), client: Arc::clone(&client) };
            entered.door.node.connections.fetch_add(1, Ordering::Relaxed);
            let inside = door.node.metrics.doors.redis.enter();
            tokio::select! {
                biased;
                () = client.killed.cancelled() => {}
                () = stops.end.cancelled() => {}
                () = serve(stream, &door, &client, &stops) => {}
            }
            drop((entered, inside, permit));
        });
    }
}

/// A connection in the list. Dropping it takes it out.
struct Entered {
    door: Arc<RedisDoor>,
    client: Arc<Client>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.door.clients.leave(self.client.id);
        self.door.node.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn serve(stream: impl Socket, door: &Arc<RedisDoor>, client: &Arc<Client>, stops: &Stops) {
    // In boxes: else every connection, plain or not, would have room for the largest of these all its life.
    let Some(tls) = door.node.tls.clone() else {
        return Box::pin(talk(stream, door, client, stops)).await;
    };
    match Box::pin(tokio::time::timeout(door.node.patience.head, tls.accept(stream))).await {
        Ok(Ok(stream)) => Box::pin(talk(stream, door, client, stops)).await,
        Ok(Err(error)) => tracing::debug!(%error, "a client spoke no TLS of ours"),
        Err(_) => tracing::debug!("a client was too slow to agree on TLS"),
    }
}

async fn talk<S>(stream: S, door: &Arc<RedisDoor>, client: &Arc<Client>, stops: &Stops)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let session = Session::new(Arc::clone(door), Arc::clone(client));
    if let Err(error) = Connection::new(stream, session, stops.drain.clone()).serve().await {
        tracing::debug!(%error, "a connection of the Redis door ended early");
    }
}
