//! What must hold of the places at which lists and tails go on.
//!
//! Lives here: the laws of cursors' text, and of `Last-Event-ID`. Not here: what an engine makes of a cursor
//! (`naven_store`).
//!
//! An input is read as a cursor's text, as an engine's own key, and as a header.

use http::HeaderValue;
use naven_store::read::Cursor;

use crate::http::query::{Query, read_cursor, write_cursor};
use crate::http::stream::{cursor_at, place_of};
use crate::http::tail::place_behind;
use crate::redis::check_scan_cursor;

/// Longest key of an engine.
const KEY_BYTES_MAX: usize = 32;

/// Holds one input to all laws.
///
/// # Panics
/// Where a law is broken.
pub fn check(input: &[u8]) {
    if let Ok(text) = std::str::from_utf8(input) {
        check_text(text.trim_end());
    }
    check_key(&input[..input.len().min(KEY_BYTES_MAX)]);
    check_last_event(input);
    if let Some(number) = input.first_chunk() {
        check_scan_cursor(u64::from_be_bytes(*number));
    }
}

/// A text that is taken for a cursor is one that was written.
fn check_text(text: &str) {
    for filter in [&b""[..], b"keys", b"events \"mail\""] {
        if let Some(cursor) = read_cursor(text, filter) {
            assert_eq!(write_cursor(&cursor, filter), text);
            if let Some(place) = place_of(&cursor) {
                assert_eq!(cursor_at(place), cursor);
            }
        }
    }
    let mut query = Query::new(Some(text));
    drop((query.cursor(b"keys"), query.end()));
}

/// What a list gave out, it takes, and no other list does.
fn check_key(key: &[u8]) {
    let cursor = Cursor(key.to_vec());
    let text = write_cursor(&cursor, b"keys");
    let mut query = Query::new(Some(&format!("cursor={text}")));
    assert_eq!(query.cursor(b"keys"), Some(cursor), "{text}");
    assert!(query.end().is_ok(), "{text}");
    let mut query = Query::new(Some(&format!("cursor={text}")));
    assert_eq!(query.cursor(b"operations"), None, "{text}");
    assert!(query.end().is_err(), "{text}");
}

/// A tail goes on within what is kept, or is told that it missed something.
fn check_last_event(input: &[u8]) {
    const START: u64 = 0xab;
    let Ok(header) = HeaderValue::from_bytes(input) else { return };
    for (first, end) in [(1, 1), (5, 9), (1, u64::MAX)] {
        let (next, missed) = place_behind(&header, START, (first, end));
        assert!(next <= end, "{header:?} leads to {next} of {first} to {end}");
        assert!(!missed || next == first, "{header:?}");
        let is_of_another_start = !input.to_ascii_lowercase().starts_with(b"ab-");
        let has_other_form = input.first().is_some_and(|byte| b"+0".contains(byte));
        assert!(missed || has_other_form || !is_of_another_start, "{header:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_saved_inputs_of_the_fuzzer_keep_every_law_of_cursors() {
        crate::laws::saved_inputs("cursors", check);
    }
}
