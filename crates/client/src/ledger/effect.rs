//! What an effect is called.
//!
//! Lives here: its three names, who runs it under which fence, and the rules of names. Not here: what is known of it
//! (`rule.rs`).

use std::collections::hash_map::RandomState;
use std::fmt::{self, Write};
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

/// Longest name of an effect, in bytes.
pub const NAME_BYTES_MAX: usize = 200;
/// Longest id of an event, in bytes.
pub const EVENT_BYTES_MAX: usize = 200;
/// Longest name of a queue, in bytes. All three together fit into a row of a B-tree of PostgreSQL.
pub const QUEUE_BYTES_MAX: usize = 1_200;
/// What names may be, in words.
pub const NAME_RULE: &str = "an effect's name has 1 to 200 bytes of A-Z a-z 0-9 . _ : and -; an event's id has 1 to 200 of the same; \
     a queue's name has 1 to 1200 bytes, and no control characters; a fencing number is 1 to 2^63-1";

/// A name, or number, that is outside of [`NAME_RULE`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The effect's name.
    #[error("an effect's name has 1 to 200 bytes of A-Z a-z 0-9 . _ : and -, and this one is {0:?}")]
    Effect(String),
    /// The event's id.
    #[error("an event's id has 1 to 200 bytes of A-Z a-z 0-9 . _ : and -, and this one is {0:?}")]
    Event(String),
    /// The queue's name.
    #[error("a queue's name has 1 to 1200 bytes, none a control character, and this one is {0:?}")]
    Queue(String),
    /// The fencing number.
    #[error("a fencing number is 1 to 2^63-1, and this one is {0}")]
    Fence(u64),
}

/// Who runs an effect: two leases with the same fencing number are told apart by it, and the calls of one lease.
///
/// 16 hexadecimal digits: 12 random ones of the lease, and 4 that count its calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bearer(Arc<str>);

/// How many of the digits are the lease's.
const LEASE_DIGITS: usize = 12;

impl Bearer {
    /// The first call of a lease.
    pub(crate) fn new() -> Self {
        // The keys of a fresh map's hasher are random, and differ each time.
        let bits = RandomState::new().build_hasher().finish() >> 16;
        Self(format!("{bits:012x}0000").into())
    }

    /// Another call of the same lease. After 65,536 of them their numbers begin anew.
    pub(crate) fn call(&self, number: u16) -> Self {
        Self(format!("{}{number:04x}", self.lease()).into())
    }

    fn lease(&self) -> &str {
        self.0.get(..LEASE_DIGITS).unwrap_or(&self.0)
    }

    /// True for two calls of one lease, and for one with itself.
    pub fn is_of_the_lease_of(&self, other: &Self) -> bool {
        self.lease() == other.lease()
    }

