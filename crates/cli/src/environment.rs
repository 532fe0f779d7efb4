//! Environment variables that `clap` does not read beside a flag.
//!
//! Lives here: secrets, which must not stand in arguments, since those show in process lists, and what
//! stands in for a flag only where another one is missing too. Not here: every other variable.

/// The key that `serve` installs as `admin`.
pub(crate) const ADMIN_KEY: &str = "NAVEN_ADMIN_KEY";

/// The queue that commands mean where they name none.
const QUEUE_ID: &str = "NAVEN_QUEUE_ID";

/// The admin key of the environment; an empty one counts as none.
///
/// # Errors
/// Where it is not UTF-8: no key of ours is.
pub(crate) fn admin_key() -> anyhow::Result<Option<String>> {
    variable(ADMIN_KEY)
}

/// The queue that the environment names; an empty name counts as none.
///
/// # Errors
/// Where it is not UTF-8: no queue's name of ours is anything else.
pub(crate) fn queue_id() -> anyhow::Result<Option<String>> {
    variable(QUEUE_ID)
}

/// Where programs are looked for.
#[expect(clippy::disallowed_methods, reason = "it has no flag, and need not be UTF-8")]
pub(crate) fn path() -> Option<std::ffi::OsString> {
    std::env::var_os("PATH")
}

#[expect(clippy::disallowed_methods, reason = "the one place that reads a variable without a flag")]
fn variable(name: &str) -> anyhow::Result<Option<String>> {
    match std::env::var(name) {
        Ok(text) => Ok(Some(text).filter(|text| !text.is_empty())),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(std::env::VarError::NotUnicode(_)) => anyhow::bail!("{name} is not UTF-8"),
    }
}
