//! `naven queue stats` and `naven queue consumers`: what a queue is doing.
//!
//! Lives here: their arguments and what they print. Not here: changes as they happen (`queue_tail.rs`), a queue's
//! own picture (`queue_shown.rs`), and the calls (`naven-client`).

use clap::Args;
use naven_api::Timestamp;
use naven_client::{ConsumerReply, PercentilesReply, StatsPoint, StatsSpan};

use crate::connection::Connection;
use crate::exit::Failure;
use crate::print::note;

/// Arguments of `naven queue stats`.
#[derive(Debug, Args)]
pub(crate) struct StatsArgs {
    /// The queue, by name or id.
    #[arg(env = "NAVEN_QUEUE_ID")]
    queue: String,

    /// When the first step begins, such as 2026-12-24T18:00:00Z; an hour before the end where it is not given.
    #[arg(long, value_name = "TIME", value_parser = Timestamp::parse)]
    from: Option<Timestamp>,

    /// When the last step ends; now where it is not given.
    #[arg(long, value_name = "TIME", value_parser = Timestamp::parse)]
    to: Option<Timestamp>,

    /// The length of a step: a multiple of 60 up to 86400, or of 10 within the last hour; 60 where it is not
    /// given.
    #[arg(long, alias = "step", value_name = "N")]
    step_seconds: Option<u32>,

    #[command(flatten)]
    connection: Connection,
}

/// Prints one row for each step.
pub(crate) async fn stats(args: StatsArgs) -> Result<(), Failure> {
    let client = args.connection.client()?;
    let span = StatsSpan { from: args.from, to: args.to, step_seconds: args.step_seconds };
    let stats = client.stats(&args.queue, span).await?;
    args.connection.output().listed(&stats, &stats.points, STATS_COLUMNS, point_row)?;
    if !stats.complete {
        note(&format!("not all of it is known: this node has recorded since {}", stats.recorded_since));
    }
    Ok(())
}

const STATS_COLUMNS: &[&str] = &[
    "at",
    "enqueued",
    "delivered",
    "acked",
    "nacked",
    "released",
    "expired",
    "dead",
    "cancelled",
    "redriven",
    "depth",
    "oldest",
    "wait p50/p95/p99 ms",
    "run p50/p95/p99 ms",
];

/// What happened within one step.
fn point_row(point: &StatsPoint) -> Vec<String> {
    let mut row = vec![point.at.to_string()];
    let counts = [
        point.enqueued,
        point.delivered,
        point.acked,
        point.nacked,
        point.released,
        point.expired,
        point.dead,
        point.cancelled,
        point.redriven,
    ];
    row.extend(counts.map(|count| count.to_string()));
    row.push(or_none(point.depth.map(|depth| depth.to_string())));
    row.push(or_none(point.oldest_ready_age_seconds.map(|age| format!("{age} s"))));
    row.extend([point.wait_ms, point.run_ms].map(|times| or_none(times.map(quantiles))));
    row
}

fn quantiles(times: PercentilesReply) -> String {
    format!("{}/{}/{}", times.p50, times.p95, times.p99)
}

fn or_none(cell: Option<String>) -> String {
    cell.unwrap_or_else(|| "-".to_owned())
}

/// Arguments of `naven queue consumers`.
#[derive(Debug, Args)]
pub(crate) struct ConsumersArgs {
    /// The queue, by name or id.
    #[arg(env = "NAVEN_QUEUE_ID")]
    queue: String,

    #[command(flatten)]
    connection: Connection,
}

/// Prints who holds and who waits.
pub(crate) async fn consumers(args: ConsumersArgs) -> Result<(), Failure> {
    let consumers = args.connection.client()?.consumers(&args.queue).await?;
    args.connection.output().listed(&consumers, &consumers.items, CONSUMER_COLUMNS, consumer_row)?;
    if consumers.truncated {
        note("there are more: at most 1000 consumers and 20000 of their holds are looked at");
    }
    Ok(())
}

const CONSUMER_COLUMNS: &[&str] = &[
    "consumer",
    "kind",
    "address",
    "client",
    "waiting",
    "in flight",
    "oldest lease",
    "last seen",
    "last claim",
];

/// A consumer in the list.
fn consumer_row(consumer: &ConsumerReply) -> Vec<String> {
    let time = |at: Option<Timestamp>| or_none(at.map(|at| at.to_string()));
    vec![
        or_none(consumer.consumer_id.clone()),
        consumer.kind.clone(),
        or_none(consumer.address.clone()),
        or_none(consumer.client.clone()),
        consumer.waiting.to_string(),
        consumer.in_flight.to_string(),
        time(consumer.oldest_lease_at),
        time(consumer.last_seen_at),
        time(consumer.last_claim_at),
    ]
}
