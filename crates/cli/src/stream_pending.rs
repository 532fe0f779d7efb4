//! `naven stream pending`: what is pending in a queue of a stream.
//!
//! Lives here: its arguments and what it prints. Not here: other verbs of streams (`stream.rs`), who holds how
//! much (`queue_watch.rs`), and the call (`naven-client`).

use clap::Args;
use naven_client::{Pending, PendingListReply, PendingReply};

use crate::connection::Connection;
use crate::exit::Failure;
use crate::print::note;

/// Arguments of `naven stream pending`.
#[derive(Debug, Args)]
pub(crate) struct PendingArgs {
    /// The stream.
    stream: String,

    /// Which of its queues, by name or id.
    group: String,

    /// The first place: an entry's id, or a time such as 2026-12-24T18:00:00Z.
    #[arg(long, value_name = "ID|TIME")]
    start: Option<String>,

    /// The last place: an entry's id, or a time.
    #[arg(long, value_name = "ID|TIME")]
    end: Option<String>,

    /// Only what this Redis consumer has; @http: only what is leased; empty: only what nobody has.
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    consumer: Option<String>,

    /// Only what nothing was heard of for so long (0 to 315360000).
    #[arg(long, value_name = "N")]
    min_idle_seconds: Option<u32>,

    /// Most deliveries (1 to 500; 50 where it is not given).
    #[arg(long, value_name = "N")]
    limit: Option<u32>,

    /// Go on where a page ended that was asked for with the same filter.
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,

    #[command(flatten)]
    connection: Connection,
}

/// Prints one page of what is pending and says whether there is more.
pub(crate) async fn pending(args: PendingArgs) -> Result<(), Failure> {
    let PendingArgs { stream, group, start, end, consumer, min_idle_seconds, limit, cursor, connection } =
        args;
    let wanted = Pending { start, end, consumer, min_idle_seconds, limit, cursor };
    let page = connection.client()?.pending(&stream, &group, &wanted).await?;
    connection.output().listed(&page, &page.items, COLUMNS, row)?;
    if let Some(text) = how_to_go_on(&page) {
        note(&text);
    }
    Ok(())
}

const COLUMNS: &[&str] = &["entry", "event", "consumer", "state", "idle", "since", "deliveries", "attempts"];

/// A delivery in the list.
fn row(item: &PendingReply) -> Vec<String> {
    vec![
        item.stream_id.to_string(),
        item.event_id.to_string(),
        item.consumer.clone().unwrap_or_else(|| "-".to_owned()),
        item.state.clone(),
        format!("{} s", item.idle_seconds),
        item.idle_since.to_string(),
        item.delivery_count.to_string(),
        item.attempt_count.to_string(),
    ]
}

/// What to say where the list does not end with `page`.
fn how_to_go_on(page: &PendingListReply) -> Option<String> {
    let cursor = page.next_cursor.as_ref()?;
    let why = if page.scan_truncated {
        "the search was cut, as it had looked far enough, and there may be more deliveries"
    } else {
        "there are more deliveries"
    };
    Some(format!("{why}: this goes on: --cursor {cursor}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_goes_on_says_why_and_how() {
        let page = |next_cursor: Option<&str>, scan_truncated| {
            let next_cursor = next_cursor.map(str::to_owned);
            how_to_go_on(&PendingListReply { items: Vec::new(), next_cursor, scan_truncated })
        };
        let cut = page(Some("c"), true).expect("it goes on");
        assert!(cut.starts_with("the search was cut") && cut.ends_with(" --cursor c"), "{cut}");
        assert_eq!(
            page(Some("c"), false).as_deref(),
            Some("there are more deliveries: this goes on: --cursor c")
        );
        assert_eq!(page(None, false), None);
    }
}
