//! Lease tokens: a route that leads to the delivery, and a MAC that proves the hold.
//!
//! Lives here: making and checking them, for all engines. Not here: what a right or wrong token
//! means (`naven-core`). A token is never stored and never logged: it is computed again.

use hmac::{Hmac, KeyInit, Mac};
use naven_api::{EventId, LeaseToken, QueueId};
use naven_core::planted::{Bug, has};
use sha2::Sha256;
use subtle::ConstantTimeEq;

#[cfg(any(fuzzing, all(test, feature = "conformance")))]
pub mod laws;

const ROUTE_BYTES: usize = 16;
const MAC_BYTES: usize = 16;

/// What tokens of one store are made with.
#[derive(Clone)]
pub struct TokenKey {
    secret: [u8; 32],
    store_id: [u8; 16],
    epoch: u32,
}

impl std::fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenKey").field("epoch", &self.epoch).finish_non_exhaustive()
    }
}

/// Where a token leads: 16 bytes that mean nothing without the engine's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// The engine's number of the queue.
    pub queue_no: u32,
    /// The event's locator (80 bits of its id).
    pub locator: u128,
}

/// The one hold that a token proves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// The queue's id.
    pub queue: QueueId,
    /// The event's id.
    pub event: EventId,
    /// The round.
    pub round: u32,
    /// The fencing number.
    pub fence: u64,
}

/// A token taken apart; not yet known to be worth anything.
#[derive(Debug, Clone, Copy)]
pub struct Parsed {
    /// Where it leads.
    pub route: Route,
    mac: [u8; MAC_BYTES],
}

impl TokenKey {
    /// The key of a store: its secret, its id, and the epoch that rises at each restore.
    pub fn new(secret: [u8; 32], store_id: [u8; 16], epoch: u32) -> Self {
        Self { secret, store_id, epoch }
    }

    /// The token of `held`.
    pub fn token(&self, route: Route, held: &Held) -> LeaseToken {
        let mut bytes = [0u8; ROUTE_BYTES + MAC_BYTES];
        bytes[..ROUTE_BYTES].copy_from_slice(&route.bytes());
        bytes[ROUTE_BYTES..].copy_from_slice(&self.mac(held));
        LeaseToken::new(base64url(&bytes))
    }

    /// True where `parsed` is the token of `held`. Takes the same time for right and wrong ones.
    pub fn proves(&self, parsed: &Parsed, held: &Held) -> bool {
        let compared = if has(Bug::TokenUnchecked) { MAC_BYTES - 1 } else { MAC_BYTES };
        self.mac(held)[..compared].ct_eq(&parsed.mac[..compared]).into()
    }

    fn mac(&self, held: &Held) -> [u8; MAC_BYTES] {
        let mut mac =
            <Hmac<Sha256> as KeyInit>::new_from_slice(&self.secret).expect("HMAC takes keys of any length");
        mac.update(&self.store_id);
        mac.update(&self.epoch.to_be_bytes());
        let queue = if has(Bug::TokenWithoutQueue) { 0 } else { held.queue.bits() };
        let round = if has(Bug::RoundNotCompared) { 0 } else { held.round };
        mac.update(&queue.to_be_bytes());
        mac.update(&held.event.bits().to_be_bytes());
        mac.update(&round.to_be_bytes());
        mac.update(&held.fence.to_be_bytes());
        let full = mac.finalize().into_bytes();
        let mut half = [0; MAC_BYTES];
        half.copy_from_slice(&full[..MAC_BYTES]);
        half
    }
}

impl Parsed {
    /// Takes `token` apart; none where it cannot be one of ours.
    pub fn of(token: &LeaseToken) -> Option<Self> {
        let bytes = from_base64url(token.reveal())?;
        let (route, mac) = bytes.split_at(ROUTE_BYTES);
        Some(Self { route: Route::of(route.try_into().ok()?)?, mac: mac.try_into().ok()? })
    }
}

