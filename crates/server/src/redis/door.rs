//! What all connections of the Redis door share.
//!
//! Lives here: the door, and who calls without a key where it needs none. Not here: sockets (`listen.rs`),
//! one connection (`connection.rs`).

use std::sync::Arc;

use naven_api::{KeyId, Scope};
use naven_store::key::{KeyRecord, KeySecret};

use super::clients::Clients;
use crate::auth::{Caller, Known};
use crate::config::RedisSettings;
use crate::node::Node;

/// The name of whoever calls where no key is needed.
const NOBODY: &str = "default";

/// The Redis door.
pub(crate) struct RedisDoor {
    pub(crate) node: Arc<Node>,
    pub(crate) clients: Clients,
    pub(crate) settings: RedisSettings,
    /// Who calls without a key; none: nobody may.
    nobody: Option<Caller>,
    pub(crate) port: u16,
}

impl RedisDoor {
    pub(crate) fn new(node: Arc<Node>, settings: RedisSettings, port: u16) -> Arc<Self> {
        let nobody = settings.no_auth.then(|| {
            let secret = KeySecret { prefix: String::new(), digest: [0; 32], until: None };
            let record = KeyRecord::new(KeyId::from_bits(0), NOBODY.to_owned(), secret, node.clock.wall());
            let scopes = Scope::ALL.into_iter().map(|scope| scope.as_str().to_owned()).collect();
            Caller::new(
                Known::of(KeyRecord { scopes, queues: vec!["*".to_owned()], ..record }),
                String::new(),
            )
        });
        Arc::new(Self { node, clients: Clients::default(), settings, nobody, port })
    }

    /// Who calls on a new connection, where no key is needed.
    pub(crate) fn nobody(&self) -> Option<Caller> {
        self.nobody.clone()
    }

    /// `caller` as it stands now; none where its key is worth nothing any more.
    pub(crate) fn still(&self, caller: &Caller) -> Option<Caller> {
        if let Some(nobody) = self.nobody.as_ref().filter(|nobody| nobody.id() == caller.id()) {
            return Some(nobody.clone());
        }
        self.node.keys.still(caller, self.node.clock.wall())
    }
}
