//! What tells one kind of error from another.
//!
//! Lives here: an error's text without what differs from one time to the next, and the fingerprint of a
//! death made of it. Not here: who is grouped by it (`naven-store`).

use std::fmt;

use crate::outcome::DeadReason;

/// Bytes of an error's text that are looked at.
const LOOKED_AT: usize = 1_024;
/// Hex digits from which on a run of them is taken for an id.
const HEX_RUN: usize = 8;
/// The lengths of the parts of a UUID's text.
const UUID_PARTS: [usize; 5] = [8, 4, 4, 4, 12];

/// Deaths of one reason whose errors differ in nothing but numbers, ids and quoted parts. It tells groups
/// apart, and protects nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// The fingerprint of a death for `reason` whose last error is `error`.
    pub fn of(reason: DeadReason, error: Option<&str>) -> Self {
        let text = error.map(normalised);
        // A death without an error is none whose error is empty.
        let kind = [u8::from(text.is_some())];
        let parts = [reason.as_str().as_bytes(), &[0], &kind, text.as_deref().unwrap_or_default().as_bytes()];
        // FNV-1a: any spread will do.
        let hash = parts.concat().iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self(hash)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// `text` with numbers, hex ids and UUIDs as `#` and quoted parts as `"#"`; its first 1,024 bytes count.
fn normalised(text: &str) -> String {
    let mut rest = &text[..text.floor_char_boundary(LOOKED_AT)];
    let mut plain = String::with_capacity(rest.len());
    let mut before = ' ';
    while let Some(first) = rest.chars().next() {
        let is_inside_a_word = before.is_ascii_alphanumeric();
        let (taken, shown) = match first {
            '"' | '\'' | '`' if !is_inside_a_word => quoted(rest, first),
            _ if first.is_ascii_alphanumeric() && !is_inside_a_word => word(rest),
            _ => None,
        }
        .unwrap_or_else(|| (first.len_utf8(), first.to_string()));
        plain.push_str(&shown);
        before = rest[..taken].chars().next_back().unwrap_or(' ');
        rest = &rest[taken..];
    }
    plain
}

/// A quoted part at the start of `rest`, on one line.
fn quoted(rest: &str, quote: char) -> Option<(usize, String)> {
    let line = rest.split('\n').next().unwrap_or_default();
    let end = 1 + line[1..].find(quote)?;
    Some((end + 1, "\"#\"".to_owned()))
}

/// A word at the start of `rest`: an id, or a word in which each number is as good as another.
fn word(rest: &str) -> Option<(usize, String)> {
    if let Some(length) = uuid(rest) {
        return Some((length, "#".to_owned()));
    }
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
    let run = &rest[..end];
    let hex = run.strip_prefix("0x").or_else(|| run.strip_prefix("0X"));
    let is_hex = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let has_digit = run.bytes().any(|byte| byte.is_ascii_digit());
    if hex.is_some_and(is_hex) || (run.len() >= HEX_RUN && has_digit && is_hex(run)) {
        return Some((end, "#".to_owned()));
    }
    let mut shown = String::with_capacity(end);
    for c in run.chars() {
        match c.is_ascii_digit() {
            true if shown.ends_with('#') => {}
            true => shown.push('#'),
            false => shown.push(c),
        }
    }
    Some((end, shown))
}

/// The length of a UUID at the start of `rest`.
fn uuid(rest: &str) -> Option<usize> {
    let mut parts = rest.get(..UUID_PARTS.iter().sum::<usize>() + 4)?.split('-');
    let fits = |length: usize, part: Option<&str>| {
        part.is_some_and(|part| part.len() == length && part.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    let is_one = UUID_PARTS.into_iter().all(|length| fits(length, parts.next()));
    let ends = rest[36..].chars().next().is_none_or(|next| !next.is_ascii_alphanumeric());
    (is_one && ends).then_some(36)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_from_time_to_time_is_taken_out() {
        for (text, plain) in [
            ("timeout after 30s", "timeout after #s"),
            ("order 4711 of 12.5 EUR", "order # of #.# EUR"),
            ("user 6fa459ea-ee8a-3ca4-894e-db77e160355e is gone", "user # is gone"),
            ("at 0xDEADbeef in f3", "at # in f#"),
            ("commit 8f14e45fceea167a", "commit #"),
            ("no field \"a b\" in 'x' or `y`", "no field \"#\" in \"#\" or \"#\""),
            ("I can't, and he won't", "I can't, and he won't"),
            ("an open \" quote", "an open \" quote"),
            ("deadbeef is a word, decade too", "deadbeef is a word, decade too"),
            ("é12 \u{1f600}", "é# \u{1f600}"),
            ("", ""),
        ] {
            assert_eq!(normalised(text), plain, "{text}");
        }
    }

    #[test]
    fn any_text_is_taken_apart() {
        for text in ["é\"", "\"é", "'\n'", "0x", "-", "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaa\u{e9}"] {
            normalised(text);
        }
        let long = "é1".repeat(5_000);
        assert!(normalised(&long).len() <= LOOKED_AT);
    }

    #[test]
    fn one_kind_of_error_has_one_fingerprint_and_two_have_two() {
        let of = |error: &str| Fingerprint::of(DeadReason::Fatal, Some(error));
        assert_eq!(of("no user 12"), of("no user 7"));
        assert_ne!(of("no user 12"), of("no order 12"));
        assert_ne!(of("x"), Fingerprint::of(DeadReason::AttemptsUsedUp, Some("x")));
        assert_ne!(of(""), Fingerprint::of(DeadReason::Fatal, None));
        assert_eq!(of("x").to_string().len(), 16);
    }
}
