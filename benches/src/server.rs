//! A server to be measured: a process and a folder of its own.
//!
//! Lives here: starting it, `kill -9`, starting it again on the same folder, the size of that folder. Not
//! here: calls to it (`calls.rs`), what the system counts for it (`process.rs`).

use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use tempfile::TempDir;

use crate::clock::now;
use crate::connection::Address;
use crate::process::Process;

/// Longest time until a server is ready: a deep backlog may have a long log to be replayed.
const START_MAX: Duration = Duration::from_secs(1_800);

/// How servers are started.
#[derive(Debug)]
pub(crate) struct Launch {
    /// The executable.
    pub(crate) naven: PathBuf,
    /// Where their folders are made; none: the system's place for temporary files.
    pub(crate) folder: Option<PathBuf>,
}

/// A running server. Dropped, it is killed and its folder removed.
#[derive(Debug)]
pub(crate) struct Server {
    // Dropped in this order: the process before its folder.
    running: Running,
    folder: TempDir,
    naven: PathBuf,
    key: String,
}

#[derive(Debug)]
struct Running {
    child: Child,
    host: String,
}

impl Launch {
    /// Where folders are made.
    pub(crate) fn place(&self) -> PathBuf {
        self.folder.clone().unwrap_or_else(std::env::temp_dir)
    }

    /// Starts a server on an empty folder.
    ///
    /// # Errors
    /// Where it does not get ready.
    pub(crate) async fn start(&self) -> anyhow::Result<Server> {
        let folder = tempfile::Builder::new().prefix("naven-benches-").tempdir_in(self.place());
        let folder = folder.context("a temporary folder")?;
        let generated = Command::new(&self.naven).args(["key", "generate"]).output().context("a key")?;
        let key = String::from_utf8(generated.stdout)?.trim().to_owned();
        let running = start(&self.naven, folder.path(), &key).await?;
        Ok(Server { running, folder, naven: self.naven.clone(), key })
    }
}

impl Server {
    /// Where to, and under which key.
    pub(crate) fn address(&self) -> Address {
        Address { host: Arc::from(self.running.host.as_str()), key: Arc::from(self.key.as_str()) }
    }

    pub(crate) fn process(&self) -> Process {
        Process { pid: self.running.child.id() }
    }

    /// Bytes that the folder takes on the disk.
    ///
    /// # Errors
    /// What the file system says.
    pub(crate) fn disk_bytes(&self) -> anyhow::Result<u64> {
        Ok(bytes_under(self.folder.path())?)
    }

    /// Ends it as a power cut would end the process, and starts it again. How long it took from the
    /// start of the process to the ready line.
    ///
    /// # Errors
    /// Where it does not get ready.
    pub(crate) async fn kill_and_restart(&mut self) -> anyhow::Result<Duration> {
        self.running.kill();
        let began = now();
        self.running = start(&self.naven, self.folder.path(), &self.key).await.context("after kill -9")?;
        Ok(began.elapsed())
    }
}

async fn start(naven: &Path, folder: &Path, key: &str) -> anyhow::Result<Running> {
    let mut child = Command::new(naven)
        .args(["serve", "--http", "127.0.0.1:0", "--redis", "off", "--log", "warn", "--data"])
        .arg(folder.join("data"))
        // What is set for the caller's own server is not meant for this one.
        .env_clear()
        .env("NAVEN_ADMIN_KEY", key)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| naven.display().to_string())?;
    let stdout = child.stdout.take().context("the server's standard output")?;
    // From here on the process is ended by drop, whatever happens.
    let mut running = Running { child, host: String::new() };
    let first = tokio::task::spawn_blocking(move || {
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).map(|_| line)
    });
    let line = tokio::time::timeout(START_MAX, first).await.context("the server did not get ready")???;
    ensure!(line.starts_with("ready "), "the server ended before it was ready");
    let host = line.split_whitespace().find_map(|part| part.strip_prefix("http="));
    running.host = host.with_context(|| format!("not a ready line: {line}"))?.to_owned();
    Ok(running)
}

impl Running {
    fn kill(&mut self) {
        // One that is gone already is what was asked for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

fn bytes_under(folder: &Path) -> std::io::Result<u64> {
    /// What `st_blocks` counts in.
    const BLOCK: u64 = 512;
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        bytes += match entry.metadata() {
            Ok(about) if about.is_dir() => bytes_under(&entry.path())?,
            Ok(about) => about.blocks() * BLOCK,
            // Removed meanwhile.
            Err(_) => 0,
        };
    }
    Ok(bytes)
}
