//! `naven ack` and `naven nack`: a holder's last word, on the command line.
//!
//! Lives here: their arguments, and reading tokens and numbers of seconds. Not here: heartbeats (`heartbeat.rs`),
//! and the calls (`naven-client`).

use std::fmt::Display;

use clap::{Args, ValueEnum};
use naven_api::limits::{PAYLOAD_DEPTH_MAX, RESULT_BYTES_MAX};
use naven_api::{DelaySeconds, EventId, LeaseToken};
use naven_client::{AckReply, AckResult, Nack, NackMode, NackReply};

use crate::connection::{Connection, answered, read_stdin};
use crate::exit::Failure;
use crate::print::Lines;

/// What to know where no answer came.
const ADVICE: &str = "it may have been taken: the same command again is safe";

/// Longest token that is read from standard input, in bytes.
const TOKEN_BYTES_MAX: usize = 4 * 1024;

/// The event and the proof of its lease.
#[derive(Debug, Args)]
pub(crate) struct Held {
    /// The event.
    pub(crate) event_id: EventId,

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

    /// What came of it: a JSON value of at most 4 KiB, or `-` for standard input.
    #[arg(long, value_name = "JSON|-", allow_hyphen_values = true)]
    result: Option<String>,

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
    /// The token; standard input is read where it stands there.
    pub(crate) async fn token(&self) -> anyhow::Result<LeaseToken> {
        match self.token.as_str() {
            "-" => Ok(LeaseToken::new(read_stdin(TOKEN_BYTES_MAX).await?.trim())),
            token => Ok(LeaseToken::new(token)),
        }
    }
}

/// Acks and prints the answer.
pub(crate) async fn ack(args: AckArgs) -> Result<(), Failure> {
    let client = args.connection.client()?;
    if args.held.token == "-" && args.result.as_deref() == Some("-") {
        return Err(Failure::usage("only one of --token and --result can be read from standard input"));
    }
    let result = result(args.result.as_deref()).await?;
    let token = args.held.token().await?;
    let reply = match result {
        Some(result) => client.ack_with(args.held.event_id, &token, result).await,
        None => client.ack(args.held.event_id, &token).await,
    };
    let acked = answered(reply, ADVICE)?;
    Ok(args.connection.output().one(Some(&acked), acked_lines)?)
}

/// The result that an argument says.
async fn result(argument: Option<&str>) -> Result<Option<AckResult>, Failure> {
    let text = match argument {
        None => return Ok(None),
        Some("-") => read_stdin(RESULT_BYTES_MAX).await?,
        Some(text) => text.to_owned(),
    };
    let result = AckResult::parse(text.trim()).ok_or_else(|| {
        let bounds = format!("at most {RESULT_BYTES_MAX} bytes, nested at most {PAYLOAD_DEPTH_MAX} deep");
        Failure::usage(format!("--result: expected a JSON value of {bounds}"))
    })?;
    Ok(Some(result))
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
