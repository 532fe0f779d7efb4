//! The command line.
//!
//! Lives here: the measurements and what they may be told. Not here: the measurements.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Measures a throw-away server and prints a section of docs/performance.md.
#[derive(Debug, Parser)]
#[command(name = "naven-benches")]
pub(crate) struct Arguments {
    /// The server to measure. [default: built with cargo build --release]
    #[arg(long, global = true, value_name = "PATH")]
    pub(crate) naven: Option<PathBuf>,

    /// Where temporary data folders are made: on the disk that is to be measured. [default: the system's
    /// folder for temporary files]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,

    /// How often everything is measured.
    #[arg(long, global = true, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) runs: u32,

    /// Put the section into docs/performance.md as well.
    #[arg(long, global = true)]
    pub(crate) write: bool,

    /// Which section that is. [default: the one named as the measurement]
    #[arg(long, global = true, value_name = "NAME", requires = "write")]
    pub(crate) section: Option<String>,

    /// What to measure.
    #[command(subcommand)]
    pub(crate) measurement: Measurement,
}

/// What can be measured.
#[derive(Debug, Subcommand)]
pub(crate) enum Measurement {
    /// Waiting claims: what they cost while nothing comes, and how soon an event reaches one.
    Waiters(Waiters),
    /// Claim and ack on a deep backlog beside a shallow one; memory, disk and start of the deep one.
    Backlog(Backlog),
    /// Events that are due later: how fast they are taken, memory and disk.
    Delayed(Delayed),
    /// One publish to many queues of one stream beside one to a single queue.
    Fanout(Fanout),
}

/// Arguments of `waiters`.
#[derive(Debug, Args)]
pub(crate) struct Waiters {
    /// Waiting claims, a connection each.
    #[arg(long, default_value_t = 5_000)]
    pub(crate) claims: usize,
    /// Queues that they share evenly.
    #[arg(long, default_value_t = 50)]
    pub(crate) queues: usize,
    /// Events that are published in each run.
    #[arg(long, default_value_t = 1_000)]
    pub(crate) events: usize,
    /// Events that are published in a second.
    #[arg(long, default_value_t = 100)]
    pub(crate) rate: u64,
    /// How long the idle server is watched, in seconds.
    #[arg(long, default_value_t = 10)]
    pub(crate) idle: u64,
}

/// Arguments of `backlog`.
#[derive(Debug, Args)]
pub(crate) struct Backlog {
    /// Depth of the deep backlog.
    #[arg(long, default_value_t = 1_000_000)]
    pub(crate) events: u64,
    /// Length of a payload in bytes, at least 32.
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u32).range(32..=262_144))]
    pub(crate) bytes: u32,
    /// Also kill the server with the deep backlog and measure its next start.
    #[arg(long)]
    pub(crate) reopen: bool,
}

/// Arguments of `delayed`.
#[derive(Debug, Args)]
pub(crate) struct Delayed {
    /// Events that are published, due within the next 24 hours.
    #[arg(long, default_value_t = 1_000_000)]
    pub(crate) events: u64,
    /// Length of a payload in bytes, at least 32.
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u32).range(32..=262_144))]
    pub(crate) bytes: u32,
}

/// Arguments of `fanout`.
#[derive(Debug, Args)]
pub(crate) struct Fanout {
    /// Queues of the wide stream.
    #[arg(long, default_value_t = 100)]
    pub(crate) queues: usize,
    /// Events that each stream takes in each run.
    #[arg(long, default_value_t = 2_000)]
    pub(crate) events: u64,
}
