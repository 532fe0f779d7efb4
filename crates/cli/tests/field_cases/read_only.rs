//! A file system that turns read-only under a running server, as some do after an error of their disk.
//!
//! Lives here: a tracer that answers every system call that would change a file with EROFS. Not here: what
//! the server makes of it (`fc20_full_disk.rs`). A real one cannot be had: the system does not mount a disk
//! anew for reading only while a file on it is open for writing.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::support::Naven;

/// Calls that change a file, its length, or a folder. Sockets are written with others.
const CHANGES: &str = "pwrite64,pwritev,pwritev2,ftruncate,fallocate,?rename,renameat,renameat2,?unlink,\
                       unlinkat,?mkdir,mkdirat";

/// The tracer. Dropped, it lets go.
pub(crate) struct ReadOnly {
    tracer: Child,
}

impl ReadOnly {
    /// From when this returns, the server changes no file any more.
    pub(crate) fn from_now_on(naven: &Naven) -> Self {
        let mut tracer = Command::new("strace")
            .args(["-f", "-o", "/dev/null", "-p", &naven.pid().to_string()])
            .args(["-e", &format!("trace={CHANGES}"), "-e", &format!("inject={CHANGES}:error=EROFS")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("strace is there: ./test installs it");
        let mut line = String::new();
        let said = BufReader::new(tracer.stderr.take().expect("stderr is piped")).read_line(&mut line);
        let is_attached = said.is_ok() && line.contains("attached");
        assert!(is_attached, "strace may not trace the server; it says: {line}");
        Self { tracer }
    }
}

impl Drop for ReadOnly {
    fn drop(&mut self) {
        // One that has ended already, with the server, needs no ending.
        let _ = self.tracer.kill();
        let _ = self.tracer.wait();
    }
}
