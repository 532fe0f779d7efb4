//! Keeping a stream in order.
//!
//! Lives here: dropping what is finished, and removing consumers that are gone. Not here: what consumers do themselves.

use std::time::Duration;

use super::error::Error;
use super::group::Group;
use super::link::Link;
use super::server::Server;
use super::step::Names;

impl Server {
    /// Drops the entries of `stream` that each of its groups has acked, and says how many there were. What a group has not
    /// read, or has pending, stays, and all that is newer. A group that nobody reads any more holds on to everything:
    /// destroy it. Without a group nothing is dropped.
    ///
    /// A Naven server drops each entry that all groups have acked, also where an older one is pending; the key needs the
    /// scope `admin` there.
    ///
    /// Cancel safety: dropped, it may or may not have taken effect; it can be called again.
    ///
    /// # Errors
    /// [`Error`]: the server cannot be reached, or there is no such stream.
    pub async fn trim_acked(&self, stream: &str) -> Result<u64, Error> {
        group_of(self, stream, "", "").trim().await
    }

    /// Removes the consumer `name` from `group` where nothing is pending with it; answers whether it did. What is pending
    /// with one that is removed would be lost to the group. Looking and removing are one step, which a Naven server does not
    /// have: there none is removed.
    ///
    /// Cancel safety: dropped, it may or may not have taken effect; it can be called again.
    ///
    /// # Errors
    /// [`Error`]: the server cannot be reached, or there is no such stream or group.
    pub async fn remove_consumer(&self, stream: &str, group: &str, name: &str) -> Result<bool, Error> {
        group_of(self, stream, group, name).leave().await
    }
}

fn group_of(server: &Server, stream: &str, group: &str, name: &str) -> Group {
    let dead = Names::dead_of(stream, server.is_cluster());
    let link = Link::new(server.clone(), stream, Duration::from_secs(60));
    Group { link, names: Names::new(stream, group, name, &dead) }
}
