//! Calls that may be repeated without harm: the header `Idempotency-Key`.
//!
//! Lives here: reading it, and the slot in which the engine keeps the answer. Not here: keeping it
//! (`naven-store`), and events' own `dedupeKey` (`publish.rs`).
//!
//! The header is that of draft-ietf-httpapi-idempotency-key-header-07. A slot belongs to a key of the
//! server, a method and a path as it was sent; the fingerprint is that of the query and the body.

use bytes::Bytes;
use http::{HeaderMap, Method, Uri};
use naven_api::IdempotencyKey;
use naven_api::field::{Faults, Rule};
use naven_api::limits::IDEMPOTENCY_KEY_BYTES_MAX;
use naven_store::txn::IdempotencySlot;
use sha2::{Digest, Sha256};

use crate::auth::Caller;

const HEADER: &str = "idempotency-key";
/// The header's name as faults spell it.
const PATH: &str = "Idempotency-Key";

/// What a request says of its own repetition.
pub(super) struct Repetition {
    key: Sent,
    method: Method,
    uri: Uri,
}

enum Sent {
    Nothing,
    Key(IdempotencyKey),
    NoKey,
}

impl Repetition {
    /// What these parts of a request say.
    pub(super) fn of(headers: &HeaderMap, method: &Method, uri: &Uri) -> Self {
        let mut sent = headers.get_all(HEADER).iter();
        let key = match (sent.next(), sent.next()) {
            (None, _) => Sent::Nothing,
            (Some(one), None) => {
                let key = one.to_str().ok().and_then(|text| text.parse().ok());
                key.map_or(Sent::NoKey, Sent::Key)
            }
            (Some(_), Some(_)) => Sent::NoKey,
        };
        Self { key, method: method.clone(), uri: uri.clone() }
    }

    /// Notes a key in `faults`: to ignore it would promise what is not kept.
    pub(super) fn refuse(&self, faults: &Faults) {
        if !matches!(self.key, Sent::Nothing) {
            faults.invalid(Rule::new("not taken by this call").broken_at(PATH.to_owned()));
        }
    }

    /// The slot of `caller` for this request with this body, where there is a key. One that is none is
    /// noted in `faults`.
    pub(super) fn slot(&self, caller: &Caller, body: &[u8], faults: &Faults) -> Option<IdempotencySlot> {
        let key = match &self.key {
            Sent::Nothing => return None,
            Sent::NoKey => {
                faults.invalid(
                    Rule::bounded(IdempotencyKey::RULE, 1, IDEMPOTENCY_KEY_BYTES_MAX as u64)
                        .broken_at(PATH.to_owned()),
                );
                return None;
            }
            Sent::Key(key) => key,
        };
        let scope = format!("{} {} {}", caller.id(), self.method, self.uri.path());
        let query = self.uri.query().unwrap_or_default();
        // The length first: no two pairs of query and body look alike.
        let digest = Sha256::new()
            .chain_update((query.len() as u64).to_be_bytes())
            .chain_update(query)
            .chain_update(body);
        Some(IdempotencySlot {
            scope: scope.into(),
            key: Bytes::copy_from_slice(key.as_str().as_bytes()),
            fingerprint: digest.finalize().into(),
        })
    }
}

/// The slot of one part of a call that makes several ops: part `index` of the call in `slot`.
///
/// A key has no zero byte, so no key followed by one and four bytes is another call's.
pub(super) fn part(slot: &IdempotencySlot, index: u32) -> IdempotencySlot {
    let mut key = slot.key.to_vec();
    key.push(0);
    key.extend_from_slice(&index.to_be_bytes());
    IdempotencySlot { key: key.into(), ..slot.clone() }
}
