//! Numbers of the wire, read as strictly as Redis reads them.
//!
//! Lives here: whole numbers as they are written after `*` or `$`, and among arguments. Not here: what is said
//! of one that is none.

/// Longest number, in bytes: that of the lowest `i64` with its sign.
pub(super) const NUMBER_BYTES_MAX: usize = 20;

/// The number that `text` writes: no plus sign, no leading zero, no space. None for anything else, and past
/// the range of `i64`.
pub(crate) fn number(text: &[u8]) -> Option<i64> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let is_canonical = match digits {
        [b'0'] => digits.len() == text.len(),
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    if !is_canonical || text.len() > NUMBER_BYTES_MAX {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn a_number_is_read_only_as_it_would_be_written() {
        for (text, wanted) in [
            ("0", 0),
            ("7", 7),
            ("10", 10),
            ("-1", -1),
            ("9223372036854775807", i64::MAX),
            ("-9223372036854775808", i64::MIN),
        ] {
            assert_eq!(number(text.as_bytes()), Some(wanted), "{text}");
        }
        for text in [
            "",
            "-",
            "+1",
            "01",
            "-0",
            "-01",
            " 1",
            "1 ",
            "1\n",
            "x",
            "1x",
            "0x1",
            "9223372036854775808",
            "-9223372036854775809",
        ] {
            assert_eq!(number(text.as_bytes()), None, "{text:?}");
        }
    }
}
