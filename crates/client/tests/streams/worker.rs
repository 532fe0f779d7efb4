//! A consumer in a process of its own, which can be killed.
//!
//! Lives here: starting this very program as one, and being it. Not here: what is left when it is killed (`deaths.rs`).

use std::process::{Child, Command, Stdio};

use crate::bench::{Seen, consumer, lease};
use crate::wire::{GROUP, STREAM};

/// Where the server of a worker is, and what the worker is called.
const SERVER: &str = "NAVEN_TEST_SERVER";
const NAME: &str = "NAVEN_TEST_NAME";

/// A consumer that takes four entries and never ends with them.
pub(crate) struct Worker(Child);

impl Worker {
    pub(crate) fn start(url: &str, name: &str) -> Self {
        let program = std::env::current_exe().expect("the path of this program");
        let child = Command::new(program)
            .args(["--exact", "worker::the_process_that_is_killed"])
            .env(SERVER, url)
            .env(NAME, name)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Self(child.expect("this program can be run again"))
    }

    /// Kills it, as nothing else does: it says not a word more.
    pub(crate) fn kill(mut self) {
        self.0.kill().expect("it runs");
        self.0.wait().expect("it is ours");
    }
}

/// Nothing, unless it is told where to work: then this is a worker and no test.
#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "a child is told by its environment what to do")]
async fn the_process_that_is_killed() {
    let (Ok(url), Ok(name)) = (std::env::var(SERVER), std::env::var(NAME)) else { return };
    let server = naven_client::streams::Server::new(&url).expect("a URL");
    let seen = Seen::default();
    let consumer = consumer(server, &name, &seen).lease(lease(1));
    let never = std::future::pending::<()>;
    let handle = move |entry: crate::bench::Event| async move {
        assert_eq!((entry.stream(), entry.group()), (STREAM, GROUP));
        never().await;
    };
    consumer.run(never(), handle).await.expect("it never ends");
}