    /// One that a store has kept as text.
    pub fn kept(text: &str) -> Self {
        Self(text.into())
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// One effect of one event, as its store is asked about it.
#[derive(Debug, Clone)]
pub struct Effect {
    pub(crate) queue: Arc<str>,
    pub(crate) event: Arc<str>,
    pub(crate) name: Arc<str>,
    pub(crate) fence: u64,
    pub(crate) bearer: Bearer,
}

impl Effect {
    /// Checks all names: one place for all calls.
    pub(crate) fn checked(self) -> Result<Self, NameError> {
        let is_queue =
            (1..=QUEUE_BYTES_MAX).contains(&self.queue.len()) && !self.queue.chars().any(char::is_control);
        if !is_queue {
            return Err(NameError::Queue(cut(&self.queue)));
        }
        if !is_word(&self.event, EVENT_BYTES_MAX) {
            return Err(NameError::Event(cut(&self.event)));
        }
        if !is_word(&self.name, NAME_BYTES_MAX) {
            return Err(NameError::Effect(cut(&self.name)));
        }
        if self.fence == 0 || i64::try_from(self.fence).is_err() {
            return Err(NameError::Fence(self.fence));
        }
        Ok(self)
    }

    /// The queue's name.
    pub fn queue(&self) -> &str {
        &self.queue
    }

    /// The event's id.
    pub fn event(&self) -> &str {
        &self.event
    }

    /// The effect's own name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The fencing number of who asks: 1 to 2^63-1.
    pub fn fence(&self) -> u64 {
        self.fence
    }

    /// Who asks.
    pub fn bearer(&self) -> &Bearer {
        &self.bearer
    }

    /// What outside APIs may know it by.
    pub fn key(&self) -> EffectKey {
        let mut key = format!("{}/{}/", self.event, self.name);
        for byte in self.queue.bytes() {
            if is_plain(byte) {
                key.push(char::from(byte));
            } else {
                // A text takes whatever it is given.
                let _ = write!(key, "%{byte:02X}");
            }
        }
        EffectKey(key.into())
    }
}

/// An effect's idempotency key for outside APIs: the same at each attempt, and another one for each other effect.
///
/// It reads `<event id>/<name>/<queue>`, in visible ASCII, so that it may stand in an HTTP header. For a queue made over
/// HTTP it is at most 32 bytes longer than both names; many APIs take no more than 255 bytes, so keep names short.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EffectKey(Arc<str>);

impl EffectKey {
    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EffectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"._:-".contains(&byte)
}

fn is_word(text: &str, most: usize) -> bool {
    (1..=most).contains(&text.len()) && text.bytes().all(is_plain)
}

/// Enough of a bad name to find it by.
fn cut(text: &str) -> String {
    text.chars().take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effect(queue: &str, event: &str, name: &str, fence: u64) -> Result<Effect, NameError> {
        let (queue, event, name) = (queue.into(), event.into(), name.into());
        Effect { queue, event, name, fence, bearer: Bearer::new() }.checked()
    }

    #[test]
    fn names_are_held_to_their_bounds() {
        let long = |bytes| "a".repeat(bytes);
        for (queue, event, name, fence) in [
            ("q", "evt_1", "charge-card", 1),
            (long(1_200).as_str(), long(200).as_str(), long(200).as_str(), i64::MAX as u64),
            ("a b/ü", "1700000000000-0", "A.z_0:9-", 7),
        ] {
            assert!(effect(queue, event, name, fence).is_ok(), "{queue} {event} {name} {fence}");
        }
        for name in ["", " ", "a b", "a/b", "ü", "a\n", "{a}", long(201).as_str()] {
            assert!(matches!(effect("q", "e", name, 1), Err(NameError::Effect(_))), "{name:?}");
            assert!(matches!(effect("q", name, "n", 1), Err(NameError::Event(_))), "{name:?}");
        }
        for queue in ["", "a\0", "a\n", long(1_201).as_str()] {
            assert!(matches!(effect(queue, "e", "n", 1), Err(NameError::Queue(_))), "{queue:?}");
        }
        for fence in [0, 1 << 63, u64::MAX] {
            assert_eq!(effect("q", "e", "n", fence).map(drop), Err(NameError::Fence(fence)));
        }
    }

    #[test]
    fn a_key_is_visible_ascii_and_names_one_effect() {
        let key = |queue, event, name| effect(queue, event, name, 1).unwrap().key().to_string();
        assert_eq!(key("mail", "evt_1", "send"), "evt_1/send/mail");
        assert_eq!(key("a/b ü", "e", "n"), "e/n/a%2Fb%20%C3%BC");
        assert_ne!(key("a%2F", "e", "n"), key("a/", "e", "n"));
    }

    #[test]
    fn each_bearer_is_another_and_the_calls_of_one_know_each_other() {
        let (one, other) = (Bearer::new(), Bearer::new());
        assert!(!one.is_of_the_lease_of(&other));
        for call in [one.call(1), one.call(u16::MAX)] {
            assert_ne!(one, call);
            assert!(one.is_of_the_lease_of(&call) && call.is_of_the_lease_of(&one));
            assert_eq!(call.as_str().len(), 16);
        }
    }
}
