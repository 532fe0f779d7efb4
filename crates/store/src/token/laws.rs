//! The laws of tokens and names, which hold whatever text comes.
//!
//! Lives here: what one input of a fuzzer stands for, and the laws it is held to. They are checked where fuzz
//! targets are built (`fuzz/` at the root), and by a test on the saved inputs. Not here: bearer keys
//! (`naven-server`).
//!
//! An input is read twice: as a text, which may be any token, id or name; and as the numbers of a hold, and of
//! one change of its token.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use naven_api::{
    ConsumerId, DedupeKey, EntryId, EventId, IdempotencyKey, KeyId, LeaseToken, OperationId, QueueId,
    QueueName, StreamName,
};

use super::{Held, MAC_BYTES, Parsed, ROUTE_BYTES, Route, TokenKey, base64url};
use crate::queue::QueueRef;

/// Holds one input to all laws.
///
/// # Panics
/// Where a law is broken.
pub fn check(input: &[u8]) {
    if let Ok(text) = std::str::from_utf8(input) {
        check_text(text);
    }
    check_hold(&mut Numbers(input));
}

/// What is taken for a token, an id or a name is printed as it was read.
fn check_text(text: &str) {
    if let Some(parsed) = Parsed::of(&LeaseToken::new(text)) {
        let mut bytes = [0; ROUTE_BYTES + MAC_BYTES];
        bytes[..ROUTE_BYTES].copy_from_slice(&parsed.route.bytes());
        bytes[ROUTE_BYTES..].copy_from_slice(&parsed.mac);
        assert_eq!(base64url(&bytes), text);
    }
    comes_back::<EventId>(text);
    comes_back::<QueueId>(text);
    comes_back::<KeyId>(text);
    comes_back::<OperationId>(text);
    comes_back::<QueueName>(text);
    comes_back::<StreamName>(text);
    comes_back::<ConsumerId>(text);
    comes_back::<DedupeKey>(text);
    comes_back::<IdempotencyKey>(text);
    // Zeros may lead its numbers.
    if let Ok(entry) = text.parse::<EntryId>() {
        assert_eq!(entry.to_string().parse(), Ok(entry), "{text}");
    }
    // No queue has the name of another one's id.
    assert!(text.parse::<QueueId>().is_err() || text.parse::<QueueName>().is_err(), "{text}");
    assert_eq!(QueueRef::from_text(text).to_text(), text);
}

fn comes_back<T: FromStr + Display + Debug>(text: &str) {
    if let Ok(value) = text.parse::<T>() {
        assert_eq!(value.to_string(), text, "{value:?}");
    }
}

/// A token proves the hold that it was made for and no other; with one byte changed it proves nothing, or leads
/// elsewhere, where that hold is not.
fn check_hold(numbers: &mut Numbers<'_>) {
    let key = TokenKey::new([numbers.next() as u8; 32], [numbers.next() as u8; 16], numbers.next() as u32);
    let wide = |numbers: &mut Numbers<'_>| u128::from(numbers.next()) << 64 | u128::from(numbers.next());
    let route = Route { queue_no: numbers.next() as u32, locator: wide(numbers) & ((1 << 80) - 1) };
    let (queue, event) = (QueueId::from_bits(wide(numbers)), EventId::from_bits(wide(numbers)));
    let held = Held { queue, event, round: numbers.next() as u32, fence: numbers.next() };
    let token = key.token(route, &held);
    let parsed = Parsed::of(&token).expect("our own token");
    assert_eq!(parsed.route, route);
    assert!(key.proves(&parsed, &held));
    for other in [
        Held { queue: QueueId::from_bits(queue.bits() ^ 1), ..held },
        Held { event: EventId::from_bits(event.bits() ^ 1), ..held },
        Held { round: held.round ^ 1, ..held },
        Held { fence: held.fence ^ 1, ..held },
    ] {
        assert!(!key.proves(&parsed, &other), "{held:?} and {other:?}");
    }
    let mut changed = token.reveal().as_bytes().to_vec();
    let at = numbers.next() as usize % changed.len();
    // Never 0, so that it is another byte.
    changed[at] ^= (1 + numbers.next() % 127) as u8;
    let changed = LeaseToken::new(String::from_utf8(changed).expect("ASCII stays ASCII"));
    let is_taken =
        Parsed::of(&changed).is_some_and(|other| other.route == route && key.proves(&other, &held));
    assert!(!is_taken, "{} and {}", token.reveal(), changed.reveal());
}

/// Numbers out of an input: 8 bytes each, and zeros behind its end.
struct Numbers<'a>(&'a [u8]);

impl Numbers<'_> {
    fn next(&mut self) -> u64 {
        let (bytes, rest) = self.0.split_at(self.0.len().min(8));
        self.0 = rest;
        bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_saved_inputs_of_the_fuzzer_keep_every_law_of_tokens() {
        crate::embedded::laws::saved_inputs("tokens", check);
    }
}
