//! A program that works on one event.
//!
//! Lives here: starting it with its input, waiting for its end, and ending it. Not here: what its end means
//! (`consume.rs`).

use std::collections::VecDeque;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use rustix::fs::Access;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process_group, waitid};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until, timeout_at};

/// So much of what it said last on stderr goes into the error of an attempt, in bytes.
const LAST_WORDS_MAX: usize = 4_096;
/// How long, after its end, what it said last may take to come.
const LAST_WORDS_WAIT: Duration = Duration::from_millis(200);

/// A running program, in a process group of its own. Dropped before its end, its group is killed.
pub(super) struct Program {
    group: Group,
    ended: oneshot::Receiver<Ended>,
    /// It ended by itself, and what it left running is left alone.
    is_over: bool,
    /// Kept for as long as the group may be signalled: its leader is not waited for before.
    _unreaped: mpsc::Sender<()>,
}

/// How it ended.
#[derive(Debug, Clone, Default)]
pub(super) struct Ended {
    /// Its exit code; none where a signal ended it.
    pub(super) code: Option<i32>,
    pub(super) signal: Option<i32>,
    /// The end of what it wrote to stderr.
    pub(super) last_words: String,
    /// Nobody holds its stderr any more: most likely nothing that it started is left.
    is_silent: bool,
}

/// The group, for as long as its leader is not waited for: then the number is somebody else's.
#[derive(Clone, Default)]
struct Group(Arc<Mutex<Option<Pid>>>);

impl Group {
    fn signal(&self, signal: Signal) {
        let group = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pid) = *group {
            // One that has ended meanwhile needs none.
            let _ = kill_process_group(pid, signal);
        }
    }

    fn set(&self, pid: Option<Pid>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = pid;
    }
}

/// What the thread that waits for a program needs.
struct Waiting {
    group: Group,
    child: mpsc::Receiver<Child>,
    is_silent: mpsc::Receiver<()>,
    last: Arc<Mutex<VecDeque<u8>>>,
    may_reap: mpsc::Receiver<()>,
    tell: oneshot::Sender<Ended>,
}

impl Program {
    /// Where `name` is found, so that a program that is not there is told of before the first event.
    ///
    /// # Errors
    /// Says that it is not there.
    pub(super) fn find(name: &str) -> Result<PathBuf, String> {
        let is_program = |path: &Path| path.is_file() && rustix::fs::access(path, Access::EXEC_OK).is_ok();
        if name.contains('/') {
            let path = PathBuf::from(name);
            return is_program(&path)
                .then_some(path)
                .ok_or_else(|| format!("exec: there is no program {name}"));
        }
        let folders = crate::environment::path().unwrap_or_default();
        let mut places = std::env::split_paths(&folders).map(|folder| folder.join(name));
        places.find(|path| is_program(path)).ok_or_else(|| format!("exec: {name} is in no folder of PATH"))
    }

    /// Starts `exec` with `input` on its stdin. Its stdout is ours, and its stderr is handed on to ours.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn start(
        exec: &[String],
        input: Vec<u8>,
        environment: &[(&'static str, String)],
    ) -> io::Result<Self> {
        let ((stdin, feeding), (hearing, stderr)) = (io::pipe()?, io::pipe()?);
        let (silent, is_silent) = mpsc::channel();
        let (hand_over, child) = mpsc::channel();
        let (unreaped, may_reap) = mpsc::channel();
        let (tell, ended) = oneshot::channel();
        let last = Arc::new(Mutex::new(VecDeque::with_capacity(LAST_WORDS_MAX)));
        let (words, group) = (Arc::clone(&last), Group::default());
        let waiting = Waiting { group: group.clone(), child, is_silent, last, may_reap, tell };
        // All that can fail comes before the program: once it runs, somebody waits for it. What runs is far dearer than
        // three threads.
        let thread = |name: &str| thread::Builder::new().name(name.to_owned());
        thread("naven-stdin").spawn(move || feed(feeding, &input))?;
        thread("naven-stderr").spawn(move || {
            hand_on(hearing, &words);
            drop(silent);
        })?;
        thread("naven-program").spawn(move || wait(waiting))?;
        let mut command = Command::new(&exec[0]);
        command.args(&exec[1..]).stdin(stdin).stderr(stderr).process_group(0);
        // Those of our own would be taken for the event's.
        command.env_remove("TRACEPARENT").env_remove("TRACESTATE");
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        let child = command.spawn()?;
        group.set(i32::try_from(child.id()).ok().and_then(Pid::from_raw));
        // It waits for this.
        let _ = hand_over.send(child);
        Ok(Self { group, ended, is_over: false, _unreaped: unreaped })
    }

    /// Waits for its end. Cancel safe.
    pub(super) async fn ended(&mut self) -> Ended {
        let ended = (&mut self.ended).await.unwrap_or_default();
        self.is_over = true;
        ended
    }

    /// Asks it to end, and what it started, and kills what has not ended after `grace`.
    pub(super) async fn stop(&mut self, grace: Duration) -> Ended {
        let until = Instant::now() + grace;
        self.group.signal(Signal::TERM);
        let ended = timeout_at(until, &mut self.ended).await;
        if !matches!(&ended, Ok(Ok(ended)) if ended.is_silent) {
            sleep_until(until).await;
        }
        self.group.signal(Signal::KILL);
        match ended {
            Ok(ended) => ended.unwrap_or_default(),
            Err(_) => self.ended().await,
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if !self.is_over {
            self.group.signal(Signal::KILL);
        }
    }
}

/// A program need not read what it is given.
fn feed(mut stdin: PipeWriter, input: &[u8]) {
    let _ = stdin.write_all(input);
}

/// Hands on what it says until nobody of its group can say any more, and keeps the end of it.
fn hand_on(mut stderr: PipeReader, last: &Mutex<VecDeque<u8>>) {
    let mut piece = [0; 4_096];
    while let Ok(len @ 1..) = stderr.read(&mut piece) {
        // Nobody may be reading ours.
        let _ = io::stderr().write_all(&piece[..len]);
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        last.extend(&piece[..len]);
        let surplus = last.len().saturating_sub(LAST_WORDS_MAX);
        last.drain(..surplus);
    }
}

fn text(last: &Mutex<VecDeque<u8>>) -> String {
    let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
    String::from_utf8_lossy(last.make_contiguous()).into_owned()
}

/// Tells of its end, and waits for it in the system's sense once nobody wants to signal its group any more.
fn wait(waiting: Waiting) {
    let Waiting { group, child, is_silent, last, may_reap, tell } = waiting;
    let Ok(mut child) = child.recv() else { return };
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let status = pid.and_then(|pid| {
        waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).ok().flatten()
    });
    // What it left running may hold its stderr open for as long as it likes.
    let is_silent = is_silent.recv_timeout(LAST_WORDS_WAIT) == Err(mpsc::RecvTimeoutError::Disconnected);
    let (code, signal) = (
        status.as_ref().and_then(WaitIdStatus::exit_status),
        status.as_ref().and_then(WaitIdStatus::terminating_signal),
    );
    // Whoever asked may have gone.
    let _ = tell.send(Ended { code, signal, last_words: text(&last), is_silent });
    let _: Result<(), _> = may_reap.recv();
    group.set(None);
    // It has ended.
    let _ = child.wait();
}
