//! `naven dead-letter`: dead letters on the command line.
//!
//! Lives here: its commands, their arguments, and how dead letters look. Not here: the calls (`naven-client`),
//! what is said of many (`bulk_shown.rs`), and the operations that some of them begin (`operation.rs`).

use clap::{Args, Subcommand};
use naven_api::Timestamp;
use naven_client::{
    DeadDiscardRequest, DeadFilterRequest, DeadLetter, DeadRedriveRequest, DeadReply, ErrorGroupReply, Event,
    Which,
};
use serde::Serialize;

use crate::bulk_shown::said;
use crate::connection::{Connection, answered};
use crate::exit::Failure;
use crate::print::{Lines, Output, note};

/// What to know where no answer came.
const ADVICE: &str = "it may have been done: look before you repeat this";

/// What to do with dead letters.
#[derive(Debug, Subcommand)]
pub(crate) enum DeadLetterCommand {
    /// List a queue's dead letters, newest death first.
    List(ListArgs),
    /// Show of which errors they died, the most frequent first.
    Groups(GroupsArgs),
    /// Begin a new round of dead letters: those that are named at once, others in the background.
    Redrive(RedriveArgs),
    /// Forget dead letters for good: those that are named at once, others in the background.
    Discard(DiscardArgs),
}

/// Which dead letters.
#[derive(Debug, Clone, Args)]
struct FilterArgs {
    /// Only those that died for this, such as fatal or attempts_used_up.
    #[arg(long, value_name = "REASON")]
    reason: Option<String>,

    /// Only those of this fingerprint, or whose last error contains this.
    #[arg(long, value_name = "TEXT")]
    error: Option<String>,

    /// Only those that died at this time or later, such as 2026-12-24T18:00:00Z.
    #[arg(long, value_name = "TIME", value_parser = Timestamp::parse)]
    died_after: Option<Timestamp>,

    /// Only those that died before this time.
    #[arg(long, value_name = "TIME", value_parser = Timestamp::parse)]
    died_before: Option<Timestamp>,
}

impl FilterArgs {
    fn filter(self) -> DeadFilterRequest {
        let Self { reason, error, died_after, died_before } = self;
        DeadFilterRequest { reason, error, died_after, died_before }
    }
}

/// Arguments of `naven dead-letter list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// The queue, by name or id.
    #[arg(long, env = "NAVEN_QUEUE_ID")]
    queue: String,

    #[command(flatten)]
    filter: FilterArgs,

    /// Most dead letters; 50 where it is not given.
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,

    #[command(flatten)]
    connection: Connection,
}

/// Arguments of `naven dead-letter groups`.
#[derive(Debug, Args)]
pub(crate) struct GroupsArgs {
    /// The queue, by name or id.
    #[arg(long, env = "NAVEN_QUEUE_ID")]
    queue: String,

    #[command(flatten)]
    filter: FilterArgs,

    /// Most groups (1 to 500).
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: u32,

    #[command(flatten)]
    connection: Connection,
}

/// Which of them a command is for.
#[derive(Debug, Args)]
struct WhichArgs {
    /// Events, by their ids: 1 to 500.
    #[arg(value_name = "EVENT")]
    ids: Vec<String>,

    #[command(flatten)]
    filter: FilterArgs,

    /// All of them.
    #[arg(long)]
    all: bool,

    /// Do nothing, and say how many are meant.
    #[arg(long)]
    dry_run: bool,

    /// Wait until what goes on in the background is over; failed where it could not be done to all.
    #[arg(long, conflicts_with = "dry_run")]
    wait: bool,
}

impl WhichArgs {
    fn which(self) -> Result<Which, Failure> {
        let filter = self.filter.filter();
        let has_filter = filter != DeadFilterRequest::default();
        match (self.ids.is_empty(), has_filter, self.all) {
            (false, false, false) => Ok(Which::Ids(self.ids)),
            (true, true, false) => Ok(Which::Filter(filter)),
            (true, false, true) => Ok(Which::All(true)),
            _ => Err(Failure::usage(
                "say which, in one way: events by id, a filter (--reason, --error, --died-after, --died-before), or --all",
            )),
        }
    }
}

/// Arguments of `naven dead-letter redrive`.
#[derive(Debug, Args)]
pub(crate) struct RedriveArgs {
    /// The queue, by name or id.
    #[arg(long, env = "NAVEN_QUEUE_ID")]
    queue: String,

    #[command(flatten)]
    which: WhichArgs,

    /// Let their attempts go on instead of beginning at none.
    #[arg(long)]
    keep_attempts: bool,

    /// Publish their contents to this queue instead, by name or id, as new events: the dead letters end.
    #[arg(long, value_name = "QUEUE", conflicts_with = "keep_attempts")]
    target_queue: Option<String>,

