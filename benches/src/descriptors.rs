//! Open files: one for each connection.
//!
//! Lives here: raising this process' limit, which the servers that it starts inherit. Not here: the
//! connections.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit as far as the system lets. Where it stays too low, opening a connection says so.
pub(crate) fn raise() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum {
        let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    }
}
