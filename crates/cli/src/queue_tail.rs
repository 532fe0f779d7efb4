//! `naven queue tail`: each change in a queue as it happens.
//!
//! Lives here: its arguments, what it prints, and how it ends. Not here: the call, and going on where a connection
//! broke (`naven-client`).

use anyhow::Context;
use clap::Args;
use clap::builder::PossibleValuesParser;
use naven_api::event_list::STATES;
use naven_client::{ChangeReply, TailFilter, Tailed};
use serde::Serialize;

use crate::connection::Connection;
use crate::exit::Failure;
use crate::print::{Output, line, line_if_read, note, placed};
use crate::signals::Signals;

/// Arguments of `naven queue tail`.
#[derive(Debug, Args)]
pub(crate) struct TailArgs {
    /// The queue, by name or id.
    #[arg(env = "NAVEN_QUEUE_ID")]
    queue: String,

    /// Only changes to this state, or to one of several: repeat it, or put commas between.
    #[arg(long = "state", value_name = "STATE", value_delimiter = ',',
          value_parser = PossibleValuesParser::new(STATES))]
    states: Vec<String>,

    /// Only one in so many events (1 to 1000): all changes of an event, or none.
    #[arg(long, value_name = "N")]
    sample: Option<u32>,

    #[command(flatten)]
    connection: Connection,
}

/// Prints changes until it is told to stop, its reader is gone, or the queue is. All three end it well.
pub(crate) async fn tail(args: TailArgs) -> Result<(), Failure> {
    let (client, output) = (args.connection.client()?, args.connection.output());
    let mut signals = Signals::listen().context("the process cannot listen to signals")?;
    let filter = TailFilter { states: args.states, sample: args.sample };
    let mut tail = tokio::select! {
        begun = client.tail(&args.queue, &filter) => begun?,
        _ = signals.next() => return Ok(()),
    };
    note(&format!("watching {}: Ctrl-C ends it", args.queue));
    if output == Output::Table {
        line(&placed(&HEADINGS.map(str::to_owned), &WIDTHS))?;
    }
    loop {
        let told = tokio::select! {
            told = tail.next() => told?,
            _ = signals.next() => return Ok(()),
        };
        let Some(told) = told else {
            note("the queue was deleted");
            return Ok(());
        };
        if !say(output, &told)? {
            return Ok(());
        }
    }
}

/// What programs read where something was missed.
#[derive(Serialize)]
struct Gap {
    kind: &'static str,
    missed: Option<u64>,
}

/// Prints what was told; false where nobody reads it any more.
fn say(output: Output, told: &Tailed) -> anyhow::Result<bool> {
    match told {
        Tailed::Change(change) if output == Output::Table => line_if_read(&placed(&row(change), &WIDTHS)),
        Tailed::Change(change) => line_if_read(&json(output, change)?),
        Tailed::Gap(missed) if output == Output::Table => {
            let count = missed.map_or_else(String::new, |missed| format!(" ({missed})"));
            note(&format!("changes were missed here{count}"));
            Ok(true)
        }
        Tailed::Gap(missed) => line_if_read(&json(output, &Gap { kind: "gap", missed: *missed })?),
        // Words that a newer server may have.
        _ => Ok(true),
    }
}

fn json<T: Serialize>(output: Output, told: &T) -> serde_json::Result<String> {
    match output {
        Output::Json => serde_json::to_string_pretty(told),
        Output::Table | Output::Jsonl => serde_json::to_string(told),
    }
}

const HEADINGS: [&str; 8] = ["AT", "KIND", "FROM", "TO", "EVENT", "ATTEMPTS", "CONSUMER", "TOOK"];
/// How wide the columns are: rows come one by one, and cannot be measured beforehand.
const WIDTHS: [usize; 8] = [24, 15, 9, 9, 30, 8, 12, 0];

/// A change in the table.
fn row(change: &ChangeReply) -> [String; 8] {
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let waited = change.wait_ms.map(|wait| format!("waited {wait} ms"));
    let took = waited.or(change.run_ms.map(|run| format!("ran {run} ms")));
    [
        change.at.to_string(),
        change.kind.clone(),
        or_none(&change.from),
        change.to.clone(),
        change.event_id.to_string(),
        change.attempt_count.to_string(),
        or_none(&change.consumer_id),
        or_none(&took),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_a_line_of_its_own_for_programs() {
        let gap = |missed| json(Output::Jsonl, &Gap { kind: "gap", missed }).unwrap();
        assert_eq!(gap(None), r#"{"kind":"gap","missed":null}"#);
        assert_eq!(gap(Some(3)), r#"{"kind":"gap","missed":3}"#);
    }
}
