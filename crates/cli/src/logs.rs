//! Logs: where they go and how much is said.
//!
//! Lives here: setting them up. Not here: writing them.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::exit::Failure;

/// How much a server says by default.
pub(crate) const OF_A_SERVER: &str = "info";
/// How much other commands say by default.
pub(crate) const OF_A_CLIENT: &str = "warn";

/// Sends logs to stderr, so that stdout holds nothing but the ready line or a command's output.
///
/// # Errors
/// A usage error where `filter` is not one.
pub(crate) fn start(filter: Option<&str>, by_default: &str) -> Result<(), Failure> {
    let filter = EnvFilter::builder()
        .parse(filter.unwrap_or(by_default))
        .map_err(|error| Failure::usage(format!("--log (NAVEN_LOG): {error}")))?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        // The default tells of a failed write on stderr, which panics where stderr is what failed: a
        // log reader that ends must not take the server along.
        .log_internal_errors(false)
        .init();
    Ok(())
}
