//! `naven-torture soak`: the shipped binary under load for hours.
//!
//! Lives here: its arguments and what it prints. Not here: the soak (`naven_torture::soak`).

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use naven_torture::soak::{self, Plan};

use super::say;

/// How long, how fast, how faulty.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The binary.
    #[arg(long, value_name = "PATH")]
    naven: PathBuf,
    /// How long the load lasts; measuring comes before it, emptying after it.
    #[arg(long, default_value_t = 7_200, value_parser = clap::value_parser!(u32).range(30..=1_000_000))]
    seconds: u32,
    /// The load in percent of the rate that is measured first.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=100))]
    share: u32,
    /// Of a hundred cycles so many meet a fault.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=50))]
    faults: u32,
    /// Where the server's data and log go, and histories that are wrong. By default a new folder among the system's
    /// temporary ones, which goes where the soak is passed.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Decides who does what; the network and the disk race as they like.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Runs it and prints its table.
///
/// # Errors
/// Where the binary or the folder cannot be used.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let Arguments { naven, seconds, share, faults, dir, seed } = arguments;
    let own = || std::env::temp_dir().join(format!("naven-soak-{}", std::process::id()));
    let folder = dir.clone().unwrap_or_else(own);
    let plan = Plan {
        naven: naven.clone(),
        seconds: *seconds,
        share: *share,
        faults: *faults,
        folder: folder.clone(),
        seed: *seed,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.context("no threads can be started")?;
    let verdict = runtime.block_on(soak::run(plan, |line| drop(say::result(line))))?;
    say::result(&verdict)?;
    let findings = verdict.findings();
    if findings.is_empty() {
        if dir.is_none() {
            std::fs::remove_dir_all(&folder)
                .with_context(|| format!("cannot remove {}", folder.display()))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    for finding in &findings {
        say::result(format_args!("FAILED: {finding}"))?;
    }
    say::result(format_args!("the server's folder and log: {}", folder.display()))?;
    Ok(ExitCode::FAILURE)
}
