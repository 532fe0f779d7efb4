//! One connection, from its first byte to its last.
//!
//! Lives here: telling HTTP/1.1 from HTTP/2, the library's settings, and closing what idles. Not
//! here: what is answered (`http`).

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use hyper::rt::Executor;
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use super::accept::Stops;
use super::activity::Activity;
use super::socket::Socket;
use super::stream::ClientStream;
use crate::http::{Connected, HttpDoor};

const H2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// How long an idle connection lives on once shutdown has begun.
const DRAIN_IDLE: Duration = Duration::from_secs(1);
/// Longest head of a request that is parsed at all, in bytes; smaller limits are answered by us.
const HEAD_BYTES_MAX: usize = 128 * 1024;
/// Requests at once on one HTTP/2 connection.
const H2_STREAMS_MAX: u32 = 1_000;
/// How often a silent HTTP/2 client with open requests is asked whether it still lives.
const H2_PING_EVERY: Duration = Duration::from_secs(15);

/// Serves one connection until it ends, idles too long, or must end.
pub(super) async fn serve(stream: impl Socket, door: HttpDoor, stops: Stops, tasks: TaskTracker) {
    let Some(tls) = door.node.tls.clone() else { return serve_plain(stream, door, stops, tasks).await };
    let accepted = tokio::select! {
        biased;
        () = stops.end.cancelled() => return,
        accepted = tokio::time::timeout(door.node.patience.head, tls.accept(stream)) => accepted,
        () = idle_drain(&stops) => return,
    };
    match accepted {
        Ok(Ok(stream)) => serve_plain(stream, door, stops, tasks).await,
        Ok(Err(error)) => tracing::debug!(%error, "a client spoke no TLS of ours"),
        Err(_) => tracing::debug!("a client was too slow to agree on TLS"),
    }
}

/// Serves what a connection says once nobody can listen to it any more.
async fn serve_plain<S>(mut stream: S, door: HttpDoor, stops: Stops, tasks: TaskTracker)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let activity = Activity::new();
    let head = door.node.patience.head;
    let sniffed = tokio::select! {
        biased;
        () = stops.end.cancelled() => return,
        sniffed = tokio::time::timeout(head, sniff(&mut stream, &activity)) => sniffed,
        () = idle_drain(&stops) => return,
    };
    let Ok(Ok((ahead, is_h2))) = sniffed else { return };
    let patience = door.node.patience;
    let io = TokioIo::new(ClientStream::new(stream, ahead, Arc::clone(&activity), patience.write));
    let service = Connected::new(door, Arc::clone(&activity));
    let outcome = if is_h2 {
        activity.is_h2();
        let mut builder = http2::Builder::new(Streams(tasks));
        builder
            .timer(TokioTimer::new())
            .max_concurrent_streams(H2_STREAMS_MAX)
            .max_header_list_size(HEAD_BYTES_MAX as u32)
            .keep_alive_interval(H2_PING_EVERY)
            .keep_alive_timeout(H2_PING_EVERY);
        let connection = std::pin::pin!(builder.serve_connection(io, service));
        watch(connection, |connection| connection.graceful_shutdown(), &activity, &patience, &stops).await
    } else {
        let mut builder = http1::Builder::new();
        // Our own record bounds heads and idle time, so the library's clock for both is off.
        builder.timer(TokioTimer::new()).header_read_timeout(None).max_header_size(HEAD_BYTES_MAX);
        let connection = std::pin::pin!(builder.serve_connection(io, service));
        watch(connection, |connection| connection.graceful_shutdown(), &activity, &patience, &stops).await
    };
    if let Some(Err(error)) = outcome {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// Ends a little after shutdown begins.
async fn idle_drain(stops: &Stops) {
    stops.drain.cancelled().await;
    tokio::time::sleep(DRAIN_IDLE).await;
}

/// Reads until the first bytes tell which HTTP this is.
async fn sniff<S: AsyncRead + Unpin>(stream: &mut S, activity: &Activity) -> std::io::Result<(Bytes, bool)> {
    let mut seen = BytesMut::with_capacity(4 * 1024);
    loop {
        if stream.read_buf(&mut seen).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        activity.read();
        let shared = seen.len().min(H2_PREFACE.len());
        if seen[..shared] != H2_PREFACE[..shared] {
            return Ok((seen.freeze(), false));
        }
        if shared == H2_PREFACE.len() {
            return Ok((seen.freeze(), true));
        }
    }
}

/// Runs `connection`. None where it was ended from here: it idled, or must end.
async fn watch<C, T>(
    mut connection: Pin<&mut C>,
    close: impl Fn(Pin<&mut C>),
    activity: &Activity,
    patience: &crate::config::Patience,
    stops: &Stops,
) -> Option<T>
where
    C: Future<Output = T>,
{
    // Each look is at most the shortest patience away, so that every deadline is met to the moment.
    let step = patience.head.min(patience.keep_alive);
    let (mut closing, mut drain_at) = (false, None);
    loop {
        let now = Instant::now();
        let idle = if drain_at.is_some() { DRAIN_IDLE } else { patience.keep_alive };
        // Whoever idles when shutdown begins has a moment left to say what it still has to say.
        let deadline =
            activity.deadline(patience, idle).map(|at| drain_at.map_or(at, |begun| at.max(begun + idle)));
        if deadline.is_some_and(|deadline| deadline <= now) {
            // Half a head is not worth waiting for; what idles is first asked politely.
            if closing || activity.is_in_head() {
                return None;
            }
            close(connection.as_mut());
            closing = true;
        }
        let ahead = if closing { DRAIN_IDLE } else { step };
        let next = deadline.filter(|at| *at > now).map_or(now + ahead, |at| at.min(now + ahead));
        tokio::select! {
            biased;
            () = stops.drain.cancelled(), if drain_at.is_none() => drain_at = Some(Instant::now()),
            () = stops.end.cancelled() => return None,
            outcome = connection.as_mut() => return Some(outcome),
            () = tokio::time::sleep_until(next) => {}
        }
    }
}

/// Runs the requests of HTTP/2 connections as tasks that the server owns.
#[derive(Clone)]
struct Streams(TaskTracker);

impl<F> Executor<F> for Streams
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, future: F) {
        self.0.spawn(future);
    }
}
