//! `naven event list`: finding events of a queue on the command line.
//!
//! Lives here: its arguments, going on from page to page, and what it prints. Not here: one event (`event.rs`),
//! dead letters (`dead_letter.rs`), and the call (`naven-client`).

use clap::Args;
use clap::builder::PossibleValuesParser;
use naven_api::Timestamp;
use naven_api::event_list::STATES;
use naven_client::{Event, EventPage, Events, PayloadCondition, TotalReply};

use crate::connection::Connection;
use crate::exit::Failure;
use crate::print::{Output, line_if_read, note};

/// Events of one page where all are wanted: the most that there may be.
const PAGE_EVENTS_MAX: u32 = 500;
/// Longest error in a table, in characters; JSON has all of it.
const ERROR_CHARS_MAX: usize = 60;

/// Arguments of `naven event list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// The queue, by name or id.
    #[arg(env = "NAVEN_QUEUE_ID")]
    queue: String,

    #[command(flatten)]
    filter: FilterArgs,

    /// Most events (1 to 500; 50 where it is not given).
    #[arg(long, value_name = "N")]
    limit: Option<u32>,

    /// All of them, page by page. As jsonl each page is printed as it comes.
    #[arg(long, conflicts_with = "limit")]
    all: bool,

    /// Go on where a list ended, under the same filter: its nextCursor.
    #[arg(long, value_name = "CURSOR", allow_hyphen_values = true)]
    cursor: Option<String>,

    /// With their payloads.
    #[arg(long)]
    payloads: bool,

    /// Say how many there are too: on stderr, as json in total.
    #[arg(long)]
    total: bool,

    #[command(flatten)]
    connection: Connection,
}

/// Which events: those for which all that is given holds.
#[derive(Debug, Args)]
struct FilterArgs {
    /// Only events in this state, or in one of several: repeat it, or put commas between.
    #[arg(long = "state", value_name = "STATE", value_delimiter = ',',
          value_parser = PossibleValuesParser::new(STATES))]
    states: Vec<String>,

    /// Only events published at this time or later, such as 2026-12-24T18:00:00Z.
    #[arg(long, value_name = "TIME", value_parser = Timestamp::parse)]
    created_after: Option<Timestamp>,

    /// Only events published before this time.
    #[arg(long, value_name = "TIME", value_parser = Timestamp::parse)]
    created_before: Option<Timestamp>,

    /// Only events whose last error contains this, and dead ones of this fingerprint.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    error: Option<String>,

    /// Only events with this at this path of their payload, such as user.id=7; may be given up to 4 times.
    #[arg(long, value_name = "PATH=VALUE", value_parser = condition)]
    payload: Vec<PayloadCondition>,

    /// Only events whose payload contains this text.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    query: Option<String>,
}

fn condition(text: &str) -> Result<PayloadCondition, String> {
    let (path, value) = text.split_once('=').ok_or("expected PATH=VALUE")?;
    let path = path.parse().map_err(|error| format!("{error}"))?;
    Ok(PayloadCondition { path, value: value.to_owned() })
}

impl ListArgs {
    fn wanted(&self) -> Events {
        let filter = &self.filter;
        Events {
            states: filter.states.clone(),
            created_after: filter.created_after,
            created_before: filter.created_before,
            error: filter.error.clone(),
            payload: filter.payload.clone(),
            text: filter.query.clone(),
            include_payload: self.payloads,
            include_total: self.total,
            limit: if self.all { Some(PAGE_EVENTS_MAX) } else { self.limit },
            cursor: self.cursor.clone(),
        }
    }
}

