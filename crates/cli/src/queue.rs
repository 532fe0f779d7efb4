//! `naven queue`: queues on the command line.
//!
//! Lives here: its commands, and the arguments of those that make and change queues. Not here: a queue's settings
//! as flags (`queue_fields.rs`), how queues look (`queue_shown.rs`), emptying and watching them
//! (`queue_purge.rs`, `queue_watch.rs`, `queue_tail.rs`), and the calls (`naven-client`).

use clap::{Args, Subcommand};
use naven_api::{Backoff, StartFrom};
use naven_client::{QueueCreateRequest, QueueName, QueuePatchRequest, QueueReply, StreamName, Unfinished};

use crate::connection::{Connection, answered};
use crate::exit::Failure;
use crate::queue_fields::FieldArgs;
use crate::queue_purge::{self, PurgeArgs};
use crate::queue_shown::{self, Change, Deletion, Shown};
use crate::queue_tail::{self, TailArgs};
use crate::queue_watch::{self, ConsumersArgs, StatsArgs};

/// What to know where no answer came.
const ADVICE: &str = "it may have been done: look before you repeat this";

/// What to do with queues.
#[derive(Debug, Subcommand)]
pub(crate) enum QueueCommand {
    /// List queues, newest first.
    List(ListArgs),
    /// Show a queue: its settings, its counts and its version.
    Show(NamedArgs),
    /// Make a queue, on a stream of its own or on one that is named.
    Create(CreateArgs),
    /// Change a queue's settings: what is not named stays.
    Set(SetArgs),
    /// Delete a queue.
    Delete(DeleteArgs),
    /// Stop handing out a queue's events; publishing goes on.
    Pause(PauseArgs),
    /// Hand out a queue's events again.
    Resume(NamedArgs),
    /// Throw away what waits in a queue, in the background; what somebody has stays with its holder.
    Purge(PurgeArgs),
    /// Show what happened in a queue, step by step: how much, how fast, how deep it was.
    Stats(StatsArgs),
    /// Show who holds a queue's events, and who waits for some.
    Consumers(ConsumersArgs),
    /// Show each change in a queue as it happens, until Ctrl-C or the queue's end.
    Tail(TailArgs),
}

/// Arguments of `naven queue list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only queues whose names begin with this.
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    name_prefix: String,

    #[command(flatten)]
    connection: Connection,
}

/// Arguments of commands that name one queue and nothing else.
#[derive(Debug, Args)]
pub(crate) struct NamedArgs {
    /// The queue, by name or id.
    #[arg(env = "NAVEN_QUEUE_ID")]
    queue: String,

    #[command(flatten)]
    connection: Connection,
}

/// Arguments of `naven queue create`.
#[derive(Debug, Args)]
pub(crate) struct CreateArgs {
    /// Its unique name.
    name: QueueName,

    /// The stream that it reads, made where it is missing; a stream of its own where it is not given.
    #[arg(long, value_name = "NAME")]
    stream: Option<StreamName>,

    /// Where in that stream it begins: new (the default), start, a time, or behind an entry's id.
    #[arg(long, value_name = "PLACE", value_parser = place, requires = "stream")]
    from: Option<StartFrom>,

    #[command(flatten)]
    fields: FieldArgs,

    #[command(flatten)]
    connection: Connection,
}

/// At which version a queue has to be.
#[derive(Debug, Args)]
struct VersionArgs {
    /// Only while its settings are at this version: the one that `show` said.
    #[arg(long, value_name = "VERSION")]
    if_match: Option<String>,
}

/// Arguments of `naven queue set`.
#[derive(Debug, Args)]
pub(crate) struct SetArgs {
    /// The queue, by name or id.
    #[arg(env = "NAVEN_QUEUE_ID")]
    queue: String,

    #[command(flatten)]
    fields: FieldArgs,

    #[command(flatten)]
    version: VersionArgs,

    /// Change nothing, and say what would change.
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    connection: Connection,
}

/// Arguments of `naven queue delete`. The queue is not taken from the environment: what is deleted is named.
#[derive(Debug, Args)]
pub(crate) struct DeleteArgs {
    /// The queue, by name or id.
    queue: String,

    /// Delete it whatever it holds: unfinished events become dead letters.
    #[arg(long)]
    force: bool,

    /// Delete nothing, and say what would become dead letters.
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    version: VersionArgs,

    #[command(flatten)]
    connection: Connection,
}

/// Arguments of `naven queue pause`.
#[derive(Debug, Args)]
pub(crate) struct PauseArgs {
    /// The queue, by name or id.
    #[arg(env = "NAVEN_QUEUE_ID")]
    queue: String,

    /// Why, for people: at most 1 KiB.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,

    #[command(flatten)]
    connection: Connection,
}

