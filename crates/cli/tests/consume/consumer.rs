//! A running `naven consume`.
//!
//! Lives here: starting it, signals, and its end. Not here: its server (`support`).

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, spawn};

use crate::support::{Ended, Naven, key, naven};

/// Dropped, it is killed.
pub(crate) struct Consumer<'a> {
    server: &'a Naven,
    child: Child,
    /// What it said on stdout and stderr so far, and who reads it.
    said: [Arc<Mutex<String>>; 2],
    readers: Vec<JoinHandle<()>>,
}

fn read(from: impl Read + Send + 'static, into: &Arc<Mutex<String>>) -> JoinHandle<()> {
    let into = Arc::clone(into);
    spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            into.lock().expect("no reader panics").push_str(&format!("{line}\n"));
        }
    })
}

impl<'a> Consumer<'a> {
    pub(crate) fn start(server: &'a Naven, queue: &str, args: &[&str]) -> Self {
        Self::start_at(server, &server.url(), queue, args)
    }

    /// The same, which is told that the server is at `url`.
    pub(crate) fn start_at(server: &'a Naven, url: &str, queue: &str, args: &[&str]) -> Self {
        let mut command = naven();
        command.args(["consume", queue]).args(args);
        command.env("NAVEN_API_URL", url).env("NAVEN_API_KEY", key());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("naven starts");
        let said: [Arc<Mutex<String>>; 2] = Default::default();
        let readers = vec![
            read(child.stdout.take().expect("stdout is piped"), &said[0]),
            read(child.stderr.take().expect("stderr is piped"), &said[1]),
        ];
        Self { server, child, said, readers }
    }

    /// Waits until it has said this on stderr.
    pub(crate) fn wait_until_it_says(&self, text: &str) {
        let has = || self.said[1].lock().expect("no reader panics").contains(text);
        self.server.wait_until(text, |_| has());
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status();
        assert!(status.expect("there is a kill command").success(), "it is there to be signalled");
    }

    /// Sends it a signal, and waits for its end.
    pub(crate) fn ended_by(self, signal: &str) -> Ended {
        self.signal(signal);
        self.ended()
    }

    /// Waits for its end.
    pub(crate) fn ended(mut self) -> Ended {
        let child = Mutex::new(&mut self.child);
        let is_over = || child.lock().expect("no waiter panics").try_wait().expect("it can be waited for");
        self.server.wait_until("the end of a consumer", |_| is_over().is_some());
        let code = is_over().and_then(|status| status.code());
        for reader in self.readers.drain(..) {
            reader.join().expect("a reader does not panic");
        }
        let [stdout, stderr] =
            self.said.each_ref().map(|said| said.lock().expect("no reader panics").clone());
        Ended { code, stdout, stderr }
    }
}

impl Drop for Consumer<'_> {
    fn drop(&mut self) {
        // One that has ended already needs no killing.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
