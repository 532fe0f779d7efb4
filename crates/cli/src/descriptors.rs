//! Open files: how many this process may have, and what of that is for connections.
//!
//! Lives here: raising the limit, and sharing it out. Not here: the connections (`naven-server`) and the
//! engine's files (`naven-store`).
//!
//! A connection is an open file too. Were they to take all there are, the engine could not open its next
//! one, and a log that cannot go on ends the process: anybody who can connect could bring that about.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tracing::info;

/// Open files that are never connections of the doors: those of the engine, and what the process was started
/// with.
const KEPT: u64 = 256;

/// How many connections this process may have, up to `most`, once its limit is raised as far as it may.
pub(crate) fn for_connections(most: usize) -> usize {
    let connections = shared_out(raised(most as u64 + KEPT), most);
    if connections < most {
        info!("the limit of open files leaves room for {connections} of {most} connections");
    }
    connections
}

/// The limit of open files after raising it to `enough`, or as far as the system lets; none: no limit.
fn raised(enough: u64) -> Option<u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = enough.min(maximum.unwrap_or(enough));
    if current.is_some_and(|current| current < wanted) {
        // Where it stays as it was, it is shared out as it is.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum });
    }
    getrlimit(Resource::Nofile).current
}

/// What of `limit` is for connections.
fn shared_out(limit: Option<u64>, most: usize) -> usize {
    let Some(limit) = limit else { return most };
    // A limit that is smaller still leaves half for connections.
    let room = limit - KEPT.min(limit / 2);
    most.min(usize::try_from(room).unwrap_or(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engine_keeps_its_part_whatever_the_limit() {
        assert_eq!(shared_out(None, 25_000), 25_000);
        assert_eq!(shared_out(Some(1_000_000), 25_000), 25_000);
        assert_eq!(shared_out(Some(25_256), 25_000), 25_000);
        assert_eq!(shared_out(Some(25_255), 25_000), 24_999);
        assert_eq!(shared_out(Some(1_024), 25_000), 768);
        assert_eq!(shared_out(Some(200), 25_000), 100);
    }
}