fn place(text: &str) -> Result<StartFrom, String> {
    StartFrom::parse(text).ok_or_else(|| {
        "expected new, start, a time such as 2026-12-24T18:00:00Z, or an entry's id".to_owned()
    })
}

impl VersionArgs {
    /// The tag that is sent: quotes are part of it, and shells eat them.
    fn tag(&self) -> Option<String> {
        let version = self.if_match.as_deref()?;
        Some(if version.starts_with('"') { version.to_owned() } else { format!("\"{version}\"") })
    }
}

/// Runs one of the commands.
pub(crate) async fn run(command: QueueCommand) -> Result<(), Failure> {
    match command {
        QueueCommand::List(args) => list(args).await,
        QueueCommand::Show(args) => {
            let queue = args.connection.client()?.queue_tagged(&args.queue).await?;
            Ok(args.connection.output().one(Some(&Shown::from(queue)), Shown::lines)?)
        }
        QueueCommand::Create(args) => create(args).await,
        QueueCommand::Set(args) => set(args).await,
        QueueCommand::Delete(args) => delete(args).await,
        QueueCommand::Pause(args) => {
            let client = args.connection.client()?;
            let queue = answered(client.pause_queue(&args.queue, args.reason.as_deref()).await, ADVICE)?;
            Ok(args.connection.output().one(Some(&queue), queue_shown::lines)?)
        }
        QueueCommand::Resume(args) => {
            let queue = answered(args.connection.client()?.resume_queue(&args.queue).await, ADVICE)?;
            Ok(args.connection.output().one(Some(&queue), queue_shown::lines)?)
        }
        QueueCommand::Purge(args) => queue_purge::purge(args).await,
        QueueCommand::Stats(args) => queue_watch::stats(args).await,
        QueueCommand::Consumers(args) => queue_watch::consumers(args).await,
        QueueCommand::Tail(args) => queue_tail::tail(args).await,
    }
}

async fn list(args: ListArgs) -> Result<(), Failure> {
    let client = args.connection.client()?;
    let (mut queues, mut cursor) = (Vec::<QueueReply>::new(), None);
    loop {
        let page = client.queues(&args.name_prefix, cursor.as_deref()).await?;
        queues.extend(page.items);
        cursor = page.next_cursor;
        if cursor.is_none() {
            let output = args.connection.output();
            return Ok(output.grid(&queues, queue_shown::COLUMNS, queue_shown::row)?);
        }
    }
}

async fn create(args: CreateArgs) -> Result<(), Failure> {
    let CreateArgs { name, stream, from, fields, connection } = args;
    let mut fields = fields.fields(Backoff::default());
    // A new queue has no such end unless one is named: only a change takes null for it.
    fields.redis_lease_seconds = fields.redis_lease_seconds.filter(Option::is_some);
    let request = QueueCreateRequest { name, stream, from, fields };
    let queue = answered(connection.client()?.create_queue(&request).await, ADVICE)?;
    Ok(connection.output().one(Some(&queue), queue_shown::lines)?)
}

async fn set(args: SetArgs) -> Result<(), Failure> {
    let SetArgs { queue, fields, version, dry_run, connection } = args;
    let mut tag = version.tag();
    let has_backoff = fields.names_backoff();
    let client = connection.client()?;
    if fields.clone().fields(Backoff::default()) == Default::default() {
        return Err(Failure::usage("nothing to change: name a setting, such as --max-attempts"));
    }
    let mut backoff = Backoff::default();
    let before = if dry_run || has_backoff { Some(client.queue_tagged(&queue).await?) } else { None };
    if let Some(before) = &before {
        backoff = before.value.backoff;
    }
    let changes = QueuePatchRequest { fields: fields.fields(backoff) };
    if let (true, Some(before)) = (dry_run, &before) {
        let changed = Change::all(&before.value, &changes)?;
        return Ok(connection.output().grid(&changed, Change::COLUMNS, Change::row)?);
    }
    // What was not named of the backoff was read: it must still be so when it is written.
    if has_backoff && tag.is_none() {
        tag = before.and_then(|before| before.etag);
    }
    let queue = answered(client.patch_queue(&queue, &changes, tag.as_deref()).await, ADVICE)?;
    Ok(connection.output().one(Some(&Shown::from(queue)), Shown::lines)?)
}

async fn delete(args: DeleteArgs) -> Result<(), Failure> {
    let client = args.connection.client()?;
    if args.dry_run {
        let queue = client.queue(&args.queue).await?;
        return Ok(args.connection.output().one(Some(&Deletion::of(&queue)), Deletion::lines)?);
    }
    let unfinished = if args.force { Unfinished::Bury } else { Unfinished::Refuse };
    let tag = args.version.tag();
    let gone = answered(client.delete_queue_at(&args.queue, unfinished, tag.as_deref()).await, ADVICE)?;
    Ok(args.connection.output().one(Some(&gone), |gone| vec![("deleted", gone.id.to_string())])?)
}
