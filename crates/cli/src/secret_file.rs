//! A secret that is made once and kept in a file which only its owner can read.
//!
//! Lives here: reading or making it. Not here: what it is for.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::Context;

/// Longest secret that is read, in bytes.
const SECRET_BYTES_MAX: u64 = 4 * 1024;

/// The secret at `path`; where there is none, `make` makes it and it is kept (mode 0600).
///
/// # Errors
/// What the file system says.
pub(crate) fn read_or_make(path: &Path, make: impl FnOnce() -> String) -> anyhow::Result<String> {
    let result = match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(file) => write(file, make()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => read(path),
        Err(error) => Err(error),
    };
    result.with_context(|| path.display().to_string())
}

fn write(mut file: File, secret: String) -> std::io::Result<String> {
    writeln!(file, "{secret}")?;
    file.sync_all()?;
    Ok(secret)
}

fn read(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(SECRET_BYTES_MAX).read_to_string(&mut text)?;
    Ok(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn it_is_made_once_and_is_its_owners_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        assert_eq!(read_or_make(&path, || "first".to_owned()).unwrap(), "first");
        assert_eq!(read_or_make(&path, || "second".to_owned()).unwrap(), "first");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
}
