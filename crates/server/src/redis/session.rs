//! What a connection has agreed on.
//!
//! Lives here: who calls, the protocol, its names, its transaction. Not here: the bytes (`connection.rs`).

use std::sync::Arc;

use naven_store::txn::StreamRef;

use super::clients::Client;
use super::command::Command;
use super::door::RedisDoor;
use super::frame::{Protocol, Request};
use crate::auth::{Caller, Stranger};

/// One connection's state.
pub(crate) struct Session {
    pub(crate) door: Arc<RedisDoor>,
    pub(crate) client: Arc<Client>,
    pub(crate) caller: Option<Caller>,
    pub(crate) protocol: Protocol,
    /// Between MULTI and EXEC.
    pub(crate) transaction: Option<Transaction>,
    /// Streams that are watched, at which version.
    pub(crate) watched: Vec<(StreamRef, u64)>,
    /// True where the connection ends with the replies so far.
    pub(crate) is_closing: bool,
}

/// Calls that wait for EXEC.
#[derive(Debug, Default)]
pub(crate) struct Transaction {
    pub(crate) calls: Vec<(Request, &'static Command)>,
    /// What they measure together.
    pub(crate) bytes: usize,
    /// True where a call was refused: none of them will be run.
    pub(crate) is_refused: bool,
}

impl Session {
    pub(crate) fn new(door: Arc<RedisDoor>, client: Arc<Client>) -> Self {
        let mut session = Self {
            door,
            client,
            caller: None,
            protocol: Protocol::default(),
            transaction: None,
            watched: Vec::new(),
            is_closing: false,
        };
        session.set_caller(session.door.nobody());
        session
    }

    /// Whose key `text` is.
    ///
    /// # Errors
    /// Nobody's, or one whose time is over.
    pub(crate) fn find_caller(&self, text: &[u8]) -> Result<Caller, Stranger> {
        let text = std::str::from_utf8(text).map_err(|_| Stranger::Unknown)?;
        self.door.node.keys.caller(text, self.door.node.clock.wall())
    }

    /// From now on this one calls, or nobody.
    pub(crate) fn set_caller(&mut self, caller: Option<Caller>) {
        let caller = caller.map(|caller| caller.in_request(&format!("redis-{}", self.client.id)));
        let mut shown = self.client.shown();
        shown.key = caller.as_ref().map(Caller::id);
        shown.user = caller.as_ref().map_or_else(String::new, |caller| caller.key().name.clone());
        drop(shown);
        self.caller = caller;
    }

    /// Who calls, as its key stands now.
    pub(crate) fn caller_now(&mut self) -> Option<Caller> {
        let caller = self.caller.as_ref()?;
        match self.door.still(caller) {
            Some(now) => Some(now.in_request(&format!("redis-{}", self.client.id))),
            None => {
                self.set_caller(None);
                None
            }
        }
    }

    /// Speaks `protocol` from now on.
    pub(crate) fn speak(&mut self, protocol: Protocol) {
        self.protocol = protocol;
        self.client.shown().protocol = protocol;
    }

    /// As on a new connection (`RESET`).
    pub(crate) fn reset(&mut self) {
        self.transaction = None;
        self.watched.clear();
        self.speak(Protocol::default());
        let mut shown = self.client.shown();
        shown.name = bytes::Bytes::new();
        (shown.no_evict, shown.no_touch) = (false, false);
        drop(shown);
        self.set_caller(self.door.nobody());
    }
}
