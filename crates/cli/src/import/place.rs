//! The id of an entry: where it stands in its stream.
//!
//! Lives here: reading and writing it, and the one behind it. Not here: entries (`entries.rs`).

use std::fmt;

/// `ms-seq`. Ordered as entries are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    ms: u64,
    seq: u64,
}

impl Place {
    /// Before every entry.
    pub(super) const ZERO: Self = Self { ms: 0, seq: 0 };

    /// The place right behind this one; none behind the last.
    ///
    /// Pages begin there, and not at `(id`, which servers before 6.2 do not know.
    pub(super) fn next(self) -> Option<Self> {
        match self.seq.checked_add(1) {
            Some(seq) => Some(Self { seq, ..self }),
            None => Some(Self { ms: self.ms.checked_add(1)?, seq: 0 }),
        }
    }

    /// The place that this text names; none where it names none.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let (ms, seq) = std::str::from_utf8(text).ok()?.split_once('-')?;
        Some(Self { ms: ms.parse().ok()?, seq: seq.parse().ok()? })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.ms, self.seq)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_place_is_right_behind() {
        let place = |ms, seq| Place { ms, seq };
        assert_eq!(place(5, 0).next(), Some(place(5, 1)));
        assert_eq!(place(5, u64::MAX).next(), Some(place(6, 0)));
        assert_eq!(place(u64::MAX, u64::MAX).next(), None);
    }

    #[test]
    fn a_place_is_two_numbers() {
        assert_eq!(Place::parse(b"12-3").map(|place| place.to_string()).as_deref(), Some("12-3"));
        for text in ["", "12", "-3", "12-", "12-3-4", "a-1"] {
            assert_eq!(Place::parse(text.as_bytes()), None, "{text}");
        }
    }
}
