//! `naven-torture simulate`: lives worlds, one seed after the other.
//!
//! Lives here: its arguments, its threads and what it prints. Not here: the worlds (`naven_torture::simulation`).

use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Context;
use naven_torture::node;
use naven_torture::simulation::{self, Outcome};

use serde::{Deserialize, Serialize};

use super::say;

/// Judging an event of thousands of calls is a search as deep.
const STACK_BYTES: usize = 256 << 20;

/// Which worlds.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// How many seeds.
    #[arg(long, default_value_t = 1)]
    seeds: u64,
    /// The whole server with both doors under a simulated network, instead of the engine alone.
    #[arg(long)]
    node: bool,
    /// Only the first seed, in this process, told in JSON.
    #[arg(long, hide = true)]
    told: bool,
    /// Live each world twice, and hold the second against the first.
    #[arg(long)]
    twice: bool,
    /// Write the history of the first seed here, as JSON lines.
    #[arg(long, value_name = "FILE")]
    history: Option<PathBuf>,
    /// Threads; none: as many as the machine has processors.
    #[arg(long)]
    threads: Option<usize>,
    /// Stop once so many seeds have failed.
    #[arg(long, default_value_t = 10)]
    failures: usize,
}

/// A world in figures.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Told {
    trace: u64,
    calls: u64,
    lives: u64,
    undecided: u64,
    faults: u64,
    starts: u64,
    wrong: Vec<String>,
}

impl Told {
    fn of(outcome: &Outcome) -> Self {
        Self {
            trace: outcome.trace,
            calls: outcome.history.calls.len() as u64,
            lives: outcome.lives as u64,
            undecided: outcome.undecided as u64,
            faults: outcome.faults,
            starts: u64::from(outcome.starts),
            wrong: outcome.wrong.clone(),
        }
    }
}

impl Arguments {
    fn simulate(&self, seed: u64) -> Outcome {
        if self.node { node::simulate(seed) } else { simulation::simulate(seed) }
    }

    /// Lives one world. Those of whole servers have a process each: libraries under them keep state, by which a second
    /// world in one process may go otherwise than the first.
    fn live(&self, seed: u64) -> Told {
        if !self.node {
            return Told::of(&self.simulate(seed));
        }
        let lived = std::env::current_exe().and_then(|own| {
            let seed = seed.to_string();
            Command::new(own).args(["simulate", "--node", "--told", "--seed", &seed]).output()
        });
        let told = lived.map_err(|error| error.to_string()).and_then(|output| {
            serde_json::from_slice(&output.stdout)
                .map_err(|_| String::from_utf8_lossy(&output.stderr).into_owned())
        });
        told.unwrap_or_else(|error| Told {
            wrong: vec![format!("its process failed: {error}")],
            ..Told::default()
        })
    }

    /// The command that lives this world again.
    fn replay(&self, seed: u64) -> String {
        let node = if self.node { " --node" } else { "" };
        format!("cargo run -p naven-torture -- simulate{node} --seed {seed}")
    }
}

#[derive(Debug, Default)]
struct Sums {
    worlds: u64,
    calls: u64,
    lives: u64,
    undecided: u64,
    starts: u64,
    faults: u64,
    failed: usize,
}

/// Lives them.
///
/// # Errors
/// Where the history cannot be written.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    // What panics in a world is told with its seed.
    std::panic::set_hook(Box::new(|_| {}));
    if arguments.told {
        let told = Told::of(&arguments.simulate(arguments.seed));
        say::result(serde_json::to_string(&told)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let (next, sums) = (AtomicU64::new(arguments.seed), Mutex::new(Sums::default()));
    let end = arguments.seed.saturating_add(arguments.seeds);
    let threads = arguments.threads.or_else(|| std::thread::available_parallelism().ok().map(usize::from));
    std::thread::scope(|scope| {
        for _ in 0..threads.unwrap_or(1) {
            let live_some = || {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    let failed = sums.lock().unwrap_or_else(std::sync::PoisonError::into_inner).failed;
                    if seed >= end || failed >= arguments.failures {
                        return;
                    }
                    live(seed, arguments, &sums);
                }
            };
            let builder = std::thread::Builder::new().stack_size(STACK_BYTES);
            builder.spawn_scoped(scope, live_some).expect("a thread can be started");
        }
    });
    if let Some(file) = &arguments.history {
        let to = std::fs::File::create(file).with_context(|| format!("cannot write {}", file.display()))?;
        arguments.simulate(arguments.seed).history.write_to(std::io::BufWriter::new(to))?;
    }
    let sums = sums.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    say::result(format_args!(
        "{} worlds from seed {}: {} calls, {} events in their queues ({} undecided), {} faults, {} starts; {} failed",
        sums.worlds,
        arguments.seed,
        sums.calls,
        sums.lives,
        sums.undecided,
        sums.faults,
        sums.starts,
        sums.failed
    ))?;
    Ok(if sums.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn live(seed: u64, arguments: &Arguments, sums: &Mutex<Sums>) {
    let mut told = arguments.live(seed);
    if arguments.twice {
        let again = arguments.live(seed);
        if again.trace != told.trace {
            told.wrong.push(format!(
                "the second time it went differently: {:x}, not {:x}",
                again.trace, told.trace
            ));
        }
    }
    let mut sums = sums.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    sums.worlds += 1;
    sums.calls += told.calls;
    sums.lives += told.lives;
    sums.undecided += told.undecided;
    sums.faults += told.faults;
    sums.starts += told.starts;
    sums.failed += usize::from(!told.wrong.is_empty());
    if !told.wrong.is_empty() {
        let lines = told.wrong.iter().take(3).map(|what| format!("  {what}\n")).collect::<String>();
        // Whoever does not read it has the exit code.
        drop(say::result(format_args!("seed {seed} failed:\n{lines}  again: {}", arguments.replay(seed))));
    }
}
