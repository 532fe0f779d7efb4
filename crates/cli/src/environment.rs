//! Environment variables that have no flag beside them.
//!
//! Lives here: secrets, which must not stand in arguments, since those show in process lists. Not
//! here: every other variable, which `clap` reads beside its flag.

/// The key that `serve` installs as `admin`.
pub(crate) const ADMIN_KEY: &str = "NAVEN_ADMIN_KEY";

/// The admin key of the environment; an empty one counts as none.
///
/// # Errors
/// Where it is not UTF-8: no key of ours is.
#[expect(clippy::disallowed_methods, reason = "the one place that reads a variable without a flag")]
pub(crate) fn admin_key() -> anyhow::Result<Option<String>> {
    match std::env::var(ADMIN_KEY) {
        Ok(key) => Ok(Some(key).filter(|key| !key.is_empty())),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(std::env::VarError::NotUnicode(_)) => anyhow::bail!("{ADMIN_KEY} is not UTF-8"),
    }
}
