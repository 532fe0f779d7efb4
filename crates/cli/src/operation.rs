//! `naven operation`: operations on the command line.
//!
//! Lives here: its commands, their arguments and what they print. Not here: beginning operations
//! (`dead_letter.rs`, `queue_purge.rs`), and the calls (`naven-client`).

use std::time::Duration;

use clap::{Args, Subcommand};
use naven_api::OperationId;
use naven_client::{Client, OperationReply};

use crate::connection::{Connection, answered};
use crate::exit::Failure;
use crate::print::{Lines, Output};

/// How often an operation is looked at while its end is waited for.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// What to do with operations.
#[derive(Debug, Subcommand)]
pub(crate) enum OperationCommand {
    /// List operations, newest first.
    List(ListArgs),
    /// Show an operation.
    Show(OneArgs),
    /// End an operation where it stands; what it did stays done.
    Cancel(OneArgs),
    /// Wait until an operation is over; failed where it did not do all that it was to do.
    Wait(OneArgs),
}

/// Arguments of `naven operation list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    connection: Connection,
}

/// Arguments of the commands on one operation.
#[derive(Debug, Args)]
pub(crate) struct OneArgs {
    /// The operation's id.
    id: OperationId,

    #[command(flatten)]
    connection: Connection,
}

/// Runs one of the commands.
pub(crate) async fn run(command: OperationCommand) -> Result<(), Failure> {
    match command {
        OperationCommand::List(args) => list(args).await,
        OperationCommand::Show(args) => {
            let operation = args.connection.client()?.operation(args.id).await?;
            Ok(args.connection.output().one(Some(&operation), operation_lines)?)
        }
        OperationCommand::Cancel(args) => {
            let client = args.connection.client()?;
            let operation = answered(client.cancel_operation(args.id).await, "repeating this does no harm")?;
            Ok(args.connection.output().one(Some(&operation), operation_lines)?)
        }
        OperationCommand::Wait(args) => {
            say_end(&args.connection.client()?, args.id, args.connection.output()).await
        }
    }
}

async fn list(args: ListArgs) -> Result<(), Failure> {
    let client = args.connection.client()?;
    let (mut operations, mut cursor) = (Vec::new(), None);
    loop {
        let page = client.operations(cursor.as_deref()).await?;
        operations.extend(page.items);
        cursor = page.next_cursor;
        if cursor.is_none() {
            return Ok(args.connection.output().grid(&operations, COLUMNS, row)?);
        }
    }
}

/// Waits until an operation is over and prints it. Where it did not do all that it was to do, the command failed.
pub(crate) async fn say_end(client: &Client, id: OperationId, output: Output) -> Result<(), Failure> {
    loop {
        let operation = client.operation(id).await?;
        if matches!(operation.state.as_str(), "pending" | "running") {
            tokio::time::sleep(LOOK_EVERY).await;
            continue;
        }
        output.one(Some(&operation), operation_lines)?;
        return match operation.state.as_str() {
            "done" if operation.failed == 0 => Ok(()),
            "done" => Err(anyhow::anyhow!("it could not be done to {}", operation.failed).into()),
            state => Err(anyhow::anyhow!("the operation is {state}").into()),
        };
    }
}

const COLUMNS: &[&str] = &["operation", "kind", "queue", "state", "matched", "done", "failed", "updated"];

/// An operation in a list.
fn row(operation: &OperationReply) -> Vec<String> {
    vec![
        operation.id.to_string(),
        operation.kind.clone(),
        operation.queue.clone(),
        operation.state.clone(),
        operation.matched.map_or_else(|| "-".to_owned(), |matched| matched.to_string()),
        operation.done.to_string(),
        operation.failed.to_string(),
        operation.updated_at.to_string(),
    ]
}

/// An operation, for people.
pub(crate) fn operation_lines(operation: &OperationReply) -> Lines {
    let mut lines = vec![
        ("operation", operation.id.to_string()),
        ("kind", operation.kind.clone()),
        ("queue", operation.queue.clone()),
        ("state", operation.state.clone()),
    ];
    lines.extend(operation.matched.map(|matched| ("matched", matched.to_string())));
    lines.push(("done", operation.done.to_string()));
    lines.push(("failed", operation.failed.to_string()));
    lines.extend(operation.error.clone().map(|error| ("error", error)));
    lines.push(("updated", operation.updated_at.to_string()));
    lines
}
