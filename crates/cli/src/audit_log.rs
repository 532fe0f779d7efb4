//! `naven audit-log`: what operators changed.
//!
//! Lives here: its arguments and what it prints. Not here: the call (`naven-client`).

use clap::Args;
use naven_client::AuditReply;

use crate::connection::Connection;
use crate::exit::Failure;
use crate::print::{Output, note};

/// Arguments of `naven audit-log`.
#[derive(Debug, Args)]
pub(crate) struct AuditLogArgs {
    /// Most entries, newest first.
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,

    #[command(flatten)]
    connection: Connection,
}

/// Prints the newest entries.
pub(crate) async fn run(args: AuditLogArgs) -> Result<(), Failure> {
    let client = args.connection.client()?;
    let (mut entries, mut cursor) = (Vec::new(), None);
    let more = loop {
        let page = client.audit_log(cursor.as_deref()).await?;
        entries.extend(page.items);
        cursor = page.next_cursor;
        if cursor.is_none() || entries.len() >= args.limit {
            break cursor.is_some() || entries.len() > args.limit;
        }
    };
    entries.truncate(args.limit);
    let output = args.connection.output();
    output.grid(&entries, COLUMNS, row)?;
    if more && output == Output::Table {
        note("there are older entries: give a larger --limit");
    }
    Ok(())
}

const COLUMNS: &[&str] = &["entry", "at", "by", "did", "to", "request"];

/// An entry in the list.
fn row(entry: &AuditReply) -> Vec<String> {
    vec![
        entry.number.to_string(),
        entry.at.to_string(),
        entry.by.clone(),
        entry.action.clone(),
        entry.target.clone(),
        entry.request_id.clone(),
    ]
}
