//! The command: its arguments, the order of the checks, one line for each.
//!
//! Lives here: which checks run where, and the exit code. Not here: the checks themselves.

use std::future::Future;

use anyhow::anyhow;
use clap::Args;

use super::bench::Bench;
use super::checks;
use super::throwaway::Throwaway;
use crate::connection::client;
use crate::exit::{Exit, Failure, chain};
use crate::print::line;

/// Arguments of `naven smoke`.
#[derive(Debug, Args)]
pub(crate) struct SmokeArgs {
    /// A running server to prove it against; a throw-away one is started where it is not given.
    #[arg(long)]
    url: Option<String>,

    /// A key with all scopes for the running server. Better in the variable: arguments show in
    /// process lists.
    #[arg(long, env = "NAVEN_API_KEY", hide_env_values = true)]
    key: Option<String>,
}

const REDIS_DOOR: &str = "both doors see the same event: the Redis door is not in this version yet";
const KILL: &str = "kill -9 and restart lose nothing: only against a throw-away server";

/// Runs every check and prints a line for each; ends with a failure where one failed.
pub(crate) async fn run(args: SmokeArgs) -> Result<(), Failure> {
    let mut report = Report::default();
    if let Some(url) = &args.url {
        let bench = Bench::new(client(url, args.key.as_deref())?);
        lease_checks(&bench, &mut report).await?;
        report.skipped(KILL)?;
    } else {
        let server = Throwaway::start().await?;
        lease_checks(&Bench::new(server.client()?), &mut report).await?;
        let name = "kill -9 and restart lose nothing";
        report.checked(name, checks::survives_a_kill(server)).await?;
    }
    report.skipped(REDIS_DOOR)?;
    report.verdict()
}

async fn lease_checks(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    report.checked("publish, claim, heartbeat, ack", checks::main_path(bench)).await?;
    let name = "an expired lease is redelivered once and the stale ack is 409";
    report.checked(name, checks::expiry(bench)).await?;
    report.checked("a repeated ack is 200", checks::repeated_ack(bench)).await
}

/// How many checks failed so far.
#[derive(Default)]
struct Report {
    failed: u32,
}

impl Report {
    async fn checked(
        &mut self,
        name: &str,
        check: impl Future<Output = anyhow::Result<()>>,
    ) -> anyhow::Result<()> {
        match check.await {
            Ok(()) => line(&format!("ok {name}")),
            Err(error) => {
                self.failed += 1;
                line(&format!("FAILED {name}: {}", chain(&error)))
            }
        }
    }

    fn skipped(&self, why: &str) -> anyhow::Result<()> {
        line(&format!("-- {why}"))
    }

    fn verdict(self) -> Result<(), Failure> {
        match self.failed {
            0 => Ok(()),
            failed => Err(Failure::new(Exit::Failed, anyhow!("{failed} of the checks failed"))),
        }
    }
}
