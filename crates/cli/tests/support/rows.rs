//! Waiting until a server has written rows to its cold store.
//!
//! Lives here: asking for a backup until it has them. Not here: backups themselves.

use super::ended::run;
use super::server::{Naven, key};

/// Waits until the cold store holds at least so many rows.
pub(crate) fn wait_for_rows(server: &Naven, least: u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("look");
    server.wait_until("rows in the cold store", |server| {
        let target = file.to_str().expect("paths of tests are UTF-8");
        let ended = run(&["backup", target], &[("NAVEN_API_URL", &server.url()), ("NAVEN_API_KEY", key())]);
        let said: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap_or_default();
        said["rows"].as_u64() >= Some(least)
    });
}
