//! Who is connected to the Redis door.
//!
//! Lives here: the list of connections, what CLIENT tells of each, and ending or waking one from another. Not
//! here: reading these calls (`commands/client.rs`).

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use naven_api::KeyId;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::frame::Protocol;

/// How a blocked call is ended from another connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unblock {
    /// As if its time were over.
    Timeout,
    /// With an error.
    Error,
}

/// What is shown of a connection.
#[derive(Debug, Clone)]
pub(crate) struct Shown {
    pub(crate) key: Option<KeyId>,
    /// The key's name.
    pub(crate) user: String,
    pub(crate) name: Bytes,
    pub(crate) lib_name: Bytes,
    pub(crate) lib_version: Bytes,
    pub(crate) protocol: Protocol,
    /// The full name of its last command.
    pub(crate) last: &'static str,
    pub(crate) last_at: Instant,
    /// Calls that are queued; none: it is in no transaction.
    pub(crate) queued: Option<usize>,
    pub(crate) watched: usize,
    pub(crate) is_blocked: bool,
    pub(crate) no_evict: bool,
    pub(crate) no_touch: bool,
    pub(crate) commands: u64,
}

/// One connection, as others see it.
pub(crate) struct Client {
    pub(crate) id: u64,
    pub(crate) address: Option<SocketAddr>,
    pub(crate) local: Option<SocketAddr>,
    pub(crate) since: Instant,
    /// Cancelled where the connection is to be dropped.
    pub(crate) killed: CancellationToken,
    shown: Mutex<Shown>,
    blocked: Mutex<Option<oneshot::Sender<Unblock>>>,
}

/// Every connection.
#[derive(Default)]
pub(crate) struct Clients {
    by_id: Mutex<BTreeMap<u64, Arc<Client>>>,
    next: AtomicU64,
    blocked: AtomicUsize,
    pub(crate) commands: AtomicU64,
}

impl Clients {
    /// A new connection. It is to be let go with [`Clients::leave`].
    pub(crate) fn enter(&self, address: Option<SocketAddr>, local: Option<SocketAddr>) -> Arc<Client> {
        let now = Instant::now();
        let shown = Shown {
            key: None,
            user: String::new(),
            name: Bytes::new(),
            lib_name: Bytes::new(),
            lib_version: Bytes::new(),
            protocol: Protocol::default(),
            last: "",
            last_at: now,
            queued: None,
            watched: 0,
            is_blocked: false,
            no_evict: false,
            no_touch: false,
            commands: 0,
        };
        let id = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let client = Arc::new(Client {
            id,
            address,
            local,
            since: now,
            killed: CancellationToken::new(),
            shown: Mutex::new(shown),
            blocked: Mutex::default(),
        });
        self.list_locked().insert(id, Arc::clone(&client));
        client
    }

    /// A connection has ended.
    pub(crate) fn leave(&self, id: u64) {
        self.list_locked().remove(&id);
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.list_locked().len()
    }

    /// How many there ever were.
    pub(crate) fn ever(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }

    /// How many wait for something to read.
    pub(crate) fn blocked(&self) -> usize {
        self.blocked.load(Ordering::SeqCst)
    }

    /// All, by id.
    pub(crate) fn list(&self) -> Vec<Arc<Client>> {
        self.list_locked().values().cloned().collect()
    }

    /// The one of this id.
    pub(crate) fn find(&self, id: u64) -> Option<Arc<Client>> {
        self.list_locked().get(&id).cloned()
    }

    fn list_locked(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Client>>> {
        // No code panics while it holds the lock.
        self.by_id.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Client {
    /// What is shown of it, to be read or changed.
    pub(crate) fn shown(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends its blocked call; false where it has none.
    pub(crate) fn unblock(&self, how: Unblock) -> bool {
        let waiting = self.blocked.lock().unwrap_or_else(PoisonError::into_inner).take();
        waiting.is_some_and(|waiting| waiting.send(how).is_ok())
    }
}

/// A call that waits. Dropping it says that it does not any more.
pub(crate) struct Blocked<'a> {
    clients: &'a Clients,
    client: &'a Client,
    pub(crate) unblocked: oneshot::Receiver<Unblock>,
}

impl<'a> Blocked<'a> {
    pub(crate) fn new(clients: &'a Clients, client: &'a Client) -> Self {
        let (unblock, unblocked) = oneshot::channel();
        *client.blocked.lock().unwrap_or_else(PoisonError::into_inner) = Some(unblock);
        client.shown().is_blocked = true;
        clients.blocked.fetch_add(1, Ordering::SeqCst);
        Self { clients, client, unblocked }
    }
}

impl Drop for Blocked<'_> {
    fn drop(&mut self) {
        self.client.blocked.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.client.shown().is_blocked = false;
        self.clients.blocked.fetch_sub(1, Ordering::SeqCst);
    }
}
