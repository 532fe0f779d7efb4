//! A server process of a test's own.
//!
//! Lives here: starting it until it is ready, signals, `kill -9`, starting again on the same folder.
//! Not here: talking to it (`http.rs`).

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use tempfile::TempDir;

use super::ended::{Ended, naven, run};
use super::http::Http;
use super::secrets::assert_no_secret;

/// Longest time until a server is ready or has ended: far above what it takes, for crowded machines.
const PATIENCE: Duration = Duration::from_secs(60);

/// Log files of a test's server: small, so that a start is quick and a test fills some.
const SEGMENT_BYTES: &str = "262144";

/// How a server is to be started.
pub(crate) struct Start {
    command: &'static str,
    args: Vec<String>,
    folder: Option<PathBuf>,
    variables: Vec<(String, String)>,
    has_log_reader: bool,
    has_segment_bytes: bool,
    /// A command that runs the server as its own command, and its arguments; empty: none.
    by_way_of: Vec<String>,
}

/// A running server. Dropped, it is killed and its temporary folder removed.
pub(crate) struct Naven {
    child: Child,
    /// The ready line, without its end.
    pub(crate) ready: String,
    /// Where the HTTP door listens.
    pub(crate) http: String,
    /// What came on stdout after the ready line so far.
    rest: Arc<Mutex<String>>,
    stderr: Arc<Mutex<String>>,
    /// They end when the process has closed its outputs.
    readers: Vec<JoinHandle<()>>,
    start: Start,
    folder: Option<TempDir>,
}

/// One key for all servers of a test process: making it takes a process of its own.
pub(crate) fn key() -> &'static str {
    static KEY: OnceLock<String> = OnceLock::new();
    KEY.get_or_init(|| run(&["key", "generate"], &[]).stdout.trim().to_owned())
}

impl Start {
    /// `naven serve` with the shared [`key`], free ports, and a temporary folder.
    pub(crate) fn serve() -> Self {
        Self::command_named("serve").env("NAVEN_ADMIN_KEY", key())
    }

    /// `naven dev`, without a key from outside.
    pub(crate) fn dev() -> Self {
        Self::command_named("dev")
    }

    fn command_named(command: &'static str) -> Self {
        Self {
            command,
            args: Vec::new(),
            folder: None,
            variables: Vec::new(),
            has_log_reader: true,
            has_segment_bytes: true,
            by_way_of: Vec::new(),
        }
    }

    /// With these further arguments.
    pub(crate) fn args(mut self, args: &[&str]) -> Self {
        self.args.extend(args.iter().map(|arg| (*arg).to_owned()));
        self
    }

    /// With this variable.
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With nobody to read what it logs.
    pub(crate) fn without_log_reader(mut self) -> Self {
        self.has_log_reader = false;
        self
    }

    /// With no more than this many open files.
    pub(crate) fn descriptors(mut self, count: u32) -> Self {
        self.by_way_of = vec!["prlimit".to_owned(), format!("--nofile={count}:{count}")];
        self
    }

    /// With no more than this many bytes of memory of its own, used or not: any further is refused to it.
    pub(crate) fn memory(mut self, bytes: u64) -> Self {
        self.by_way_of = vec!["prlimit".to_owned(), format!("--data={bytes}:{bytes}")];
        self
    }

    /// With the mounts that this process sees.
    pub(crate) fn mounts_of(mut self, pid: u32) -> Self {
        self.by_way_of = vec!["nsenter".to_owned(), format!("--mount=/proc/{pid}/ns/mnt")];
        self
    }

    /// With log files of the length that the server chooses by itself.
    pub(crate) fn own_segment_bytes(mut self) -> Self {
        self.has_segment_bytes = false;
        self
    }

    /// In this folder instead of a temporary one: data is in `naven-data` of it.
    pub(crate) fn folder(mut self, folder: &Path) -> Self {
        self.folder = Some(folder.to_owned());
        self
    }

    /// Starts it and waits for its ready line.
    pub(crate) fn ready(self) -> Naven {
        self.try_ready().unwrap_or_else(|ended| panic!("the server ended before it was ready: {ended:?}"))
    }

    /// Starts it; how it ended, where it did so before it was ready.
    pub(crate) fn try_ready(mut self) -> Result<Naven, Ended> {
        let mut temporary = None;
        if self.folder.is_none() {
            let folder = tempfile::tempdir().expect("a temporary folder");
            self.folder = Some(folder.path().to_owned());
            temporary = Some(folder);
        }
        let mut naven = spawn(self);
        naven.folder = temporary;
        naven.wait_until_ready()
    }

    fn command(&self) -> Command {
        let mut command = naven();
        command.arg(self.command);
        let defaults =
            [("--http", "127.0.0.1:0"), ("--redis", "127.0.0.1:0"), ("--segment-bytes", SEGMENT_BYTES)];
        let count = if self.has_segment_bytes { 3 } else { 2 };
        for &(name, by_default) in &defaults[..count] {
            if !self.args.iter().any(|arg| arg == name) {
                command.args([name, by_default]);
            }
        }
        command.args(&self.args).envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.current_dir(self.folder.as_ref().expect("a folder was chosen"));
        match self.by_way_of.split_first() {
            Some((tool, args)) => by_way_of(tool, args, &command),
            None => command,
        }
    }
}

/// `command` by way of a tool that prepares its process and then becomes it.
fn by_way_of(tool: &str, args: &[String], command: &Command) -> Command {
    let mut prepared = Command::new(tool);
    prepared.args(args).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => prepared.env(name, value),
            None => prepared.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        prepared.current_dir(folder);
    }
    prepared
}

