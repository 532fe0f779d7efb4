//! Patterns of names, as KEYS and SCAN take them.
//!
//! Lives here: `*`, `?`, `[...]` and `\`. Not here: who has names to compare.
//!
//! A pattern with many stars takes time that grows with name and pattern only: a star that has found its place
//! is never tried again once a later one has found one.

/// Whether `name` is one of `pattern`.
pub(super) fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut pattern, mut name) = (pattern, name);
    // Where to go on if what follows the last star does not fit here.
    let mut retry: Option<(&[u8], &[u8])> = None;
    loop {
        let fits = match (pattern.split_first(), name.split_first()) {
            (Some((b'*', behind)), _) => {
                retry = Some((behind, name));
                pattern = behind;
                continue;
            }
            (None, None) => return true,
            (Some(_), Some((byte, behind))) => one(pattern, *byte).map(|rest| (rest, behind)),
            (None, Some(_)) | (Some(_), None) => None,
        };
        match (fits, retry) {
            (Some((rest, behind)), _) => (pattern, name) = (rest, behind),
            (None, Some((after_star, from))) => {
                let Some((_, later)) = from.split_first() else { return false };
                retry = Some((after_star, later));
                (pattern, name) = (after_star, later);
            }
            (None, None) => return false,
        }
    }
}

/// What is left of `pattern`, which is not empty, once its first part has taken `byte`; none: it does not.
fn one(pattern: &[u8], byte: u8) -> Option<&[u8]> {
    let (first, behind) = pattern.split_first()?;
    match first {
        b'?' => Some(behind),
        b'[' => set(behind, byte),
        b'\\' if !behind.is_empty() => {
            behind.split_first().and_then(|(escaped, rest)| (*escaped == byte).then_some(rest))
        }
        other => (*other == byte).then_some(behind),
    }
}

/// The same for a set, whose bracket is taken. One that is never closed ends with the pattern.
fn set(pattern: &[u8], byte: u8) -> Option<&[u8]> {
    let is_not = pattern.first() == Some(&b'^');
    let mut rest = if is_not { pattern.get(1..).unwrap_or_default() } else { pattern };
    let mut found = false;
    let behind = loop {
        rest = match rest {
            [] => break rest,
            [b']', behind @ ..] => break behind,
            [b'\\', escaped, behind @ ..] => {
                found |= *escaped == byte;
                behind
            }
            [low, b'-', high, behind @ ..] => {
                found |= (*low.min(high)..=*low.max(high)).contains(&byte);
                behind
            }
            [only, behind @ ..] => {
                found |= *only == byte;
                behind
            }
        };
    };
    (found != is_not).then_some(behind)
}

/// What every name of `pattern` begins with.
pub(super) fn prefix(pattern: &[u8]) -> &[u8] {
    let end = pattern.iter().position(|byte| matches!(byte, b'*' | b'?' | b'[' | b'\\'));
    pattern.get(..end.unwrap_or(pattern.len())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_take_the_names_that_redis_gives_them() {
        for (pattern, name, fits) in [
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
            ("a*", "abc", true),
            ("*c", "abc", true),
            ("a*c", "abcbc", true),
            ("a*d", "abc", false),
            ("a?c", "abc", true),
            ("a?", "a", false),
            ("h[ae]llo", "hello", true),
            ("h[ae]llo", "hillo", false),
            ("h[^e]llo", "hallo", true),
            ("h[^e]llo", "hello", false),
            ("h[a-c]llo", "hbllo", true),
            ("h[c-a]llo", "hbllo", true),
            ("h[\\]]llo", "h]llo", true),
            ("h[a", "ha", true),
            ("a\\*", "a*", true),
            ("a\\*", "ab", false),
            ("a\\", "a\\", true),
            ("*a*b*c*", "xxaxxbxxcxx", true),
        ] {
            assert_eq!(matches(pattern.as_bytes(), name.as_bytes()), fits, "{pattern} of {name}");
        }
    }

    #[test]
    fn many_stars_cost_little() {
        let (pattern, name) = ("*a".repeat(200) + "b", "a".repeat(2_000));
        assert!(!matches(pattern.as_bytes(), name.as_bytes()));
    }

    #[test]
    fn a_prefix_ends_where_a_pattern_begins() {
        for (pattern, start) in [("ab*", "ab"), ("ab", "ab"), ("?", ""), ("a[b]", "a"), ("a\\*", "a")] {
            assert_eq!(prefix(pattern.as_bytes()), start.as_bytes(), "{pattern}");
        }
    }
}
