//! A network whose connections die without a word.
//!
//! Lives here: a way to a server on which, once told, nothing comes through any more on what is connected; new connections
//! work. Not here: connections that are cut (`../consumer/proxy.rs`).

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

pub(crate) struct Frozen {
    address: SocketAddr,
    /// How often it froze.
    times: watch::Sender<u32>,
}

impl Frozen {
    pub(crate) async fn start(upstream: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let times = watch::Sender::new(0);
        let told = times.subscribe();
        // Ends with the test's runtime.
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let mut told = told.clone();
                told.mark_unchanged();
                tokio::spawn(carry(client, upstream, told));
            }
        });
        Self { address, times }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on nothing comes through on what is connected.
    pub(crate) fn freeze(&self) {
        self.times.send_modify(|times| *times += 1);
    }
}

async fn carry(client: TcpStream, upstream: SocketAddr, mut told: watch::Receiver<u32>) {
    let Ok(server) = TcpStream::connect(upstream).await else { return };
    let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
    let (mut there, mut back) = ((from_client, to_server), (from_server, to_client));
    tokio::select! {
        () = hand_on(&mut there) => return,
        () = hand_on(&mut back) => return,
        _ = told.changed() => {}
    }
    // Both ends stay open, and nobody reads what is sent.
    std::future::pending::<()>().await;
}

async fn hand_on((from, to): &mut (OwnedReadHalf, OwnedWriteHalf)) {
    let mut piece = vec![0; 64 * 1024];
    while let Ok(len @ 1..) = from.read(&mut piece).await {
        if to.write_all(&piece[..len]).await.is_err() {
            return;
        }
    }
}
