//! `naven-torture check FILE`: judges a history.
//!
//! Lives here: its arguments and what it prints. Not here: the judging (`naven_torture::checker`).

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use naven_torture::checker::{Report, Rules};
use naven_torture::history::{History, WorldEvent};

use super::say;

/// What to judge.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A history, as JSON lines.
    file: PathBuf,
    /// By how much clocks may differ, in ms.
    #[arg(long, default_value_t = 1)]
    slack_ms: i64,
    /// Events may be older than the history.
    #[arg(long)]
    excerpt: bool,
    /// Every event has to be over at the end; so it is where the history says that all was healed.
    #[arg(long)]
    must_finish: bool,
    /// Steps that are tried for one life before it is left undecided.
    #[arg(long, default_value_t = 200_000)]
    tries: u32,
}

/// Prints what is wrong with it.
///
/// # Errors
/// Where the file cannot be read.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let named = || format!("cannot read {}", arguments.file.display());
    let file = File::open(&arguments.file).with_context(named)?;
    let history = History::read_from(BufReader::new(file)).with_context(named)?;
    let is_healed = history.world.iter().any(|event| matches!(event, WorldEvent::Healed { .. }));
    let rules = Rules {
        slack_ms: arguments.slack_ms,
        is_excerpt: arguments.excerpt,
        must_finish: arguments.must_finish || is_healed,
        tries_max: arguments.tries,
        ..Rules::default()
    };
    let report = Report::of(&history, &rules);
    say::result(format_args!("{report} in {} calls", history.calls.len()))?;
    Ok(if report.violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