fn spawn(start: Start) -> Naven {
    let mut command = start.command();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("naven starts");
    let stderr = Arc::new(Mutex::new(String::new()));
    let log = child.stderr.take().expect("stderr is piped");
    let mut readers = Vec::new();
    if start.has_log_reader {
        let into = Arc::clone(&stderr);
        readers.push(std::thread::spawn(move || collect(log, &into)));
    }
    Naven {
        child,
        ready: String::new(),
        http: String::new(),
        rest: Arc::default(),
        stderr,
        readers,
        start,
        folder: None,
    }
}

/// Reads to the end; on a thread of its own, so that the server never waits for a full pipe.
fn collect(from: impl Read, into: &Mutex<String>) {
    for line in BufReader::new(from).lines().map_while(Result::ok) {
        let mut text = into.lock().expect("no holder of this lock panics");
        text.push_str(&line);
        text.push('\n');
    }
}

impl Naven {
    fn wait_until_ready(mut self) -> Result<Self, Ended> {
        let mut stdout = BufReader::new(self.child.stdout.take().expect("stdout is piped"));
        let (sender, first) = mpsc::channel();
        let rest = Arc::clone(&self.rest);
        self.readers.push(std::thread::spawn(move || {
            let mut line = String::new();
            let read = stdout.read_line(&mut line);
            sender.send(read.map(|_| line)).ok();
            collect(stdout, &rest);
        }));
        let line = first.recv_timeout(PATIENCE).expect("a ready line in time").expect("stdout can be read");
        if line.is_empty() {
            return Err(self.ended());
        }
        self.ready = line.trim_end_matches('\n').to_owned();
        let http = self.ready.split(' ').find_map(|part| part.strip_prefix("http="));
        self.http = http.unwrap_or_else(|| panic!("not a ready line: {line}")).to_owned();
        Ok(self)
    }

    /// The address as clients take it.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.http)
    }

    /// Where the Redis door listens.
    pub(crate) fn redis(&self) -> &str {
        let redis = self.ready.split(' ').find_map(|part| part.strip_prefix("redis="));
        redis.unwrap_or_else(|| panic!("not a ready line: {}", self.ready))
    }

    /// A client with the shared [`key`].
    pub(crate) fn client(&self) -> Http {
        Http::new(&self.http, key())
    }

    /// The folder that the data lies in.
    pub(crate) fn data(&self) -> PathBuf {
        self.cwd().join("naven-data")
    }

    /// The folder that the process was started in.
    pub(crate) fn cwd(&self) -> &Path {
        self.start.folder.as_deref().expect("a folder was chosen")
    }

    /// The process' id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it logged so far.
    pub(crate) fn stderr(&self) -> String {
        self.stderr.lock().expect("no holder of this lock panics").clone()
    }

    /// What it printed after the ready line so far.
    pub(crate) fn stdout(&self) -> String {
        self.rest.lock().expect("no holder of this lock panics").clone()
    }

    /// Looks again and again until `holds`, or panics with `what` where it takes too long.
    pub(crate) fn wait_until(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        let (pause, looks) = (Duration::from_millis(10), 6_000);
        for _ in 0..looks {
            if holds(self) {
                return;
            }
            std::thread::sleep(pause);
        }
        panic!("{what}: not within a minute; the log says:\n{}", self.stderr());
    }

    /// Sends it a signal: `TERM`, `INT`, `STOP`, `CONT`.
    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill").args([&format!("-{name}"), &self.pid().to_string()]).status();
        assert!(status.expect("there is a kill command").success(), "the process is there to be signalled");
    }

    /// Ends it as an operator does, and waits for that.
    pub(crate) fn stop(&mut self) {
        self.signal("TERM");
        let status = self.child.wait().expect("the process can be waited for");
        assert_eq!(status.code(), Some(0), "a clean stop");
    }

    /// Ends it as a power cut would end the process: `kill -9`.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("the process is there to be killed");
        self.child.wait().expect("a killed process ends");
    }

    /// Kills it where it still runs, and starts it again on the same folder, with new free ports.
    pub(crate) fn restart(mut self) -> Self {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let folder = self.folder.take();
        let start = Start {
            command: self.start.command,
            args: std::mem::take(&mut self.start.args),
            folder: self.start.folder.clone(),
            variables: std::mem::take(&mut self.start.variables),
            has_log_reader: self.start.has_log_reader,
            has_segment_bytes: self.start.has_segment_bytes,
            by_way_of: self.start.by_way_of.clone(),
        };
        let mut next = start.ready();
        next.folder = folder;
        next
    }

    /// Waits for its end.
    pub(crate) fn ended(mut self) -> Ended {
        let (sender, over) = mpsc::channel::<()>();
        let pid = self.pid();
        // Where it does not end in time, this thread ends it, and the test sees no exit code.
        let watch = std::thread::spawn(move || {
            if over.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
                Command::new("kill").args(["-KILL", &pid.to_string()]).status().ok();
            }
        });
        let status = self.child.wait().expect("the process can be waited for");
        drop(sender);
        for thread in self.readers.drain(..).chain([watch]) {
            thread.join().expect("a reader or the watch does not panic");
        }
        self.assert_it_told_no_secret();
        Ended { code: status.code(), stdout: self.stdout(), stderr: self.stderr() }
    }

    /// Whatever a test does with its server: no secret is in its output. `dev` shows its key on purpose.
    fn assert_it_told_no_secret(&self) {
        if self.start.command != "dev" {
            assert_no_secret("stderr", &self.stderr());
            assert_no_secret("stdout", &self.stdout());
        }
    }
}

impl Drop for Naven {
    fn drop(&mut self) {
        // One that has ended already needs no killing.
        let _ = self.child.kill();
        let _ = self.child.wait();
        // A second panic would end the process and hide the first.
        if !std::thread::panicking() {
            self.assert_it_told_no_secret();
        }
    }
}
