//! What is printed while and after measuring.
//!
//! Lives here: progress on stderr, the result on stdout. Not here: what it says.

use std::io::Write;

/// Says how far the measurement is.
pub(crate) fn progress(text: &str) {
    // Where stderr is closed, nobody watches.
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Prints the result.
///
/// # Errors
/// What stdout says.
pub(crate) fn result(text: &str) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{text}")?;
    stdout.flush()
}
