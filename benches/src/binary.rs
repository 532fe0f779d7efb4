//! The server that is measured.
//!
//! Lives here: finding its executable, or building it. Not here: starting it (`server.rs`).

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

/// The executable at `chosen`; by default the release build of this checkout, brought up to date.
///
/// # Errors
/// Where there is none, or it cannot be built.
pub(crate) fn find(chosen: Option<&Path>) -> anyhow::Result<PathBuf> {
    if let Some(path) = chosen {
        return path.canonicalize().with_context(|| format!("there is no {}", path.display()));
    }
    let own = std::env::current_exe().context("the path of this executable")?;
    // target/PROFILE/naven-benches
    let target = own.ancestors().nth(2).context("this executable does not lie in a target folder")?;
    let built = Command::new("cargo")
        .args(["build", "--release", "--package", "naven", "--target-dir"])
        .arg(target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .context("cargo, which builds the server; --naven names one that is built")?;
    ensure!(built.success(), "the server could not be built");
    Ok(target.join("release").join("naven"))
}
