//! A socket that notes what happens on it.
//!
//! Lives here: reading with a record, bytes that were read ahead, a bound on how long a client may
//! refuse to take an answer, and closing without losing the last answer. Not here: HTTP.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use super::activity::Activity;

/// How long a closing connection goes on throwing away what its client still sends.
const LINGER: Duration = Duration::from_secs(1);
/// How much of it: past that the client is not about to read an answer.
const LINGER_BYTES: usize = 16 * 1024 * 1024;

/// A client's socket.
pub(crate) struct ClientStream<S> {
    stream: S,
    ahead: Bytes,
    activity: Arc<Activity>,
    write_patience: Duration,
    stalled: Option<Pin<Box<Sleep>>>,
    closing: Option<Closing>,
}

struct Closing {
    until: Pin<Box<Sleep>>,
    left: usize,
}

impl<S> ClientStream<S> {
    pub(crate) fn new(stream: S, ahead: Bytes, activity: Arc<Activity>, write_patience: Duration) -> Self {
        Self { stream, ahead, activity, write_patience, stalled: None, closing: None }
    }

    /// Lets `written` pass, and makes it a failure where nothing was taken for too long.
    fn bounded<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let patience = self.write_patience;
        let stalled =
            self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(Instant::now() + patience)));
        ready!(stalled.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client takes no bytes")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ClientStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.ahead.is_empty() {
            let count = self.ahead.len().min(buf.remaining());
            buf.put_slice(&self.ahead[..count]);
            self.ahead.advance(count);
            return Poll::Ready(Ok(()));
        }
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        if buf.filled().len() > before {
            self.activity.read();
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for ClientStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.bounded(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.bounded(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.bounded(cx, flushed)
    }

    /// Ends our side, then throws away what still comes: closing over unread bytes would make the
    /// system reset the connection, and the client would lose the answer that says why.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.closing.is_none() {
            ready!(Pin::new(&mut self.stream).poll_shutdown(cx))?;
            let until = Box::pin(tokio::time::sleep_until(Instant::now() + LINGER));
            self.closing = Some(Closing { until, left: LINGER_BYTES });
        }
        let mut waste = [0u8; 8 * 1024];
        let Self { stream, closing, .. } = &mut *self;
        let Some(closing) = closing else { return Poll::Ready(Ok(())) };
        loop {
            let mut buf = ReadBuf::new(&mut waste);
            match Pin::new(&mut *stream).poll_read(cx, &mut buf) {
                Poll::Ready(Ok(())) if !buf.filled().is_empty() && closing.left > 0 => {
                    closing.left = closing.left.saturating_sub(buf.filled().len());
                }
                Poll::Ready(_) => return Poll::Ready(Ok(())),
                Poll::Pending => return closing.until.as_mut().poll(cx).map(Ok),
            }
        }
    }
}
