//! `naven-torture model`: explores every state of a small model.
//!
//! Lives here: its arguments and what it prints. Not here: the model (`naven_torture::model`).

use std::process::ExitCode;

use naven_torture::model::Size;

use super::say;

/// How large the model is.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Consumers.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=3))]
    consumers: u8,
    /// Events.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=3))]
    events: u8,
    /// Ticks of a second; a lease is two of them.
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u8).range(1..=60))]
    ticks: u8,
    /// Crashes of the server.
    #[arg(long, default_value_t = 1)]
    crashes: u8,
    /// Answers that are lost, packets that are doubled or late, claims given back, acks without a token,
    /// together.
    #[arg(long, default_value_t = 2)]
    mishaps: u8,
}

/// Explores it and prints what was seen.
///
/// # Errors
/// What stdout says.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let Arguments { consumers, events, ticks, crashes, mishaps } = *arguments;
    let explored = Size { consumers, events, ticks, crashes, mishaps, ..Size::default() }.explore();
    say::result(&explored)?;
    let is_right = explored.broken.is_empty();
    Ok(if is_right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
