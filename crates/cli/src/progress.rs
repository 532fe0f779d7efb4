//! How far long work has come, for people who wait.
//!
//! Lives here: one line on stderr, on a terminal only. Not here: what is worked on.

use std::io::{IsTerminal, Write};

/// A line is written again after so many bytes.
const STEP_BYTES: u64 = 1 << 20;

/// A line that says how many bytes are done.
#[derive(Debug)]
pub(crate) struct Progress {
    what: &'static str,
    is_shown: bool,
    done: u64,
    shown_at: u64,
}

impl Progress {
    /// Nothing is done yet.
    pub(crate) fn of(what: &'static str) -> Self {
        Self { what, is_shown: std::io::stderr().is_terminal(), done: 0, shown_at: 0 }
    }

    /// So many bytes more are done, of about so many in all.
    pub(crate) fn add(&mut self, bytes: u64, of_about: Option<u64>) {
        self.done += bytes;
        if self.is_shown && self.done >= self.shown_at + STEP_BYTES {
            self.shown_at = self.done;
            let about = of_about.filter(|about| *about > self.done);
            let about = about.map_or_else(String::new, |about| format!(" of about {}", about >> 20));
            let line = format!("\r{}: {}{about} MiB ", self.what, self.done >> 20);
            // Where stderr is closed there is nobody left to tell.
            let _ = std::io::stderr().lock().write_all(line.as_bytes());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_shown && self.shown_at > 0 {
            let _ = std::io::stderr().lock().write_all(b"\n");
        }
    }
}
