//! `naven stream`: streams on the command line.
//!
//! Lives here: its commands, their arguments and what they print. Not here: the calls (`naven-client`),
//! what is pending (`stream_pending.rs`), and publishing to a stream (`publish.rs`).

use std::time::Duration;

use clap::{Args, Subcommand};
use naven_api::{EntryId, Timestamp};
use naven_client::{
    Entries, Entry, GroupReply, QueueReply, ResetRequest, StreamReply, TrimReply, TrimRequest, Unfinished,
};
use serde::Serialize;

use crate::connection::{Connection, answered};
use crate::exit::Failure;
use crate::print::{Lines, Output, note};
use crate::stream_pending::{self, PendingArgs};

/// What to know where no answer came.
const ADVICE: &str = "it may have been done: look before you repeat this";

/// What to do with streams.
#[derive(Debug, Subcommand)]
pub(crate) enum StreamCommand {
    /// List streams, newest first.
    List(ListArgs),
    /// Show a stream and its queues.
    Show(ShowArgs),
    /// Show the entries of a stream, in the order of their places.
    Entries(EntriesArgs),
    /// Show what is pending in a queue: what somebody has, and what waits to be taken again.
    Pending(PendingArgs),
    /// Delete a stream and its queues.
    Delete(DeleteArgs),
    /// Drop a stream's oldest entries; what a queue still needs of them stays for it.
    Trim(TrimArgs),
    /// Put a queue at another place of its stream: what lies behind that place begins a new round.
    Reset(ResetArgs),
}

/// Arguments of `naven stream list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only streams whose names begin with this.
    #[arg(long, value_name = "TEXT", default_value = "")]
    name_prefix: String,

    #[command(flatten)]
    connection: Connection,
}

/// Arguments of `naven stream show`.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The stream.
    name: String,

    #[command(flatten)]
    connection: Connection,
}

/// Arguments of `naven stream entries`.
#[derive(Debug, Args)]
pub(crate) struct EntriesArgs {
    /// The stream.
    name: String,

    /// The first place: an entry's id, or a time such as 2026-12-24T18:00:00Z.
    #[arg(long, value_name = "ID|TIME")]
    start: Option<String>,

    /// The last place: an entry's id, or a time.
    #[arg(long, value_name = "ID|TIME")]
    end: Option<String>,

    /// The last entry first.
    #[arg(long)]
    reverse: bool,

    /// Most entries (1 to 500; 50 where it is not given).
    #[arg(long, value_name = "N")]
    limit: Option<u32>,

    #[command(flatten)]
    connection: Connection,
}

/// Arguments of `naven stream delete`.
#[derive(Debug, Args)]
pub(crate) struct DeleteArgs {
    /// The stream.
    name: String,

    /// Delete it whatever its queues hold: it becomes dead letters.
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    connection: Connection,
}

/// Arguments of `naven stream trim`.
#[derive(Debug, Args)]
pub(crate) struct TrimArgs {
    /// The stream.
    name: String,

    #[command(flatten)]
    keep: KeepArgs,

    #[command(flatten)]
    connection: Connection,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct KeepArgs {
    /// Leave so many of the newest entries (0 to 1000000000).
    #[arg(long, value_name = "N")]
    max_length: Option<u32>,

    /// Leave this entry and what comes behind it.
    #[arg(long, value_name = "ID")]
    id: Option<EntryId>,

    /// Leave the entries at or after this time, such as 2026-12-24T18:00:00Z.
    #[arg(long, value_name = "TIME", value_parser = Timestamp::parse)]
    time: Option<Timestamp>,
}

/// Arguments of `naven stream reset`.
#[derive(Debug, Args)]
pub(crate) struct ResetArgs {
    /// The stream.
    name: String,

    /// Which of its queues, by name or id.
    #[arg(long, env = "NAVEN_QUEUE_ID")]
    queue: String,

    #[command(flatten)]
    place: PlaceArgs,

