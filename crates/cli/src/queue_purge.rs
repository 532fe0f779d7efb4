//! `naven queue purge`: throwing away what waits in a queue.
//!
//! Lives here: its arguments. Not here: what is said of it (`bulk_shown.rs`), and the call (`naven-client`).

use clap::Args;
use clap::builder::PossibleValuesParser;
use naven_api::Timestamp;
use naven_api::purge::PURGE_STATES;
use naven_client::PurgeRequest;

use crate::bulk_shown::said;
use crate::connection::{Connection, answered};
use crate::exit::Failure;

/// What to know where no answer came.
const ADVICE: &str = "it may have begun: look at naven operation list before you repeat this";

/// Arguments of `naven queue purge`. The queue is not taken from the environment: what is emptied is named.
#[derive(Debug, Args)]
pub(crate) struct PurgeArgs {
    /// The queue, by name or id.
    queue: String,

    /// Only events in this state, or in one of several: repeat it, or put commas between. [default: scheduled,
    /// ready and retrying]
    #[arg(long = "state", value_name = "STATE", value_delimiter = ',',
          value_parser = PossibleValuesParser::new(PURGE_STATES))]
    states: Vec<String>,

    /// Only events that were published before this time, such as 2026-12-24T18:00:00Z.
    #[arg(long, value_name = "TIME", value_parser = Timestamp::parse)]
    older_than: Option<Timestamp>,

    /// Throw nothing away, and say how many are meant.
    #[arg(long)]
    dry_run: bool,

    /// Wait until it is over; failed where it could not be done to all.
    #[arg(long, conflicts_with = "dry_run")]
    wait: bool,

    #[command(flatten)]
    connection: Connection,
}

/// Begins it, and waits for its end where that is asked for.
pub(crate) async fn purge(args: PurgeArgs) -> Result<(), Failure> {
    let client = args.connection.client()?;
    let states = if args.states.is_empty() { PurgeRequest::default().states } else { args.states };
    let request = PurgeRequest { states, older_than: args.older_than, dry_run: args.dry_run };
    let answer = answered(client.purge(&args.queue, &request).await, ADVICE)?;
    said(&client, &answer, args.wait, args.connection.output()).await
}
