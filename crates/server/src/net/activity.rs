//! What a connection is doing, so that it can be closed when it does nothing for too long.
//!
//! Lives here: the record, kept by the socket (bytes read) and by the door (requests begun and
//! ended). Not here: closing (`connection.rs`). HTTP libraries time a request's head only together
//! with the idle time before it; this record tells the two apart.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::config::Patience;

/// One connection's record.
pub(crate) struct Activity {
    now: Mutex<Doing>,
}

struct Doing {
    /// Requests whose answers are not all written.
    requests: usize,
    /// When the last request ended, or the connection began.
    idle_since: Instant,
    /// When the first byte of the next request came.
    head_since: Option<Instant>,
    /// True until the first request.
    is_new: bool,
    /// HTTP/2 talks without requests too: bytes alone do not begin one.
    is_h2: bool,
}

impl Activity {
    pub(crate) fn new() -> Arc<Self> {
        let doing =
            Doing { requests: 0, idle_since: Instant::now(), head_since: None, is_new: true, is_h2: false };
        Arc::new(Self { now: Mutex::new(doing) })
    }

    /// Bytes came.
    pub(crate) fn read(&self) {
        let mut doing = self.doing();
        if doing.requests == 0 && !doing.is_h2 && doing.head_since.is_none() {
            doing.head_since = Some(Instant::now());
        }
    }

    /// The connection speaks HTTP/2.
    pub(crate) fn is_h2(&self) {
        let mut doing = self.doing();
        doing.is_h2 = true;
        doing.head_since = None;
    }

    /// A request's head is complete. The guard goes when its answer is written.
    pub(crate) fn request(self: &Arc<Self>) -> InRequest {
        let mut doing = self.doing();
        doing.requests += 1;
        doing.head_since = None;
        doing.is_new = false;
        InRequest { activity: Arc::clone(self) }
    }

    /// True between the first byte of a request's head and its last.
    pub(crate) fn is_in_head(&self) -> bool {
        self.doing().head_since.is_some()
    }

    /// When the connection will have idled too long, as things stand; none while a request runs.
    /// `idle` is how long it may wait for its next request.
    pub(crate) fn deadline(&self, patience: &Patience, idle: Duration) -> Option<Instant> {
        let doing = self.doing();
        match doing.head_since {
            _ if doing.requests > 0 => None,
            Some(since) => Some(since + patience.head),
            None if doing.is_new => Some(doing.idle_since + patience.head.min(idle)),
            None => Some(doing.idle_since + idle),
        }
    }

    fn doing(&self) -> MutexGuard<'_, Doing> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that is being answered.
pub(crate) struct InRequest {
    activity: Arc<Activity>,
}

impl Drop for InRequest {
    fn drop(&mut self) {
        let mut doing = self.activity.doing();
        doing.requests -= 1;
        doing.idle_since = Instant::now();
    }
}
