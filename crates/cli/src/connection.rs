//! Which server a client command talks to, and under which key.
//!
//! Lives here: the arguments that client commands share. Not here: the calls.

use std::io::Read;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use naven_client::{Client, Error, ErrorCode};

use crate::exit::{Failure, chain};
use crate::print::Output;

/// Where `serve` listens by default, as a client writes it.
pub(crate) const DEFAULT_URL: &str = "http://127.0.0.1:7480";

/// The server and the key.
#[derive(Debug, Args)]
pub(crate) struct Access {
    /// The server's address.
    #[arg(long, env = "NAVEN_API_URL", default_value = DEFAULT_URL)]
    url: String,

    /// The key. Better in the variable: arguments show in process lists.
    #[arg(long, env = "NAVEN_API_KEY", hide_env_values = true)]
    key: Option<String>,

    /// Over https, trust the certificates in this PEM file and no others. [default: those that the system
    /// trusts]
    #[arg(long, env = "NAVEN_CA_FILE", value_name = "FILE")]
    ca_file: Option<PathBuf>,
}

/// The server, the key, and how to show what it answers.
#[derive(Debug, Args)]
pub(crate) struct Connection {
    #[command(flatten)]
    access: Access,

    /// How to print: table on a terminal and jsonl in a pipe, unless it is named.
    #[arg(long, value_enum)]
    output: Option<Output>,
}

impl Access {
    /// A client for that server.
    ///
    /// # Errors
    /// A usage error where there is no key or the address cannot be served.
    pub(crate) fn client(&self) -> Result<Client, Failure> {
        let key = key(self.key.as_deref())?;
        let Some(path) = self.ca_file.as_ref().filter(|path| !path.as_os_str().is_empty()) else {
            return Client::new(&self.url, key).map_err(Failure::usage);
        };
        let roots = std::fs::read(path)
            .map_err(|error| Failure::usage(format!("ca-file {}: {error}", path.display())))?;
        Client::trusting(&self.url, key, &roots)
            .map_err(|error| Failure::usage(format!("ca-file {}: {error}", path.display())))
    }
}

impl Connection {
    /// A client for that server.
    ///
    /// # Errors
    /// As for [`Access::client`].
    pub(crate) fn client(&self) -> Result<Client, Failure> {
        self.access.client()
    }

    /// How to print.
    pub(crate) fn output(&self) -> Output {
        self.output.unwrap_or_else(Output::for_stdout)
    }
}

/// A client for the server at `url` under `key`.
///
/// # Errors
/// A usage error where there is no key or the address cannot be served.
pub(crate) fn client(url: &str, key: Option<&str>) -> Result<Client, Failure> {
    Client::new(url, self::key(key)?).map_err(Failure::usage)
}

fn key(key: Option<&str>) -> Result<&str, Failure> {
    let key = key.filter(|key| !key.is_empty());
    key.ok_or_else(|| Failure::usage("no key: set NAVEN_API_KEY"))
}

/// The reply, or the error; where the call may have been carried out all the same, with `advice`.
///
/// # Errors
/// The call's own error.
pub(crate) fn answered<T>(reply: Result<T, Error>, advice: &str) -> anyhow::Result<T> {
    reply.map_err(|error| {
        let advice = if error.may_have_applied() { Some(advice) } else { flag_for(error.code()) };
        let error = anyhow::Error::new(error);
        match advice {
            Some(advice) => anyhow::anyhow!("{} ({advice})", chain(&error)),
            None => error,
        }
    })
}

/// What a refusal speaks of in the words of the API, in those of the command line.
fn flag_for(code: Option<ErrorCode>) -> Option<&'static str> {
    match code? {
        ErrorCode::QueueNotEmpty => Some("here that is --force"),
        ErrorCode::VersionMismatch => Some("here that is --if-match"),
        _ => None,
    }
}

/// Reads standard input, at most `bytes_max` of it, without the line end that a shell puts there.
///
/// # Errors
/// Where it is longer, cannot be read, or is not UTF-8.
pub(crate) async fn read_stdin(bytes_max: usize) -> anyhow::Result<String> {
    read_text(std::io::stdin(), bytes_max).await.context("standard input")
}

/// Reads `from` to its end, at most `bytes_max` of it, on a thread that may block.
///
/// # Errors
/// Where it is longer, cannot be read, or is not UTF-8.
pub(crate) async fn read_text(from: impl Read + Send + 'static, bytes_max: usize) -> anyhow::Result<String> {
    tokio::task::spawn_blocking(move || {
        let mut text = String::new();
        let limit = u64::try_from(bytes_max).unwrap_or(u64::MAX).saturating_add(1);
        from.take(limit).read_to_string(&mut text)?;
        anyhow::ensure!(text.len() <= bytes_max, "longer than {bytes_max} bytes");
        Ok(text)
    })
    .await
    .context("the reading thread ended")?
}
