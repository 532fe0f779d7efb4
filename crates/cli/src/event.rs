//! `naven event`: single events on the command line.
//!
//! Lives here: its commands and their arguments. Not here: how events look (`event_shown.rs`), publishing,
//! claiming and settling them (files of their own), and the calls (`naven-client`).

use clap::{Args, Subcommand};
use naven_api::EventId;
use naven_client::RedriveRequest;

use crate::connection::{Connection, answered};
use crate::event_shown::{hold_lines, lines};
use crate::exit::Failure;

/// What to know where no answer came.
const ADVICE: &str = "it may have been done: look before you repeat this";

/// What to do with events.
#[derive(Debug, Subcommand)]
pub(crate) enum EventCommand {
    /// Show an event, its payload, and where it stands with each queue.
    Show(ShowArgs),
    /// Show who had an event when and how that ended, the last one first.
    Timeline(TimelineArgs),
    /// Call an event off: at once where nobody has it, else its holder is asked to stop.
    Cancel(CancelArgs),
    /// Begin a new round of a dead letter, due now.
    Redrive(RedriveArgs),
}

/// Arguments of `naven event show`.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The event's id.
    event: EventId,

    #[command(flatten)]
    connection: Connection,
}

/// The event, and the queue in which it is meant.
#[derive(Debug, Args)]
struct InQueue {
    /// The event's id.
    event: EventId,

    /// In which queue, by name or id: needed where several have the event.
    #[arg(long)]
    queue: Option<String>,
}

/// Arguments of `naven event timeline`.
#[derive(Debug, Args)]
pub(crate) struct TimelineArgs {
    #[command(flatten)]
    which: InQueue,

    #[command(flatten)]
    connection: Connection,
}

/// Arguments of `naven event cancel`.
#[derive(Debug, Args)]
pub(crate) struct CancelArgs {
    #[command(flatten)]
    which: InQueue,

    /// Why, for people: at most 1 KiB.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,

    #[command(flatten)]
    connection: Connection,
}

/// Arguments of `naven event redrive`.
#[derive(Debug, Args)]
pub(crate) struct RedriveArgs {
    #[command(flatten)]
    which: InQueue,

    /// Let its attempts go on instead of beginning at none.
    #[arg(long)]
    keep_attempts: bool,

    #[command(flatten)]
    connection: Connection,
}

/// Runs one of the commands.
pub(crate) async fn run(command: EventCommand) -> Result<(), Failure> {
    match command {
        EventCommand::Show(args) => {
            let event = args.connection.client()?.event(args.event).await?;
            Ok(args.connection.output().one(Some(&event), lines)?)
        }
        EventCommand::Timeline(args) => {
            let InQueue { event, queue } = args.which;
            let timeline = args.connection.client()?.timeline(event, queue.as_deref()).await?;
            Ok(args.connection.output().many(timeline.items.iter(), hold_lines)?)
        }
        EventCommand::Cancel(args) => {
            let InQueue { event, queue } = args.which;
            let client = args.connection.client()?;
            let cancelled = client.cancel(event, queue.as_deref(), args.reason.as_deref()).await;
            Ok(args.connection.output().one(Some(&answered(cancelled, ADVICE)?), lines)?)
        }
        EventCommand::Redrive(args) => {
            let InQueue { event, queue } = args.which;
            let request = RedriveRequest { reset_attempts: !args.keep_attempts, queue, target_queue: None };
            let redriven = args.connection.client()?.redrive_as(event, &request).await;
            Ok(args.connection.output().one(Some(&answered(redriven, ADVICE)?), lines)?)
        }
    }
}
