//! What is printed.
//!
//! Lives here: progress on stderr, results on stdout. Not here: what they say.

use std::io::Write;

/// Prints a line of a result.
///
/// # Errors
/// What stdout says.
pub(crate) fn result(text: impl std::fmt::Display) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{text}")?;
    stdout.flush()
}
