//! Places of entries as Redis writes them: `ms-seq`, `ms`, `-`, `+`, `(ms-seq`, `ms-*`.
//!
//! Lives here: reading and writing them. Not here: the words `$`, `>` and `+` of reads (`xread.rs`,
//! `xreadgroup.rs`).

use bytes::Bytes;
use naven_store::txn::{Place, PlaceWish};

use crate::redis::frame::{Reply, number};

/// The first place there is, and the last.
pub(super) const FIRST: Place = Place { ms: 0, seq: 0 };
pub(super) const LAST: Place = Place { ms: u64::MAX, seq: u64::MAX };
/// Longest place, in bytes, as Redis has it.
const PLACE_BYTES_MAX: usize = 127;

/// A place, as it is answered.
pub(super) fn shown(place: Place) -> Reply {
    Reply::bulk(place.to_string())
}

/// What is said of a text that is no place.
pub(super) fn invalid() -> Reply {
    Reply::error("ERR Invalid stream ID specified as stream command argument")
}

/// A place in full, or its milliseconds alone.
pub(super) fn place(text: &[u8]) -> Result<Place, Reply> {
    parsed(text, 0).ok_or_else(invalid)
}

/// A place, or `-` for the first there is and `+` for the last.
pub(super) fn place_or_end(text: &[u8]) -> Result<Place, Reply> {
    open(text, 0)
}

/// Some places.
pub(super) fn places(texts: &[Bytes]) -> Result<Vec<Place>, Reply> {
    texts.iter().map(|text| place(text)).collect()
}

/// What a publisher asks for: a place, or `ms-*`.
pub(super) fn wish(text: &[u8]) -> Result<PlaceWish, Reply> {
    match text.strip_suffix(b"-*") {
        Some(ms) if !ms.contains(&b'-') && text.len() <= PLACE_BYTES_MAX => {
            unsigned(ms).map(PlaceWish::In).ok_or_else(invalid)
        }
        _ => Ok(PlaceWish::Exactly(place(text)?)),
    }
}

/// The first place of a range: `-`, a place, or `(` and the place before it.
pub(super) fn range_start(text: &[u8]) -> Result<Place, Reply> {
    match exclusive(text) {
        Some(before) => {
            place(before)?.after().ok_or_else(|| Reply::error("ERR invalid start ID for the interval"))
        }
        None => open(text, 0),
    }
}

/// The last place of a range: `+`, a place, or `(` and the place behind it.
pub(super) fn range_end(text: &[u8]) -> Result<Place, Reply> {
    let Some(behind) = exclusive(text) else { return open(text, u64::MAX) };
    let behind = parsed(behind, u64::MAX).ok_or_else(invalid)?;
    let before = match behind.seq.checked_sub(1) {
        Some(seq) => Some(Place { seq, ..behind }),
        None => behind.ms.checked_sub(1).map(|ms| Place { ms, seq: u64::MAX }),
    };
    before.ok_or_else(|| Reply::error("ERR invalid end ID for the interval"))
}

fn exclusive(text: &[u8]) -> Option<&[u8]> {
    text.strip_prefix(b"(").filter(|rest| !rest.is_empty())
}

fn open(text: &[u8], missing_seq: u64) -> Result<Place, Reply> {
    match until_zero(text) {
        b"-" => Ok(FIRST),
        b"+" => Ok(LAST),
        text => parsed(text, missing_seq).ok_or_else(invalid),
    }
}

fn parsed(text: &[u8], missing_seq: u64) -> Option<Place> {
    if text.len() > PLACE_BYTES_MAX {
        return None;
    }
    let text = until_zero(text);
    match text.iter().position(|byte| *byte == b'-') {
        None => Some(Place { ms: unsigned(text)?, seq: missing_seq }),
        Some(at) => Some(Place { ms: unsigned(text.get(..at)?)?, seq: unsigned(text.get(at + 1..)?)? }),
    }
}

/// What a reader of C texts would see.
fn until_zero(text: &[u8]) -> &[u8] {
    text.split(|byte| *byte == 0).next().unwrap_or(text)
}

/// A number without a sign, read as leniently as Redis reads it: spaces, a plus sign and zeros may stand before
/// its digits, and one that is not written plainly may have a minus sign, which counts from 2^64 down.
fn unsigned(text: &[u8]) -> Option<u64> {
    if let Some(plain) = number(text) {
        return u64::try_from(plain).ok();
    }
    let text = text.trim_ascii_start();
    let (is_below, digits) = match text.split_first() {
        Some((b'+', digits)) => (false, digits),
        Some((b'-', digits)) => (true, digits),
        _ => (false, text),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value: u64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    Some(if is_below { value.wrapping_neg() } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: u64 = u64::MAX;

    #[test]
    fn places_are_read_as_leniently_as_redis_reads_them() {
        for (text, wanted) in [
            (&b"5-7"[..], Some((5, 7))),
            (b"5", Some((5, 0))),
            (b" 5-+7", Some((5, 7))),
            (b"05-007", Some((5, 7))),
            (b"5-7\0x", Some((5, 7))),
            (b"1--05", Some((1, MAX - 4))),
            (b"18446744073709551615-18446744073709551615", Some((MAX, MAX))),
            (b"18446744073709551616", None),
            (b"1--5", None),
            (b"1-2-3", None),
            (b"-", None),
            (b"+", None),
            (b"", None),
            (b"5-", None),
            (b"5-*", None),
            (b"(5", None),
            (b"5 ", None),
            (&[b'0'; 128], None),
            (&[b'0'; 127], Some((0, 0))),
        ] {
            let place = place(text).ok().map(|place| (place.ms, place.seq));
            assert_eq!(place, wanted, "{}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn a_wish_may_leave_the_number_open() {
        assert_eq!(wish(b"5-*"), Ok(PlaceWish::In(5)));
        assert_eq!(wish(b"5"), Ok(PlaceWish::Exactly(Place { ms: 5, seq: 0 })));
        for bad in [&b"*"[..], b"*-5", b"-*", b"x-*", b"5-1-*"] {
            assert!(wish(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn ranges_leave_out_what_stands_behind_a_bracket() {
        let start = |text: &[u8]| range_start(text).ok().map(|place| (place.ms, place.seq));
        let end = |text: &[u8]| range_end(text).ok().map(|place| (place.ms, place.seq));
        assert_eq!([start(b"-"), start(b"5"), start(b"(5-7")], [Some((0, 0)), Some((5, 0)), Some((5, 8))]);
        assert_eq!([start(b"(5"), start(b"+")], [Some((5, 1)), Some((MAX, MAX))]);
        assert_eq!([end(b"+"), end(b"5"), end(b"(5-7")], [Some((MAX, MAX)), Some((5, MAX)), Some((5, 6))]);
        assert_eq!([end(b"(5-0"), end(b"(5"), end(b"-")], [Some((4, MAX)), Some((5, MAX - 1)), Some((0, 0))]);
        for bad in [&b"("[..], b"(-", b"(+", b"x"] {
            assert!(range_start(bad).is_err() && range_end(bad).is_err(), "{bad:?}");
        }
        assert!(range_start(b"(18446744073709551615-18446744073709551615").is_err());
        assert!(range_end(b"(0-0").is_err());
    }
}
