//! `naven completions`: what shells need to complete a command line.
//!
//! Lives here: its arguments and the shells that it knows. Not here: the verbs and flags, which are clap's tree.

use clap::{Args, CommandFactory, ValueEnum};
use clap_complete::generate;

use crate::arguments::Arguments;
use crate::exit::Failure;
use crate::print;

/// Arguments of `naven completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// For which shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// A shell.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Shell {
    /// To be read by it: `source <(naven completions bash)`.
    Bash,
    /// To be put into a file `_naven` of a folder in `$fpath`.
    Zsh,
    /// To be read by it: `naven completions fish | source`.
    Fish,
}

/// Prints the script.
pub(crate) fn run(args: &CompletionsArgs) -> Result<(), Failure> {
    let shell = match args.shell {
        Shell::Bash => clap_complete::Shell::Bash,
        Shell::Zsh => clap_complete::Shell::Zsh,
        Shell::Fish => clap_complete::Shell::Fish,
    };
    // Into memory first: a reader that has closed its pipe is none to panic about.
    let mut script = Vec::new();
    generate(shell, &mut Arguments::command(), "naven", &mut script);
    Ok(print::line(String::from_utf8_lossy(&script).trim_end())?)
}