/// Lists events and says whether there are more.
pub(crate) async fn list(args: ListArgs) -> Result<(), Failure> {
    let (client, output) = (args.connection.client()?, args.connection.output());
    let mut wanted = args.wanted();
    let mut shown = client.events(&args.queue, &wanted).await?;
    while let Some(cursor) = shown.next_cursor.take_if(|_| args.all) {
        if output == Output::Jsonl {
            for event in shown.items.drain(..) {
                if !line_if_read(&serde_json::to_string(&event)?)? {
                    return Ok(());
                }
            }
        }
        (wanted.cursor, wanted.include_total) = (Some(cursor), false);
        let next = client.events(&args.queue, &wanted).await?;
        shown.items.extend(next.items);
        (shown.next_cursor, shown.scan_truncated) = (next.next_cursor, next.scan_truncated);
    }
    if args.payloads {
        output.listed(&shown, &shown.items, COLUMNS_WITH_PAYLOAD, row_with_payload)?;
    } else {
        output.listed(&shown, &shown.items, COLUMNS, row)?;
    }
    if let (Some(total), Output::Table | Output::Jsonl) = (&shown.total, output) {
        note(&in_all(total));
    }
    if let Some(text) = how_to_go_on(&shown) {
        note(&text);
    }
    Ok(())
}

fn in_all(total: &TotalReply) -> String {
    let or_more = if total.capped { " or more" } else { "" };
    format!("events in all: {}{or_more}", total.value)
}

/// What to say where the list does not end with `page`.
fn how_to_go_on(page: &EventPage) -> Option<String> {
    let cursor = page.next_cursor.as_ref()?;
    let why = if page.scan_truncated {
        "the search was cut, as it had looked far enough, and there may be more events"
    } else {
        "there are more events"
    };
    Some(format!("{why}: --all lists all, and this goes on: --cursor {cursor}"))
}

const COLUMNS: &[&str] = &["event", "state", "attempts", "published", "due", "error"];
const COLUMNS_WITH_PAYLOAD: &[&str] = &["event", "state", "attempts", "published", "due", "error", "payload"];

/// An event in the list.
fn row(event: &Event) -> Vec<String> {
    let delivery = event.deliveries.first();
    let due = delivery.and_then(|one| one.next_attempt_at);
    let error = delivery.and_then(|one| one.last_error.as_deref());
    let cells = [
        Some(event.id.to_string()),
        event.state.clone(),
        delivery.map(|one| one.attempt_count.to_string()),
        Some(event.created_at.to_string()),
        due.map(|at| at.to_string()),
        error.map(cut),
    ];
    cells.map(|cell| cell.unwrap_or_else(|| "-".to_owned())).to_vec()
}

fn row_with_payload(event: &Event) -> Vec<String> {
    let payload = event.payload.as_ref().map_or("-", |payload| payload.get());
    let mut row = row(event);
    row.push(payload.to_owned());
    row
}

/// The beginning of an error, as wide as a table has room for.
fn cut(error: &str) -> String {
    match error.char_indices().nth(ERROR_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &error[..end]),
        None => error.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str) -> EventPage {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_list_that_goes_on_says_why_and_how() {
        let cut = page(r#"{"items":[],"nextCursor":"-c","scanTruncated":true}"#);
        let text = how_to_go_on(&cut).unwrap();
        assert!(text.starts_with("the search was cut") && text.ends_with("--cursor -c"), "{text}");
        let more = page(r#"{"items":[],"nextCursor":"c","scanTruncated":false}"#);
        assert!(how_to_go_on(&more).unwrap().starts_with("there are more events"));
        assert_eq!(how_to_go_on(&page(r#"{"items":[],"nextCursor":null,"scanTruncated":false}"#)), None);
    }

    #[test]
    fn a_count_that_was_cut_says_so() {
        assert_eq!(in_all(&TotalReply { value: 7, capped: false }), "events in all: 7");
        assert_eq!(in_all(&TotalReply { value: 20_000, capped: true }), "events in all: 20000 or more");
    }

    #[test]
    fn a_long_error_is_cut_between_characters() {
        let error = "é".repeat(ERROR_CHARS_MAX);
        assert_eq!(cut(&error), error);
        assert_eq!(cut(&format!("{error}x")), format!("{error}…"));
    }

    #[test]
    fn a_condition_is_a_path_and_all_that_follows() {
        let condition = |text: &str| condition(text).map(|one| (one.path.to_string(), one.value));
        assert_eq!(condition("user.id=a=b"), Ok(("user.id".to_owned(), "a=b".to_owned())));
        for bad in ["user.id", "=7", "a..b=7"] {
            assert!(condition(bad).is_err(), "{bad}");
        }
    }
}
