//! System calls of a server that fail, as they do when its disk does.
//!
//! Lives here: a tracer that answers chosen calls of a running server with an error, and what it answered so. Not here:
//! what the server makes of it.
//!
//! This needs the right to trace, which a process has over its children unless the machine forbids it. Where it is
//! missing the test fails: such errors cannot be had otherwise.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::server::Naven;

/// Which calls fail, and how.
pub(crate) struct Fault<'a> {
    /// Their names, as the tracer takes them.
    pub(crate) calls: &'a str,
    /// What they answer: `EIO`, `EROFS`.
    pub(crate) error: &'a str,
    /// The only one of each thread that fails, counted from 1; none: all of them.
    pub(crate) only: Option<u32>,
    /// The files whose calls fail; none: those of every file.
    pub(crate) files: Vec<PathBuf>,
}

/// The tracer. Dropped, it lets go.
pub(crate) struct Tracer {
    tracer: Child,
    notes: TempDir,
}

impl Tracer {
    /// From when this returns, calls of the server fail.
    pub(crate) fn from_now_on(naven: &Naven, fault: &Fault<'_>) -> Self {
        let notes = tempfile::tempdir().expect("a temporary folder");
        let calls = fault.calls;
        let only = fault.only.map(|only| format!(":when={only}")).unwrap_or_default();
        let mut command = Command::new("strace");
        command.arg("-f").arg("-o").arg(notes.path().join(NOTES)).args(["-p", &naven.pid().to_string()]);
        command.args(["-e", &format!("trace={calls}")]);
        command.args(["-e", &format!("inject={calls}:error={}{only}", fault.error)]);
        fault.files.iter().for_each(|file| _ = command.arg("-P").arg(file));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let tracer = command.spawn().expect("strace is there: ./test installs it");
        let mut traced = Self { tracer, notes };
        let mut said = BufReader::new(traced.tracer.stderr.take().expect("stderr is piped"));
        let mut line = String::new();
        while said.read_line(&mut line).is_ok_and(|read| read > 0) {
            if line.contains("attached") {
                // What it says later must not fill the pipe.
                std::thread::spawn(move || said.lines().map_while(Result::ok).for_each(drop));
                return traced;
            }
            // It tells first which files it was told of by another name.
            if !line.contains("Requested path") {
                break;
            }
            line.clear();
        }
        panic!("strace may not trace the server, which this test cannot do without; it says: {line}");
    }

    /// The calls that were made to fail so far, a line each.
    pub(crate) fn failed(&self) -> Vec<String> {
        let notes = std::fs::read_to_string(self.notes.path().join(NOTES)).unwrap_or_default();
        notes.lines().filter(|line| line.contains("(INJECTED)")).map(str::to_owned).collect()
    }
}

/// The file that the tracer writes.
const NOTES: &str = "calls";

impl Drop for Tracer {
    fn drop(&mut self) {
        // One that has ended already, with the server, needs no ending.
        let _ = self.tracer.kill();
        let _ = self.tracer.wait();
    }
}

/// The files in a folder.
pub(crate) fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    entries.map(|entry| entry.expect("its entries can be read").path()).collect()
}
