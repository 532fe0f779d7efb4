//! The server's process.
//!
//! Lives here: starting it until it is ready, ending it both ways. Not here: when (`run.rs`), what it takes (`measure.rs`).

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, bail};

use super::plan::SEGMENT_BYTES;
use super::scene::Doors;

/// Longest time until it is ready, and until it has ended after SIGTERM.
const READY: Duration = Duration::from_secs(60);
const STOPPED: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A binary, a folder and a key; and a process while it runs.
#[derive(Debug)]
pub(super) struct Server {
    naven: PathBuf,
    folder: PathBuf,
    key: String,
    child: Option<Child>,
}

impl Server {
    /// A key for it is made by the binary itself.
    pub(super) fn new(naven: &Path, folder: &Path) -> anyhow::Result<Self> {
        let made = Command::new(naven).args(["key", "generate"]).output();
        let made = made.with_context(|| format!("cannot run {}", naven.display()))?;
        let key = String::from_utf8(made.stdout)?.trim().to_owned();
        if key.is_empty() {
            bail!("{} key generate prints no key", naven.display());
        }
        Ok(Self { naven: naven.to_owned(), folder: folder.to_owned(), key, child: None })
    }

    pub(super) fn key(&self) -> &str {
        &self.key
    }

    pub(super) fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    pub(super) fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// How it ended, where nobody ended it.
    pub(super) fn has_ended(&mut self) -> Option<String> {
        let status = self.child.as_mut()?.try_wait().ok()??;
        self.child = None;
        Some(format!("the server ended by itself with {status}"))
    }

    /// Starts it and waits for its ready line.
    pub(super) fn start(&mut self) -> anyhow::Result<Doors> {
        let log = OpenOptions::new().create(true).append(true).open(self.folder.join("server.log"));
        let log: File = log.context("cannot write the server's log")?;
        let mut child = Command::new(&self.naven)
            .arg("serve")
            .arg("--data")
            .arg(self.data())
            .args(["--http", "127.0.0.1:0", "--redis", "127.0.0.1:0", "--log", "warn"])
            .args(["--segment-bytes", &SEGMENT_BYTES.to_string()])
            .env("NAVEN_ADMIN_KEY", &self.key)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .context("the server cannot be started")?;
        let stdout = child.stdout.take().context("stdout is piped")?;
        self.child = Some(child);
        let (sender, first) = mpsc::channel();
        std::thread::spawn(move || {
            let mut stdout = BufReader::new(stdout);
            let mut line = String::new();
            drop(stdout.read_line(&mut line).map(|_| sender.send(line)));
            // Whatever else it prints finds a reader.
            drop(stdout.read_to_end(&mut Vec::new()));
        });
        let line = first.recv_timeout(READY).unwrap_or_default();
        doors_of(&line).with_context(|| format!("the server is not ready within {READY:?}: {line:?}"))
    }

    /// kill -9.
    pub(super) fn kill(&mut self) -> anyhow::Result<()> {
        if let Some(mut child) = self.child.take() {
            if let Some(status) = child.try_wait()? {
                bail!("the server had ended by itself with {status}");
            }
            child.kill()?;
            child.wait()?;
        }
        Ok(())
    }

    /// SIGTERM. It has to end with 0.
    pub(super) fn stop(&mut self) -> anyhow::Result<()> {
        let Some(mut child) = self.child.take() else { return Ok(()) };
        if let Some(status) = child.try_wait()? {
            bail!("the server had ended by itself with {status}");
        }
        Command::new("kill").args(["-TERM", &child.id().to_string()]).status()?;
        let mut left = STOPPED;
        let status: ExitStatus = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if left.is_zero() {
                child.kill()?;
                child.wait()?;
                bail!("the server did not end within {STOPPED:?} of SIGTERM");
            }
            left = left.saturating_sub(LOOK_EVERY);
            std::thread::sleep(LOOK_EVERY);
        };
        if status.success() { Ok(()) } else { bail!("the server ended with {status} after SIGTERM") }
    }

    /// Reads its whole folder, which no server may use then.
    pub(super) fn verify(&self) -> anyhow::Result<()> {
        let read = Command::new(&self.naven).arg("verify").arg("--data").arg(self.data()).output()?;
        if read.status.success() {
            return Ok(());
        }
        bail!("naven verify ended with {}: {}", read.status, String::from_utf8_lossy(&read.stdout).trim())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // One that has ended already needs no killing.
            drop(child.kill());
            drop(child.wait());
        }
    }
}

fn doors_of(line: &str) -> Option<Doors> {
    let part =
        |name: &str| line.split_whitespace().find_map(|part| part.strip_prefix(name)).map(str::to_owned);
    line.starts_with("ready ").then_some(())?;
    Some(Doors { http: part("http=")?, redis: part("redis=")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doors_are_read_from_the_ready_line() {
        let doors = doors_of("ready http=127.0.0.1:1 redis=127.0.0.1:2 engine=embedded\n").unwrap();
        assert_eq!((doors.http.as_str(), doors.redis.as_str()), ("127.0.0.1:1", "127.0.0.1:2"));
        assert!(doors_of("error http=127.0.0.1:1 redis=127.0.0.1:2").is_none() && doors_of("").is_none());
    }
}
