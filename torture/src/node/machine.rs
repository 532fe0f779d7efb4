//! The server's machine under a simulated network, and what everybody knows of the world.
//!
//! Lives here: the process, its life, and the turns of its engine. Not here: what befalls it (`run.rs`).

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use naven_server::auth::BearerKey;
use naven_server::{Listener, Server as Doors, ServerConfig, Socket};
use naven_store::conformance::{ManualClock, SeededRandom};
use naven_store::embedded::Embedded;
use naven_store::embedded::stepped::{Part, Turn};
use tokio::sync::Notify;
use turmoil::net::{TcpListener, TcpStream};

use super::engine::Poked;
use super::reader::Readings;
use crate::history::{Answer, Ask, Call, History};
use crate::simulation::{Dice, Server};

/// Without anything asked the engine's parts look around this often.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(250);

/// What the world's clients and its driver share.
pub(super) struct World {
    pub(super) dice: Dice,
    pub(super) server: Server,
    pub(super) key: BearerKey,
    /// The true time, in ms: that of the beginning of this tick.
    pub(super) now_ms: i64,
    pub(super) tick_ms: i64,
    pub(super) history: History,
    pub(super) wrong: Vec<String>,
    /// Nothing goes wrong any more.
    pub(super) is_healed: bool,
    /// The next syncs take so much longer.
    pub(super) slow_ms: u64,
    pub(super) is_over: bool,
    /// Publishers that still publish.
    pub(super) publishers: u32,
    /// The names of what was published, for sure.
    pub(super) published: BTreeSet<String>,
    pub(super) readings: Readings,
}

/// The world, shared by everybody on its one thread.
pub(super) type Shared = Rc<RefCell<World>>;

impl World {
    /// Notes a call that leaves now.
    pub(super) fn begin(&mut self, client: u32, queue: naven_api::QueueId, ask: Ask) -> usize {
        let (begun_ms, answer) = (self.now_ms, Answer::Unknown);
        self.history.calls.push(Call { client, begun_ms, ended_ms: None, queue, ask, answer });
        self.history.calls.len() - 1
    }

    /// Notes its answer.
    pub(super) fn end(&mut self, call: usize, answer: Answer) {
        let ended_ms = Some(self.now_ms + self.tick_ms);
        let call = &mut self.history.calls[call];
        (call.ended_ms, call.answer) = (ended_ms, answer);
    }
}

/// Runs the server's process, until it is killed.
pub(super) async fn run(world: Shared) -> Result<(), Box<dyn std::error::Error>> {
    let any = |port| SocketAddr::from(([0, 0, 0, 0], port));
    let http = Listening(TcpListener::bind(any(80)).await?);
    let redis = Listening(TcpListener::bind(any(6379)).await?);
    let poke = Arc::new(Notify::new());
    let Some((engine, clock, random, config)) = started(&world, any(80)) else {
        return std::future::pending().await;
    };
    let engine = Arc::new(Poked { engine, poke: Arc::clone(&poke) });
    let serve = async {
        let doors = Doors::start_on(http, Some(redis), config, engine, clock, Arc::new(random)).await;
        // Where they were not opened the engine has failed, and a process whose engine has failed ends within a
        // second: the driver sees to that.
        std::future::pending::<()>().await;
        drop(doors);
    };
    tokio::join!(serve, take_turns(world, poke));
    Ok(())
}

/// A process that has just started; none where it says why it cannot.
fn started(
    world: &Shared,
    address: SocketAddr,
) -> Option<(Arc<Embedded>, Arc<ManualClock>, SeededRandom, ServerConfig)> {
    let mut world = world.borrow_mut();
    let world = &mut *world;
    if let Err(error) = world.server.start(&world.dice) {
        world.wrong.push(format!("it does not start: {error}"));
        return None;
    }
    let mut config = ServerConfig::new(address);
    config.admin_key = Some(world.key.clone());
    Some((world.server.engine()?, world.server.clock(), SeededRandom::new(world.dice.draw()), config))
}

/// Has the engine's parts take their turns for as long as the process lives.
async fn take_turns(world: Shared, poke: Arc<Notify>) {
    loop {
        let asked = tokio::time::timeout(LOOK_EVERY, poke.notified()).await;
        let (apply_ms, sync_ms) = {
            let mut world = world.borrow_mut();
            let slow_ms = std::mem::take(&mut world.slow_ms);
            (world.dice.between(0..=2), world.dice.between(1..=8) as u64 + slow_ms)
        };
        tokio::time::sleep(Duration::from_millis(apply_ms as u64)).await;
        turn(&world, Part::Sequencer);
        tokio::time::sleep(Duration::from_millis(sync_ms)).await;
        while turn(&world, Part::Log) == Turn::Done {}
        if asked.is_err() || world.borrow().dice.percent(10) {
            turn(&world, Part::Segments);
            turn(&world, Part::Checkpoints);
        }
    }
}

fn turn(world: &Shared, part: Part) -> Turn {
    world.borrow_mut().server.turn(part)
}

/// A listener of the simulated network.
struct Listening(TcpListener);

impl Listener for Listening {
    type Stream = Connected;

    async fn accept(&self) -> io::Result<Connected> {
        self.0.accept().await.map(|(stream, _)| Connected(stream))
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

/// A connection of the simulated network.
struct Connected(TcpStream);

impl Socket for Connected {
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.0.peer_addr()
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    fn send_at_once(&self) -> io::Result<()> {
        Ok(())
    }
}

mod bytes_of {
    //! The bytes of a connection, handed through.

    use std::io;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

    use super::Connected;

    impl AsyncRead for Connected {
        fn poll_read(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            buf: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            Pin::new(&mut self.0).poll_read(cx, buf)
        }
    }

    impl AsyncWrite for Connected {
        fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
            Pin::new(&mut self.0).poll_write(cx, buf)
        }

        fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            Pin::new(&mut self.0).poll_flush(cx)
        }

        fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            Pin::new(&mut self.0).poll_shutdown(cx)
        }
    }
}
