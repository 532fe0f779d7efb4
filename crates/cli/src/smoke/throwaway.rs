//! A server of one's own: this same executable, a temporary folder, free ports.
//!
//! Lives here: starting it, killing it, starting it again on the same folder. Not here: what is done
//! with it.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use naven_client::Client;
use tempfile::TempDir;

use super::door::Door;
use crate::{environment, key};

/// Longest time until it is ready.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// A running server that ends, folder and all, when this is dropped.
pub(crate) struct Throwaway {
    // Dropped in this order: the process before its folder.
    process: Process,
    folder: TempDir,
    key: String,
}

struct Process {
    child: Child,
    url: String,
    /// HOST:PORT of the Redis door.
    redis: String,
}

impl Throwaway {
    pub(crate) async fn start() -> anyhow::Result<Self> {
        let folder =
            tempfile::Builder::new().prefix("naven-smoke-").tempdir().context("a temporary folder")?;
        let key = key::generate().reveal().to_owned();
        let process = Process::start(&folder, &key).await?;
        Ok(Self { process, folder, key })
    }

    pub(crate) fn client(&self) -> anyhow::Result<Client> {
        Ok(Client::new(&self.process.url, &self.key)?)
    }

    /// Its Redis door.
    pub(crate) fn door(&self) -> anyhow::Result<Door> {
        Door::new(&self.process.redis, false, Some(&self.key))
    }

    /// Ends it as a power cut would end the process, and starts it again.
    pub(crate) async fn kill_and_restart(&mut self) -> anyhow::Result<()> {
        self.process.kill();
        self.process = Process::start(&self.folder, &self.key).await.context("after kill -9")?;
        Ok(())
    }
}

impl Process {
    async fn start(folder: &TempDir, key: &str) -> anyhow::Result<Self> {
        let executable = std::env::current_exe().context("the path of this executable")?;
        let mut child = Command::new(executable)
            .args(["serve", "--http", "127.0.0.1:0", "--redis", "127.0.0.1:0", "--log", "warn"])
            // Small log files: a few dozen events need no 256 MiB of zeros first.
            .args(["--segment-bytes", "1048576", "--data"])
            .arg(folder.path().join("data"))
            .env(environment::ADMIN_KEY, key)
            // What is set for the user's own server is not meant for this one.
            .env_remove("NAVEN_CONFIG")
            .env_remove("NAVEN_ENGINE")
            .env_remove("NAVEN_REDIS_NO_AUTH")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("the throw-away server")?;
        let stdout = child.stdout.take().context("the server's standard output")?;
        // From here on the process is ended by drop, whatever happens.
        let mut process = Self { child, url: String::new(), redis: String::new() };
        let ready = tokio::task::spawn_blocking(move || first_line(stdout));
        let ready =
            tokio::time::timeout(START_TIMEOUT, ready).await.context("the server did not get ready")???;
        let part = |name: &str| {
            let mut parts = ready.split(' ');
            parts.find_map(|part| part.strip_prefix(name)).map(str::to_owned)
        };
        let (http, redis) = part("http=")
            .zip(part("redis="))
            .with_context(|| format!("the server said '{ready}' instead of being ready"))?;
        (process.url, process.redis) = (format!("http://{http}"), redis);
        Ok(process)
    }

    fn kill(&mut self) {
        // One that is gone already is what was asked for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

fn first_line(stdout: ChildStdout) -> anyhow::Result<String> {
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line)?;
    ensure!(line.starts_with("ready "), "the server ended before it was ready");
    Ok(line.trim_end().to_owned())
}
