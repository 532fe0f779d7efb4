//! The command: its arguments and what it prints.
//!
//! Lives here: `show` and `reference`. Not here: what they show (`shown.rs`, `reference.rs`).

use clap::{ArgMatches, Args, Subcommand};

use super::reference;
use super::setting::{built_in, settable};
use super::shown::{self, Shown};
use crate::exit::Failure;
use crate::print::{self, Output};
use crate::settings::ServerArgs;

/// What to do with settings.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show what a server would be told, and by what: a flag, the environment, the config file, or its
    /// default. Refused where `serve` would refuse it.
    Show(Box<ShowArgs>),
    /// List all settings, as a page of Markdown.
    Reference(ReferenceArgs),
}

/// Arguments of `naven config show`: those of `naven serve`, and how to print.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    server: ServerArgs,

    /// How to print: table on a terminal and jsonl in a pipe, unless it is named.
    #[arg(long, value_enum)]
    output: Option<Output>,
}

/// Arguments of `naven config reference`.
#[derive(Debug, Args)]
pub(crate) struct ReferenceArgs {
    /// How to print: table is the page.
    #[arg(long, value_enum, default_value_t = Output::Table)]
    output: Output,
}

/// Runs one of the commands; `matches` are those of the whole command line, and `log` is its filter.
pub(crate) fn run(command: ConfigCommand, log: Option<&str>, matches: &ArgMatches) -> Result<(), Failure> {
    match command {
        ConfigCommand::Show(args) => {
            let matches = matches.subcommand_matches("config").and_then(|it| it.subcommand_matches("show"));
            let matches = matches.ok_or_else(|| Failure::usage("config show: its arguments are gone"))?;
            let all = shown::all(args.server, log, matches)?;
            let output = args.output.unwrap_or_else(Output::for_stdout);
            Ok(output.grid(&all, Shown::COLUMNS, Shown::row)?)
        }
        ConfigCommand::Reference(args) if args.output == Output::Table => {
            Ok(print::line(reference::page().trim_end())?)
        }
        ConfigCommand::Reference(args) => {
            let all: Vec<_> = settable().into_iter().chain(built_in()).collect();
            Ok(args.output.grid(&all, &[], |_| Vec::new())?)
        }
    }
}
