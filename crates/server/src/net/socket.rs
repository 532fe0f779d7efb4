//! Sockets, of the operating system or of somebody else.
//!
//! Lives here: what the doors need of a listener and of a connection. Not here: accepting (`accept.rs`).

use std::future::Future;
use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};

/// Where connections come from.
pub trait Listener: Send + Sync + 'static {
    /// A connection.
    type Stream: Socket;

    /// The next connection. Cancel safe.
    ///
    /// # Errors
    /// Whatever the system says; later calls may succeed.
    fn accept(&self) -> impl Future<Output = io::Result<Self::Stream>> + Send;

    /// Where it listens.
    ///
    /// # Errors
    /// Whatever the system says.
    fn local_addr(&self) -> io::Result<SocketAddr>;
}

/// A connection.
pub trait Socket: AsyncRead + AsyncWrite + Unpin + Send + 'static {
    /// The other side.
    ///
    /// # Errors
    /// Whatever the system says: the other side may be gone already.
    fn peer_addr(&self) -> io::Result<SocketAddr>;

    /// Our side.
    ///
    /// # Errors
    /// Whatever the system says.
    fn local_addr(&self) -> io::Result<SocketAddr>;

    /// Has small pieces sent at once.
    ///
    /// # Errors
    /// Whatever the system says.
    fn send_at_once(&self) -> io::Result<()>;
}

impl Listener for TcpListener {
    type Stream = TcpStream;

    async fn accept(&self) -> io::Result<TcpStream> {
        Self::accept(self).await.map(|(stream, _)| stream)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Self::local_addr(self)
    }
}

impl Socket for TcpStream {
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        Self::peer_addr(self)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Self::local_addr(self)
    }

    fn send_at_once(&self) -> io::Result<()> {
        self.set_nodelay(true)
    }
}