    #[command(flatten)]
    connection: Connection,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct PlaceArgs {
    /// Go on behind this entry; `0-0` is before all.
    #[arg(long, value_name = "ID")]
    id: Option<EntryId>,

    /// Go on at the first entry at or after this time, such as 2026-12-24T18:00:00Z.
    #[arg(long, value_name = "TIME", value_parser = Timestamp::parse)]
    time: Option<Timestamp>,
}

/// Runs one of the commands.
pub(crate) async fn run(command: StreamCommand) -> Result<(), Failure> {
    match command {
        StreamCommand::List(args) => list(args).await,
        StreamCommand::Show(args) => show(args).await,
        StreamCommand::Entries(args) => entries(args).await,
        StreamCommand::Pending(args) => stream_pending::pending(args).await,
        StreamCommand::Delete(args) => delete(args).await,
        StreamCommand::Trim(args) => trim(args).await,
        StreamCommand::Reset(args) => reset(args).await,
    }
}

async fn list(args: ListArgs) -> Result<(), Failure> {
    let client = args.connection.client()?;
    let (mut streams, mut cursor) = (Vec::new(), None);
    loop {
        let page = client.streams(&args.name_prefix, cursor.as_deref()).await?;
        streams.extend(page.items);
        cursor = page.next_cursor;
        if cursor.is_none() {
            return Ok(args.connection.output().grid(&streams, COLUMNS, row)?);
        }
    }
}

/// A stream and its queues, as one thing.
#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    stream: StreamReply,
    groups: Vec<GroupReply>,
}

async fn show(args: ShowArgs) -> Result<(), Failure> {
    let client = args.connection.client()?;
    let stream = client.stream(&args.name).await?;
    let groups = client.groups(&args.name).await?;
    Ok(args.connection.output().one(Some(&Shown { stream, groups }), shown_lines)?)
}

async fn entries(args: EntriesArgs) -> Result<(), Failure> {
    let client = args.connection.client()?;
    let (start, end, reverse, limit) = (args.start, args.end, args.reverse, args.limit);
    let wanted = Entries { start, end, reverse, limit, cursor: None };
    let page = client.entries(&args.name, &wanted).await?;
    let output = args.connection.output();
    output.many(page.items.iter(), entry_lines)?;
    if page.next_cursor.is_some() && output == Output::Table {
        note("there are more entries: give a --limit, a --start or an --end");
    }
    Ok(())
}

async fn delete(args: DeleteArgs) -> Result<(), Failure> {
    let client = args.connection.client()?;
    let unfinished = if args.force { Unfinished::Bury } else { Unfinished::Refuse };
    let gone = answered(client.delete_stream(&args.name, unfinished).await, ADVICE)?;
    Ok(args.connection.output().one(Some(&gone), |gone| vec![("deleted", gone.name.clone())])?)
}

/// Longest time that a trim may take: it is done in steps, and a repetition goes on where it stopped.
const TRIM_TIMEOUT: Duration = Duration::from_secs(600);

async fn trim(args: TrimArgs) -> Result<(), Failure> {
    let client = args.connection.client()?.with_call_timeout(TRIM_TIMEOUT);
    let KeepArgs { max_length, id, time } = args.keep;
    let keep = max_length.map(TrimRequest::MaxLength).or(id.map(TrimRequest::Id));
    let keep = keep.or(time.map(TrimRequest::Time));
    let keep = keep.ok_or_else(|| Failure::usage("say what stays: --max-length, --id or --time"))?;
    let reply = answered(client.trim_stream(&args.name, &keep).await, "repeat it to go on")?;
    let lines =
        |reply: &TrimReply| vec![("stream", reply.name.clone()), ("trimmed", reply.trimmed.to_string())];
    Ok(args.connection.output().one(Some(&reply), lines)?)
}

async fn reset(args: ResetArgs) -> Result<(), Failure> {
    let client = args.connection.client()?;
    let place = args.place.id.map(ResetRequest::Id).or(args.place.time.map(ResetRequest::Time));
    let place = place.ok_or_else(|| Failure::usage("no place: name one with --id or --time"))?;
    let queue = answered(client.reset_group(&args.name, &args.queue, &place).await, ADVICE)?;
    Ok(args.connection.output().one(Some(&queue), queue_lines)?)
}

const COLUMNS: &[&str] = &["stream", "retention", "queues", "entries", "ever added", "scheduled", "last"];

/// A stream in a list.
fn row(stream: &StreamReply) -> Vec<String> {
    vec![
        stream.name.clone(),
        stream.retention.clone(),
        stream.queues.to_string(),
        stream.length.to_string(),
        stream.entries_added.to_string(),
        stream.scheduled.to_string(),
        stream.last_id.map_or_else(|| "-".to_owned(), |id| id.to_string()),
    ]
}

fn stream_lines(stream: &StreamReply) -> Lines {
    let mut lines = vec![
        ("stream", stream.name.clone()),
        ("retention", stream.retention.clone()),
        ("entries", format!("{} of {} ever added", stream.length, stream.entries_added)),
    ];
    lines.extend(stream.first_id.map(|id| ("first", id.to_string())));
    lines.extend(stream.last_id.map(|id| ("last", id.to_string())));
    lines.push(("scheduled", stream.scheduled.to_string()));
    lines.push(("queues", stream.queues.to_string()));
    lines
}

fn shown_lines(shown: &Shown) -> Lines {
    let mut lines = stream_lines(&shown.stream);
    lines.extend(shown.groups.iter().map(|group| {
        let GroupReply { name, lag, pending, counts, .. } = group;
        ("queue", format!("{name}: {lag} unread, {pending} pending, {} dead", counts.dead))
    }));
    lines
}

fn entry_lines(entry: &Entry) -> Lines {
    let mut lines = vec![("entry", entry.stream_id.to_string()), ("event", entry.event_id.to_string())];
    lines.extend(entry.payload.as_ref().map(|payload| ("payload", payload.get().to_owned())));
    lines.push(("published", entry.created_at.to_string()));
    lines
}

fn queue_lines(queue: &QueueReply) -> Lines {
    vec![
        ("queue", queue.name.clone()),
        ("stream", queue.stream.clone()),
        ("ready", queue.counts.ready.to_string()),
    ]
}
