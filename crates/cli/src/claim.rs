//! `naven claim`: due events under a lease, on the command line.
//!
//! Lives here: its arguments and what it prints. Not here: the call (`naven-client`).

use clap::Args;
use naven_api::{ConsumerId, LeaseSeconds, WaitSeconds};
use naven_client::{ClaimBatchRequest, ClaimReply, ClaimRequest};

use crate::connection::{Connection, answered};
use crate::exit::Failure;
use crate::print::{Lines, Output, note};
use crate::settle::seconds;

/// What to know where no answer came.
const ADVICE: &str = "an event may have been leased: it comes back when that lease runs out";

/// Arguments of `naven claim`.
#[derive(Debug, Args)]
pub(crate) struct ClaimArgs {
    /// The queue, by name or id.
    #[arg(long, env = "NAVEN_QUEUE_ID")]
    queue: String,

    /// How long the lease holds (1 to 43200); the queue's default where it is not given.
    #[arg(long, value_name = "N", value_parser = seconds::<LeaseSeconds>)]
    lease_seconds: Option<LeaseSeconds>,

    /// How long to wait for an event (0 to 60; 20 where it is not given).
    #[arg(long, value_name = "N", value_parser = seconds::<WaitSeconds>)]
    wait_seconds: Option<WaitSeconds>,

    /// Take up to this many events at once (1 to 100) and print them as a list.
    #[arg(long, value_name = "N")]
    max_events: Option<u32>,

    /// Who claims, for people.
    #[arg(long, value_name = "NAME")]
    consumer_id: Option<ConsumerId>,

    #[command(flatten)]
    connection: Connection,
}

/// Claims and prints what came. That nothing came is no failure.
pub(crate) async fn run(args: ClaimArgs) -> Result<(), Failure> {
    let client = args.connection.client()?;
    let (lease_seconds, wait_seconds, consumer_id) =
        (args.lease_seconds, args.wait_seconds, args.consumer_id);
    let output = args.connection.output();
    let is_empty = if let Some(max_events) = args.max_events {
        let claim = ClaimBatchRequest { max_events, lease_seconds, wait_seconds, consumer_id };
        let claims = answered(client.claim_batch(&args.queue, &claim).await, ADVICE)?;
        output.many(claims.iter(), lines)?;
        claims.is_empty()
    } else {
        let claim = ClaimRequest { lease_seconds, wait_seconds, consumer_id };
        let claim = answered(client.claim(&args.queue, &claim).await, ADVICE)?;
        output.one(claim.as_ref(), lines)?;
        claim.is_none()
    };
    if is_empty && output == Output::Table {
        note("no event was due");
    }
    Ok(())
}

fn lines(claim: &ClaimReply) -> Lines {
    let mut lines = vec![
        ("event", claim.event.id.to_string()),
        ("queue", claim.event.queue.clone()),
        ("payload", claim.event.payload.get().to_owned()),
        ("attempt", claim.event.attempt_count.to_string()),
        ("delivery", claim.event.delivery_count.to_string()),
        ("leased until", claim.lease_expires_at.to_string()),
        ("token", claim.lease_token.reveal().to_owned()),
    ];
    lines.extend(claim.event.trace_context.as_ref().map(|trace| ("trace", trace.traceparent().to_owned())));
    lines
}
