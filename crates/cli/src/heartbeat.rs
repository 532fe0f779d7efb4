//! `naven heartbeat`: a holder's word that the work goes on, on the command line.
//!
//! Lives here: its arguments and what it prints. Not here: a holder's last word (`settle.rs`), and the call
//! (`naven-client`).

use clap::Args;
use naven_api::LeaseSeconds;
use naven_client::{HeartbeatReply, NoteText, Percent, Progress};

use crate::connection::{Connection, answered};
use crate::exit::Failure;
use crate::print::Lines;
use crate::settle::{Held, seconds};

/// What to know where no answer came.
const ADVICE: &str = "it may have been taken: the same command again is safe";

/// Arguments of `naven heartbeat`.
#[derive(Debug, Args)]
pub(crate) struct HeartbeatArgs {
    #[command(flatten)]
    held: Held,

    /// How long the lease holds from now on (1 to 43200); the queue's default where it is not given.
    #[arg(long, value_name = "N", value_parser = seconds::<LeaseSeconds>)]
    lease_seconds: Option<LeaseSeconds>,

    /// How far the work came, in whole hundredths (0 to 100).
    #[arg(long, value_name = "N", value_parser = percent)]
    percent: Option<Percent>,

    /// What it is at, for people: more than 1 KiB is cut.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    note: Option<String>,

    #[command(flatten)]
    connection: Connection,
}

fn percent(text: &str) -> Result<Percent, String> {
    let number: u32 = text.parse().map_err(|_| "expected a whole number from 0 to 100".to_owned())?;
    Percent::try_from(number).map_err(|error| error.to_string())
}

/// Sends it and prints the answer.
pub(crate) async fn run(args: HeartbeatArgs) -> Result<(), Failure> {
    let client = args.connection.client()?;
    let token = args.held.token().await?;
    let (event, lease) = (args.held.event_id, args.lease_seconds);
    let reply = match Progress::new(args.percent, args.note.as_deref().map(NoteText::new)) {
        Some(progress) => client.heartbeat_with(event, &token, lease, progress).await,
        None => client.heartbeat(event, &token, lease).await,
    };
    Ok(args.connection.output().one(Some(&answered(reply, ADVICE)?), lines)?)
}

fn lines(reply: &HeartbeatReply) -> Lines {
    let mut lines = vec![("state", reply.state.clone())];
    lines.extend(reply.lease_expires_at.map(|at| ("leased until", at.to_string())));
    lines.extend(reply.cancel_requested.then(|| ("cancelling", "you are asked to stop".to_owned())));
    lines
}
