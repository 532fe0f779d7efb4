//! `naven event`: single events on the command line.
//!
//! Lives here: its commands and their arguments. Not here: how events look (`event_shown.rs`), finding them
//! (`event_list.rs`), publishing, claiming and settling them (files of their own), and the calls
//! (`naven-client`).

use clap::{Args, Subcommand};
use naven_api::{EventId, Timestamp};
use naven_client::{RedriveRequest, RescheduleRequest};

use crate::connection::{Connection, answered};
use crate::event_list::{self, ListArgs};
use crate::event_shown::{hold_lines, lines};
use crate::exit::Failure;

/// What to know where no answer came.
const ADVICE: &str = "it may have been done: look before you repeat this";
/// The same of calls that may be repeated.
const AGAIN: &str = "it may have been done: the same command again is safe";

/// What to do with events.
#[derive(Debug, Subcommand)]
pub(crate) enum EventCommand {
    /// List a queue's events, whatever became of them, the last that was published first.
    List(ListArgs),
    /// Show an event, its payload, and where it stands with each queue.
    Show(ShowArgs),
    /// Show who had an event when and how that ended, the last one first.
    Timeline(TimelineArgs),
    /// Call an event off: at once where nobody has it, else its holder is asked to stop.
    Cancel(CancelArgs),
    /// Give an event that nobody has another due time, or another bound on its attempts: what is not named stays.
    Set(SetArgs),
    /// Make an event due now that waits for its time.
    RunNow(RunNowArgs),
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

/// Arguments of `naven event set`.
#[derive(Debug, Args)]
pub(crate) struct SetArgs {
    #[command(flatten)]
    which: InQueue,

    /// When it is due, such as 2026-12-24T18:00:00Z: at most ten years ahead.
    #[arg(long, value_name = "TIME", value_parser = Timestamp::parse)]
    scheduled_at: Option<Timestamp>,

    /// Make it due now.
    #[arg(long, conflicts_with = "scheduled_at")]
    now: bool,

    /// Attempts before it becomes a dead letter (1 to 1000), or `queue` for as many as each queue has it.
    #[arg(long, value_name = "N|queue", value_parser = attempts)]
    max_attempts: Option<Attempts>,

    #[command(flatten)]
    connection: Connection,
}

/// A bound on attempts; none: that of the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Attempts(Option<u32>);

fn attempts(text: &str) -> Result<Attempts, String> {
    let number = || text.parse().map_err(|_| "expected a whole number, or queue".to_owned());
    Ok(Attempts(if text == "queue" { None } else { Some(number()?) }))
}

/// Arguments of `naven event run-now`.
#[derive(Debug, Args)]
pub(crate) struct RunNowArgs {
    #[command(flatten)]
    which: InQueue,

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

    /// Publish its content to this queue instead, by name or id, as a new event: the dead letter ends.
    #[arg(long, value_name = "QUEUE", conflicts_with = "keep_attempts")]
    target_queue: Option<String>,

    #[command(flatten)]
    connection: Connection,
}

/// Runs one of the commands.
pub(crate) async fn run(command: EventCommand) -> Result<(), Failure> {
    match command {
        EventCommand::List(args) => event_list::list(args).await,
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
        EventCommand::Set(args) => set(args).await,
        EventCommand::RunNow(args) => {
            let InQueue { event, queue } = args.which;
            let due = args.connection.client()?.run_now(event, queue.as_deref()).await;
            Ok(args.connection.output().one(Some(&answered(due, AGAIN)?), lines)?)
        }
        EventCommand::Redrive(args) => {
            let InQueue { event, queue } = args.which;
            let (reset_attempts, target_queue) = (!args.keep_attempts, args.target_queue);
            let request = RedriveRequest { reset_attempts, queue, target_queue };
            let redriven = args.connection.client()?.redrive_as(event, &request).await;
            Ok(args.connection.output().one(Some(&answered(redriven, ADVICE)?), lines)?)
        }
    }
}

async fn set(args: SetArgs) -> Result<(), Failure> {
    let InQueue { event, queue } = args.which;
    let client = args.connection.client()?;
    let scheduled_at = if args.now { Some(None) } else { args.scheduled_at.map(Some) };
    let max_attempts = args.max_attempts.map(|Attempts(most)| most);
    if scheduled_at.is_none() && max_attempts.is_none() {
        return Err(Failure::usage("nothing to change: name --scheduled-at, --now or --max-attempts"));
    }
    let request = RescheduleRequest { scheduled_at, max_attempts, queue };
    let changed = answered(client.reschedule(event, &request).await, AGAIN)?;
    Ok(args.connection.output().one(Some(&changed), lines)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_a_number_or_those_of_the_queue() {
        assert_eq!(attempts("7"), Ok(Attempts(Some(7))));
        assert_eq!(attempts("queue"), Ok(Attempts(None)));
        for bad in ["", "-1", "none", "1.5"] {
            assert!(attempts(bad).is_err(), "{bad}");
        }
    }
}
