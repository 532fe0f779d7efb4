//! A verb that goes on until it is told to stop.
//!
//! Lives here: starting it, seeing what it says meanwhile, and ending it. Not here: verbs that end by themselves
//! (`verb.rs`).

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use crate::scene::Scene;
use crate::support::{Ended, key, naven};

/// A running verb. Dropped, it is killed.
pub(crate) struct Running<'a> {
    scene: &'a Scene,
    child: Child,
    stdout: Arc<Mutex<String>>,
    stderr: Arc<Mutex<String>>,
    readers: Vec<JoinHandle<()>>,
}

impl<'a> Running<'a> {
    /// Starts it against the scene's server. Of stdout no more than so many lines are read, then that is closed.
    pub(crate) fn start(scene: &'a Scene, args: &[&str], lines_max: usize) -> Self {
        let mut command = naven();
        command.args(args).env("NAVEN_API_URL", scene.naven.url()).env("NAVEN_API_KEY", key());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("naven starts");
        let (stdout, stderr) = (Arc::<Mutex<String>>::default(), Arc::<Mutex<String>>::default());
        let readers = vec![
            reader(child.stdout.take().expect("stdout is piped"), &stdout, lines_max),
            reader(child.stderr.take().expect("stderr is piped"), &stderr, usize::MAX),
        ];
        Self { scene, child, stdout, stderr, readers }
    }

    /// Waits until it has said this on stdout or stderr.
    pub(crate) fn wait_until_it_says(&self, text: &str) {
        let has = |said: &Mutex<String>| said.lock().expect("no reader panics").contains(text);
        self.scene.naven.wait_until(text, |_| has(&self.stdout) || has(&self.stderr));
    }

    /// Sends it a signal: `TERM`, `INT`, `HUP`.
    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status();
        assert!(status.expect("there is a kill command").success(), "it is there to be signalled");
    }

    /// Waits for its end.
    pub(crate) fn ended(mut self) -> Ended {
        let child = Mutex::new(&mut self.child);
        let is_over = || child.lock().expect("no waiter panics").try_wait().expect("it can be waited for");
        self.scene.naven.wait_until("the end of a verb", |_| is_over().is_some());
        let code = is_over().and_then(|status| status.code());
        for reader in self.readers.drain(..) {
            reader.join().expect("a reader does not panic");
        }
        let text = |said: &Mutex<String>| said.lock().expect("no reader panics").clone();
        Ended { code, stdout: text(&self.stdout), stderr: text(&self.stderr) }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        // One that has ended already needs no killing.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn reader(from: impl Read + Send + 'static, into: &Arc<Mutex<String>>, lines_max: usize) -> JoinHandle<()> {
    let into = Arc::clone(into);
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok).take(lines_max) {
            let mut text = into.lock().expect("no other reader panics");
            text.push_str(&line);
            text.push('\n');
        }
    })
}
