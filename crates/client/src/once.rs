//! Calls that may be repeated without harm.
//!
//! Lives here: a key put before a call. Not here: the calls, which stand beside those without a key.

use naven_api::IdempotencyKey;

use crate::client::Client;

/// A [`Client`] whose calls carry one `Idempotency-Key`: repeated with the same arguments within a day,
/// a call answers what it answered first, and does nothing.
///
/// A key belongs to one intention: draw a new one (a UUID, say) for each, and keep it for its repetitions.
/// Heartbeat, ack and nack need none: their token does the same.
#[derive(Debug, Clone, Copy)]
pub struct Once<'a> {
    pub(crate) client: &'a Client,
    pub(crate) key: &'a IdempotencyKey,
}

impl Client {
    /// Puts `key` before the call that follows.
    #[must_use]
    pub fn once<'a>(&'a self, key: &'a IdempotencyKey) -> Once<'a> {
        Once { client: self, key }
    }
}