impl Route {
    fn bytes(self) -> [u8; ROUTE_BYTES] {
        // 32 bits queue, 80 bits locator, 16 bits kept at zero for later forms.
        let packed = (u128::from(self.queue_no) << 96) | (self.locator << 16);
        packed.to_be_bytes()
    }

    fn of(bytes: [u8; ROUTE_BYTES]) -> Option<Self> {
        let packed = u128::from_be_bytes(bytes);
        let route = Self { queue_no: (packed >> 96) as u32, locator: (packed >> 16) & ((1 << 80) - 1) };
        (packed & 0xffff == 0).then_some(route)
    }
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

fn base64url(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group =
            chunk.iter().fold(0u32, |group, &byte| (group << 8) | u32::from(byte)) << (8 * (3 - chunk.len()));
        for place in 0..=chunk.len() {
            text.push(char::from(ALPHABET[((group >> (18 - 6 * place)) & 63) as usize]));
        }
    }
    text
}

/// The 32 bytes of a token's text; only the canonical form is taken.
fn from_base64url(text: &str) -> Option<[u8; ROUTE_BYTES + MAC_BYTES]> {
    let mut bytes = [0u8; ROUTE_BYTES + MAC_BYTES];
    if text.len() != 43 {
        return None;
    }
    let (mut buffer, mut bits, mut at) = (0u32, 0u32, 0usize);
    for byte in text.bytes() {
        let digit = ALPHABET.iter().position(|&a| a == byte)? as u32;
        buffer = (buffer << 6) | digit;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes[at] = (buffer >> bits) as u8;
            at += 1;
            buffer &= (1 << bits) - 1;
        }
    }
    (buffer == 0).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(epoch: u32) -> TokenKey {
        TokenKey::new([7; 32], [9; 16], epoch)
    }

    fn held(round: u32, fence: u64) -> Held {
        Held { queue: QueueId::from_bits(5), event: EventId::from_bits(6), round, fence }
    }

    const ROUTE: Route = Route { queue_no: u32::MAX, locator: (1 << 80) - 1 };

    #[test]
    fn a_token_leads_back_and_proves_its_own_hold_only() {
        let parsed = Parsed::of(&key(1).token(ROUTE, &held(1, 2))).expect("our own token");
        assert_eq!(parsed.route, ROUTE);
        assert!(key(1).proves(&parsed, &held(1, 2)));
        assert!(!key(1).proves(&parsed, &held(1, 3)), "another fence");
        assert!(!key(1).proves(&parsed, &held(2, 2)), "another round");
        assert!(!key(2).proves(&parsed, &held(1, 2)), "another epoch");
        let other_queue = Held { queue: QueueId::from_bits(8), ..held(1, 2) };
        assert!(!key(1).proves(&parsed, &other_queue));
    }

    #[test]
    fn every_byte_of_a_seal_counts() {
        let good = Parsed::of(&key(1).token(ROUTE, &held(1, 2))).expect("our own token");
        for at in 0..MAC_BYTES {
            let mut bent = good;
            bent.mac[at] ^= 1;
            assert!(!key(1).proves(&bent, &held(1, 2)), "byte {at}");
        }
    }

    #[test]
    fn what_is_no_token_is_taken_for_none() {
        let good = key(1).token(ROUTE, &held(1, 2));
        let good = good.reveal();
        for bad in ["", "not-the-token", &good[1..], &format!("{good}A"), &good.replace(&good[..1], "+")] {
            assert!(Parsed::of(&LeaseToken::new(bad)).is_none(), "{bad}");
        }
        let last = good.as_bytes()[42];
        let next = ALPHABET[(ALPHABET.iter().position(|&a| a == last).expect("ours") + 1) % 64];
        let mut bent = good.to_owned();
        bent.replace_range(42.., &char::from(next).to_string());
        assert!(Parsed::of(&LeaseToken::new(bent)).is_none(), "bits past the end must be zero");
    }
}
