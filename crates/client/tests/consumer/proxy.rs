//! A network that cuts connections.
//!
//! Lives here: a proxy that hands bytes on, and at times does not. Not here: who talks through it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Each `every`th piece of bytes, of either direction, is lost with its connection.
pub(crate) struct Proxy {
    address: SocketAddr,
    dice: Arc<Dice>,
}

struct Dice {
    every: u32,
    pieces: AtomicU32,
    cuts: AtomicU32,
}

impl Dice {
    fn is_cut(&self) -> bool {
        // Not a multiple of what one call takes, so that requests and answers are met alike.
        let is_cut = (self.pieces.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(self.every + 1);
        self.cuts.fetch_add(u32::from(is_cut), Ordering::Relaxed);
        is_cut
    }
}

impl Proxy {
    pub(crate) async fn start(upstream: SocketAddr, every: u32) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let dice = Arc::new(Dice { every, pieces: AtomicU32::new(0), cuts: AtomicU32::new(0) });
        let throwing = Arc::clone(&dice);
        // Ends with the test's runtime.
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, upstream, Arc::clone(&throwing)));
            }
        });
        Self { address, dice }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn cuts(&self) -> u32 {
        self.dice.cuts.load(Ordering::Relaxed)
    }
}

/// Ends with either side, or by a cut; both connections are closed then.
async fn carry(client: TcpStream, upstream: SocketAddr, dice: Arc<Dice>) {
    let Ok(server) = TcpStream::connect(upstream).await else { return };
    let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
    tokio::select! {
        () = hand_on(from_client, to_server, &dice) => {}
        () = hand_on(from_server, to_client, &dice) => {}
    }
}

async fn hand_on(
    mut from: tokio::net::tcp::OwnedReadHalf,
    mut to: tokio::net::tcp::OwnedWriteHalf,
    dice: &Dice,
) {
    let mut piece = vec![0; 64 * 1024];
    while let Ok(len @ 1..) = from.read(&mut piece).await {
        if dice.is_cut() || to.write_all(&piece[..len]).await.is_err() {
            return;
        }
    }
}
