//! What came of a call on many events, on the command line.
//!
//! Lives here: its answer, and waiting for the operation that it began. Not here: the calls
//! (`dead_letter.rs`, `queue_purge.rs`), and looking after operations (`operation.rs`).

use naven_client::{BulkAnswer, BulkItem, Client};

use crate::exit::Failure;
use crate::operation::{operation_lines, say_end};
use crate::print::{Lines, Output};

/// Prints an answer; that of an operation at its end, where it is to be waited for. Where it was not done to all,
/// the command failed.
pub(crate) async fn said(
    client: &Client,
    answer: &BulkAnswer,
    is_waiting: bool,
    output: Output,
) -> Result<(), Failure> {
    if let (BulkAnswer::Begun(operation), true) = (answer, is_waiting) {
        return say_end(client, operation.id, output).await;
    }
    output.one(Some(answer), answer_lines)?;
    match answer {
        BulkAnswer::Done(reply) if reply.failed.is_some() => {
            let failed = reply.failed.unwrap_or_default();
            Err(anyhow::anyhow!("{failed} of {} were refused", reply.items.len()).into())
        }
        _ => Ok(()),
    }
}

fn answer_lines(answer: &BulkAnswer) -> Lines {
    match answer {
        BulkAnswer::Begun(operation) => operation_lines(operation),
        BulkAnswer::Done(reply) => {
            let item = |item: &BulkItem| {
                let how = if item.code == 0 {
                    "done".to_owned()
                } else {
                    format!("{} {}", item.code, item.message)
                };
                ("event", format!("{}: {how}", item.event_id))
            };
            reply.items.iter().map(item).collect()
        }
        BulkAnswer::Matched(matched) => {
            let more = if matched.scan_truncated { " or more" } else { "" };
            vec![("matched", format!("{}{more}", matched.matched))]
        }
        _ => Vec::new(),
    }
}
