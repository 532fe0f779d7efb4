//! The command: its arguments, the order of the checks, one line for each.
//!
//! Lives here: which checks run where, and the exit code. Not here: the checks themselves.

use std::future::Future;

use anyhow::anyhow;
use clap::Args;

use super::bench::Bench;
use super::checks;
use super::door::Door;
use super::redis;
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

    /// Where the running server's Redis door is; over TLS where --url is. Without it that door is left out.
    #[arg(long, value_name = "HOST:PORT", requires = "url")]
    redis: Option<String>,
}

const BOTH_DOORS: &str = "both doors see the same event";
const KILL: &str = "kill -9 and restart lose nothing";
const REDIS_KILL: &str = "kill -9 keeps an XADD and last-delivered-id";
const NOT_TOLD: &str = "--redis does not say where the Redis door is";
const NOT_OURS: &str = "only against a throw-away server";

/// Runs every check and prints a line for each; ends with a failure where one failed.
pub(crate) async fn run(args: SmokeArgs) -> Result<(), Failure> {
    let mut report = Report::default();
    let Some(url) = &args.url else {
        own_server(&mut report).await?;
        return report.verdict();
    };
    let bench = Bench::new(client(url, args.key.as_deref())?);
    lease_checks(&bench, &mut report).await?;
    match &args.redis {
        Some(place) => {
            let door = Door::new(place, url.starts_with("https://"), args.key.as_deref())?;
            report.checked(BOTH_DOORS, redis::both_doors(&bench, &door)).await?;
        }
        None => report.skipped(BOTH_DOORS, NOT_TOLD)?,
    }
    report.skipped(KILL, NOT_OURS)?;
    report.skipped(REDIS_KILL, NOT_OURS)?;
    report.verdict()
}

/// Every check, on a server that may be killed.
async fn own_server(report: &mut Report) -> anyhow::Result<()> {
    let mut server = Throwaway::start().await?;
    let bench = Bench::new(server.client()?);
    lease_checks(&bench, report).await?;
    report.checked(BOTH_DOORS, redis::both_doors(&bench, &server.door()?)).await?;
    report.checked(KILL, checks::survives_a_kill(&mut server)).await?;
    report.checked(REDIS_KILL, redis::survives_a_kill(&mut server)).await
}

async fn lease_checks(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    report.checked("publish, claim, heartbeat, ack", checks::main_path(bench)).await?;
    let name = "an expired lease is redelivered once and the stale ack is 409";
    report.checked(name, checks::expiry(bench)).await?;
    report.checked("a repeated ack is 200", checks::repeated_ack(bench)).await?;
    let name = "the last attempt's failure is a dead letter, and a redrive begins anew";
    report.checked(name, checks::last_attempt(bench)).await
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

    fn skipped(&self, name: &str, why: &str) -> anyhow::Result<()> {
        line(&format!("-- {name}: {why}"))
    }

    fn verdict(self) -> Result<(), Failure> {
        match self.failed {
            0 => Ok(()),
            failed => Err(Failure::new(Exit::Failed, anyhow!("{failed} of the checks failed"))),
        }
    }
}