    #[command(flatten)]
    connection: Connection,
}

/// Arguments of `naven dead-letter discard`.
#[derive(Debug, Args)]
pub(crate) struct DiscardArgs {
    /// The queue, by name or id.
    #[arg(long, env = "NAVEN_QUEUE_ID")]
    queue: String,

    #[command(flatten)]
    which: WhichArgs,

    #[command(flatten)]
    connection: Connection,
}

/// Runs one of the commands.
pub(crate) async fn run(command: DeadLetterCommand) -> Result<(), Failure> {
    match command {
        DeadLetterCommand::List(args) => list(args).await,
        DeadLetterCommand::Groups(args) => groups(args).await,
        DeadLetterCommand::Redrive(args) => redrive(args).await,
        DeadLetterCommand::Discard(args) => discard(args).await,
    }
}

/// A dead letter as one thing.
#[derive(Serialize)]
struct Letter {
    #[serde(flatten)]
    event: Event,
    #[serde(flatten)]
    dead: DeadReply,
}

async fn list(args: ListArgs) -> Result<(), Failure> {
    let client = args.connection.client()?;
    let filter = args.filter.filter();
    let (mut letters, mut cursor) = (Vec::<DeadLetter>::new(), None);
    loop {
        let page = client.dead_letters_where(&args.queue, &filter, cursor.as_deref()).await?;
        letters.extend(page.items);
        cursor = page.next_cursor;
        if cursor.is_none() || letters.len() >= args.limit {
            break;
        }
    }
    let more = cursor.is_some() || letters.len() > args.limit;
    letters.truncate(args.limit);
    let letters: Vec<_> =
        letters.into_iter().map(|letter| Letter { event: letter.event, dead: letter.dead }).collect();
    let output = args.connection.output();
    output.many(letters.iter(), letter_lines)?;
    if more && output == Output::Table {
        note("there are more dead letters: give a --limit or a filter");
    }
    Ok(())
}

async fn groups(args: GroupsArgs) -> Result<(), Failure> {
    let client = args.connection.client()?;
    let groups = client.dead_letter_groups(&args.queue, &args.filter.filter(), args.limit).await?;
    let output = args.connection.output();
    output.grid(&groups.items, GROUP_COLUMNS, group_row)?;
    if output == Output::Table && groups.scan_truncated {
        note("only the 20000 newest dead letters were looked at");
    }
    if output == Output::Table && groups.groups_left_out > 0 {
        note(&format!("{} more groups: give a --limit", groups.groups_left_out));
    }
    Ok(())
}

async fn redrive(args: RedriveArgs) -> Result<(), Failure> {
    let client = args.connection.client()?;
    let (dry_run, wait) = (args.which.dry_run, args.which.wait);
    let request = DeadRedriveRequest {
        which: args.which.which()?,
        reset_attempts: !args.keep_attempts,
        target_queue: args.target_queue,
        dry_run,
    };
    let answer = answered(client.redrive_many(&args.queue, &request).await, ADVICE)?;
    said(&client, &answer, wait, args.connection.output()).await
}

async fn discard(args: DiscardArgs) -> Result<(), Failure> {
    let client = args.connection.client()?;
    let (dry_run, wait) = (args.which.dry_run, args.which.wait);
    let request = DeadDiscardRequest { which: args.which.which()?, dry_run };
    let answer = answered(client.discard_many(&args.queue, &request).await, ADVICE)?;
    said(&client, &answer, wait, args.connection.output()).await
}

fn letter_lines(letter: &Letter) -> Lines {
    let mut lines = vec![("event", letter.event.id.to_string()), ("reason", letter.dead.reason.clone())];
    lines.extend(letter.dead.dead_at.map(|at| ("died", at.to_string())));
    let delivery = letter.event.deliveries.first();
    lines.extend(delivery.and_then(|one| one.last_error.clone()).map(|error| ("error", error)));
    lines.extend(delivery.map(|one| ("attempts", one.attempt_count.to_string())));
    lines.extend(letter.event.payload.as_ref().map(|payload| ("payload", payload.get().to_owned())));
    lines
}

const GROUP_COLUMNS: &[&str] = &["count", "reason", "fingerprint", "example", "event", "first", "last"];

/// A group in the list.
fn group_row(group: &ErrorGroupReply) -> Vec<String> {
    vec![
        group.count.to_string(),
        group.reason.clone(),
        group.fingerprint.clone(),
        group.example.clone().unwrap_or_else(|| "-".to_owned()),
        group.example_event_id.to_string(),
        group.first_dead_at.to_string(),
        group.last_dead_at.to_string(),
    ]
}
