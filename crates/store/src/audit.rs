//! What operators changed, in order, each entry bound to the one before.
//!
//! Lives here: the note that an op bears, the entry that the engine makes of it, and the chain. Not here:
//! which ops bear a note (the doors), and where entries are kept (the engines).

use naven_api::Timestamp;
use sha2::{Digest, Sha256};

/// Who does what to what: kept in the same transaction as the change, and only if it was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditNote {
    /// The public part of the caller's key.
    pub by: String,
    /// What is done: `queue.create` and the like.
    pub action: String,
    /// To what: a name or an id.
    pub target: String,
    /// The request that asked for it.
    pub request_id: String,
}

/// One change that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// 1, 2, ... without a gap.
    pub number: u64,
    /// When.
    pub at: Timestamp,
    /// Who did what to what.
    pub note: AuditNote,
    /// The hash of the entry before; zeros for the first.
    pub previous: [u8; 32],
    /// SHA-256 over all the rest of this entry.
    pub hash: [u8; 32],
}

impl AuditEntry {
    /// The entry behind `last`.
    pub(crate) fn after(last: Option<&Self>, at: Timestamp, note: AuditNote) -> Self {
        let (number, previous) = last.map_or((1, [0; 32]), |last| (last.number + 1, last.hash));
        let entry = Self { number, at, note, previous, hash: [0; 32] };
        Self { hash: entry.digest(), ..entry }
    }

    /// True where the entry is what its hash was made of.
    pub fn is_whole(&self) -> bool {
        self.hash == self.digest()
    }

    /// Previous hash, number and time in big endian, then each text behind its length.
    fn digest(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(self.previous);
        hash.update(self.number.to_be_bytes());
        hash.update(self.at.as_ms().to_be_bytes());
        for text in [&self.note.by, &self.note.action, &self.note.target, &self.note.request_id] {
            hash.update((text.len() as u64).to_be_bytes());
            hash.update(text);
        }
        hash.finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_an_entry_is_in_its_hash() {
        let note = |by: &str, action: &str, target: &str| AuditNote {
            by: by.to_owned(),
            action: action.to_owned(),
            target: target.to_owned(),
            request_id: "r".to_owned(),
        };
        let at = Timestamp::from_ms;
        let first = AuditEntry::after(None, at(1), note("k", "queue.create", "mail"));
        let second = AuditEntry::after(Some(&first), at(2), note("k", "queue.patch", "mail"));
        assert_eq!((first.number, second.number, second.previous), (1, 2, first.hash));
        assert!(first.is_whole() && second.is_whole());
        for changed in [
            AuditEntry { number: 3, ..second.clone() },
            AuditEntry { at: at(3), ..second.clone() },
            AuditEntry { previous: [1; 32], ..second.clone() },
            AuditEntry { note: note("k", "queue.patc", "hmail"), ..second.clone() },
            AuditEntry { note: note("kqueue", ".patch", "mail"), ..second.clone() },
        ] {
            assert!(!changed.is_whole(), "{changed:?}");
        }
    }
}
