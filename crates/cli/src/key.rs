//! `naven key`: keys made on the command line.
//!
//! Lives here: `generate`, which needs no server. Not here: a key's form (`naven-server`).

use clap::Subcommand;
use naven_server::auth::BearerKey;
use naven_server::{SystemClock, SystemRandom};

use crate::exit::Failure;
use crate::print;

/// What to do with keys.
#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Make a key and print it alone on its line. It is known to no server yet: hand it to one as
    /// NAVEN_ADMIN_KEY.
    Generate,
}

/// Makes a key and prints it.
pub(crate) fn run(command: KeyCommand) -> Result<(), Failure> {
    match command {
        KeyCommand::Generate => Ok(print::line(generate().reveal())?),
    }
}

/// A new key.
pub(crate) fn generate() -> BearerKey {
    BearerKey::generate(&SystemClock::new(), &SystemRandom)
}
