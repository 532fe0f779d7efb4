//! `naven ack` and `naven nack`: a holder's last word, on the command line.
//!
//! Lives here: their arguments, and reading numbers of seconds. Not here: the calls (`naven-client`).

use std::fmt::Display;

use clap::{Args, ValueEnum};
use naven_api::{DelaySeconds, EventId, LeaseToken};
use naven_client::{AckReply, Nack, NackMode, NackReply};

use crate::connection::{Connection, answered, read_stdin};
use crate::exit::Failure;
use crate::print::Lines;

/// What to know where no answer came.
const ADVICE: &str = "it may have been taken: the same command again is safe";

/// Longest token that is read from standard input, in bytes.
const TOKEN_BYTES_MAX: usize = 4 * 1024;

/// The event and the proof of its lease.
#[derive(Debug, Args)]
struct Held {
    /// The event.
    event_id: EventId,

    /// The claim's leaseToken, or `-` for standard input. Better there or in the variable: arguments
    /// show in process lists.
    #[arg(
        long,
        env = "NAVEN_LEASE_TOKEN",
        hide_env_values = true,
        value_name = "TOKEN|-",
        allow_hyphen_values = true
    )]
    token: String,
}

/// Arguments of `naven ack`.
#[derive(Debug, Args)]
pub(crate) struct AckArgs {
    #[command(flatten)]
    held: Held,
    #[command(flatten)]
    connection: Connection,
}

/// Arguments of `naven nack`.
#[derive(Debug, Args)]
pub(crate) struct NackArgs {
    #[command(flatten)]
    held: Held,

    /// What went wrong, for people.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    error: Option<String>,

    /// When to try again (0 to 315360000); the queue's backoff where it is not given.
    #[arg(long, value_name = "N", value_parser = seconds::<DelaySeconds>)]
    retry_delay_seconds: Option<DelaySeconds>,

    /// What becomes of the event.
    #[arg(long, value_enum, default_value_t = Mode::Fail)]
    mode: Mode,

    #[command(flatten)]
    connection: Connection,
}

/// What becomes of an event that was not finished.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Mode {
    /// Retry it later, or give it up when its attempts are used up.
    Fail,
    /// Give it up at once.
    Fatal,
    /// Give it back now, without an attempt counted.
    Release,
}

impl Held {
    async fn token(&self) -> anyhow::Result<LeaseToken> {
        match self.token.as_str() {
            "-" => Ok(LeaseToken::new(read_stdin(TOKEN_BYTES_MAX).await?.trim())),
            token => Ok(LeaseToken::new(token)),
        }
    }
}

/// Acks and prints the answer.
pub(crate) async fn ack(args: AckArgs) -> Result<(), Failure> {
    let client = args.connection.client()?;
    let token = args.held.token().await?;
    let reply = client.ack(args.held.event_id, &token).await;
    let acked = answered(reply, ADVICE)?;
    Ok(args.connection.output().one(Some(&acked), acked_lines)?)
}

/// Nacks and prints the answer.
pub(crate) async fn nack(args: NackArgs) -> Result<(), Failure> {
    let client = args.connection.client()?;
    let token = args.held.token().await?;
    let mode = match args.mode {
        Mode::Fail => NackMode::Fail,
        Mode::Fatal => NackMode::Fatal,
        Mode::Release => NackMode::Release,
    };
    let nack = Nack { mode, error: args.error, retry_delay: args.retry_delay_seconds };
    let reply = client.nack(args.held.event_id, &token, &nack).await;
    let nacked = answered(reply, ADVICE)?;
    Ok(args.connection.output().one(Some(&nacked), nacked_lines)?)
}

fn acked_lines(acked: &AckReply) -> Lines {
    let mut lines = vec![("state", acked.state.clone())];
    lines.extend(acked.settled_at.map(|at| ("settled", at.to_string())));
    lines.push(("replayed", acked.replayed.to_string()));
    lines
}

fn nacked_lines(nacked: &NackReply) -> Lines {
    let mut lines = vec![("state", nacked.state.clone())];
    lines.extend(nacked.next_attempt_at.map(|at| ("next attempt", at.to_string())));
    lines.push(("replayed", nacked.replayed.to_string()));
    lines
}

/// A number of seconds inside its bounds.
pub(crate) fn seconds<T: TryFrom<u32, Error: Display>>(text: &str) -> Result<T, String> {
    let number: u32 = text.parse().map_err(|_| "expected a whole number of seconds".to_owned())?;
    T::try_from(number).map_err(|error| error.to_string())
}
