//! `naven publish`: one event from the command line.
//!
//! Lives here: its arguments and what it prints. Not here: the call (`naven-client`).

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use naven_api::{DedupeKey, DelaySeconds, Timestamp};
use naven_client::{Event, Headers, Payload, PublishRequest};

use crate::connection::{Connection, answered, read_stdin, read_text};
use crate::environment;
use crate::exit::Failure;
use crate::print::Lines;
use crate::settle::seconds;

/// What to know where no answer came.
const ADVICE: &str = "the event may have been published: look before you repeat this";

/// Longest payload that is read from a file or standard input, in bytes: what a server can be set to.
const PAYLOAD_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Arguments of `naven publish`.
#[derive(Debug, Args)]
pub(crate) struct PublishArgs {
    /// The queue, by name or id; that of NAVEN_QUEUE_ID where neither this nor a stream is given.
    #[arg(long, conflicts_with = "stream")]
    queue: Option<String>,

    /// Publish to every queue of this stream instead.
    #[arg(long, value_name = "NAME")]
    stream: Option<String>,

    /// The payload: a JSON object, `-` for standard input, or `@FILE`.
    #[arg(value_name = "PAYLOAD|-|@FILE")]
    payload: String,

    /// Make it due this many seconds from now (0 to 315360000).
    #[arg(long, value_name = "N", value_parser = seconds::<DelaySeconds>, conflicts_with = "scheduled_at")]
    delay_seconds: Option<DelaySeconds>,

    /// Make it due at this time, such as 2026-12-24T18:00:00Z.
    #[arg(long, value_name = "TIME", value_parser = Timestamp::parse)]
    scheduled_at: Option<Timestamp>,

    /// Attempts before it becomes a dead letter (1 to 1000), instead of the queue's.
    #[arg(long, value_name = "N")]
    max_attempts: Option<u32>,

    /// The event's identity: a second one of this key, within its stream's window, is the first one again.
    #[arg(long, value_name = "KEY")]
    dedupe_key: Option<DedupeKey>,

    /// When it is of no use any more, such as 2026-12-24T18:00:00Z: from then on nobody gets it.
    #[arg(long, value_name = "TIME", value_parser = Timestamp::parse)]
    expires_at: Option<Timestamp>,

    /// A name and value that travel with it; may be given up to 32 times.
    #[arg(long = "header", value_name = "NAME=VALUE", value_parser = header)]
    headers: Vec<(String, String)>,

    #[command(flatten)]
    connection: Connection,
}

/// Publishes and prints the event.
pub(crate) async fn run(args: PublishArgs) -> Result<(), Failure> {
    let client = args.connection.client()?;
    let event = PublishRequest {
        delay_seconds: args.delay_seconds,
        scheduled_at: args.scheduled_at,
        max_attempts: args.max_attempts,
        dedupe_key: args.dedupe_key,
        expires_at: args.expires_at,
        headers: Headers::stored(args.headers),
        ..PublishRequest::new(payload(&args.payload).await?)
    };
    let published = match &args.stream {
        Some(stream) => client.publish_to_stream(stream, &event).await,
        None => client.publish(&queue(args.queue)?, &event).await,
    };
    let event = answered(published, ADVICE)?;
    Ok(args.connection.output().one(Some(&event), lines)?)
}

/// The queue that is named here, or in the environment.
fn queue(argument: Option<String>) -> Result<String, Failure> {
    let queue = match argument {
        Some(queue) => Some(queue),
        None => environment::queue_id()?,
    };
    queue.ok_or_else(|| Failure::usage("no queue: name one with --queue or NAVEN_QUEUE_ID, or a --stream"))
}

async fn payload(argument: &str) -> Result<Payload, Failure> {
    let text = if argument == "-" {
        read_stdin(PAYLOAD_BYTES_MAX).await?
    } else if let Some(path) = argument.strip_prefix('@') {
        let path = PathBuf::from(path);
        let file = std::fs::File::open(&path).with_context(|| path.display().to_string())?;
        read_text(file, PAYLOAD_BYTES_MAX).await.with_context(|| path.display().to_string())?
    } else {
        argument.to_owned()
    };
    naven_client::payload::from_json(&text).map_err(Failure::usage)
}

fn lines(event: &Event) -> Lines {
    let mut lines = vec![("event", event.id.to_string())];
    match &event.queue {
        Some(queue) => lines.push(("queue", queue.clone())),
        None => lines.push(("stream", event.stream.clone())),
    }
    lines.push(("due", event.scheduled_at.to_string()));
    lines.extend(event.expires_at.map(|at| ("expires", at.to_string())));
    lines.extend(event.deduped.then(|| ("deduped", "this event was there already".to_owned())));
    lines
}

fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}
