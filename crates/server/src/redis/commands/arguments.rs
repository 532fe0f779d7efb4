//! Reading arguments as Redis reads them.
//!
//! Lives here: numbers and words that several commands take, with Redis' words for wrong ones. Not here: what
//! one command alone takes.

use crate::redis::frame::Reply;

/// What is said of a number that is none.
pub(super) const NOT_AN_INTEGER: &str = "ERR value is not an integer or out of range";
/// What is said of an option that is none.
pub(super) const SYNTAX: &str = "ERR syntax error";

/// The whole number that `text` writes, no plus sign, no leading zero.
pub(super) fn integer(text: &[u8]) -> Option<i64> {
    let number: i64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    (number.to_string().as_bytes() == text).then_some(number)
}

/// The same, or Redis' words for a wrong one.
pub(super) fn integer_or_reply(text: &[u8]) -> Result<i64, Reply> {
    integer(text).ok_or_else(|| Reply::error(NOT_AN_INTEGER))
}

/// True where `text` is `word`, in any case.
pub(super) fn is(text: &[u8], word: &str) -> bool {
    text.eq_ignore_ascii_case(word.as_bytes())
}

/// The reply to an option that is none.
pub(super) fn syntax() -> Reply {
    Reply::error(SYNTAX)
}

/// `text` as it may be shown in an error.
pub(super) fn shown(text: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(text)
}
