//! `naven-torture`: tries to break Naven Events.
//!
//! Lives here: the list of its commands. Not here: what they do, a file each in `commands/`.

mod commands;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Tries to break Naven Events.
#[derive(Debug, Parser)]
#[command(name = "naven-torture")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Judges a history from a file of JSON lines.
    Check(commands::check::Arguments),
    /// Lives simulated worlds.
    Simulate(commands::simulate::Arguments),
    /// Explores every state of a small model of the lease rules.
    Model(commands::model::Arguments),
    /// Runs the shipped binary under load for hours, with faults, and judges all that clients saw.
    Soak(commands::soak::Arguments),
}

fn main() -> anyhow::Result<ExitCode> {
    match Arguments::parse().command {
        Command::Check(arguments) => commands::check::run(&arguments),
        Command::Simulate(arguments) => commands::simulate::run(&arguments),
        Command::Model(arguments) => commands::model::run(&arguments),
        Command::Soak(arguments) => commands::soak::run(&arguments),
    }
}
