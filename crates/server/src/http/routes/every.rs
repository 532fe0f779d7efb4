//! The table as a whole.
//!
//! Lives here: the order of its parts. Not here: the parts.

use super::route::Route;
use super::{dead_letters, events, keys, queues, server, streams};

/// Every route, in the order of the contract.
pub(in crate::http) fn every() -> impl Iterator<Item = &'static Route> {
    let parts =
        [queues::ROUTES, dead_letters::ROUTES, events::ROUTES, streams::ROUTES, keys::ROUTES, server::ROUTES];
    parts.into_iter().flatten()
}
