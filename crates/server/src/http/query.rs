//! Reading a request's query.
//!
//! Lives here: its pairs, and the parameters that routes take. Not here: bodies (`body.rs`).

use std::borrow::Cow;
use std::collections::BTreeSet;

use naven_api::field::{Faults, Rule, echo};
use naven_api::limits::{CURSOR_BYTES_MAX, PAGE_ITEMS_DEFAULT, PAGE_ITEMS_MAX};
use naven_api::{EntryId, ErrorCode, Timestamp, value};
use naven_store::read::Cursor;
use naven_store::txn::Place;

use crate::failure::Failure;

/// Names and values, decoded. What is not UTF-8 once decoded becomes U+FFFD in a name, which no rule takes.
pub(super) fn pairs(query: &str) -> impl Iterator<Item = (String, Vec<u8>)> + '_ {
    query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decoded(name), decoded_bytes(value))
    })
}

/// The text without its escapes. What is not UTF-8 then becomes U+FFFD.
pub(super) fn decoded(text: &str) -> String {
    String::from_utf8_lossy(&decoded_bytes(text)).into_owned()
}

fn decoded_bytes(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let hex = tail.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()).filter(|_| byte == b'%') {
            Some(escaped) => {
                bytes.push(escaped);
                rest = &tail[2..];
            }
            None => {
                bytes.push(if byte == b'+' { b' ' } else { byte });
                rest = tail;
            }
        }
    }
    bytes
}

/// The parameters of one request.
pub(super) struct Query {
    pairs: Vec<(String, Vec<u8>)>,
    faults: Faults,
    bad_cursor: bool,
    bad_filter: Option<String>,
}

impl Query {
    /// The parameters in `query`.
    pub(super) fn new(query: Option<&str>) -> Self {
        Self {
            pairs: pairs(query.unwrap_or_default()).collect(),
            faults: Faults::default(),
            bad_cursor: false,
            bad_filter: None,
        }
    }

    /// Where faults of the request around it are noted.
    pub(super) fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Ends the reading where a body follows, whose faults are judged together with these.
    pub(super) fn into_faults(self) -> Faults {
        self.pairs.iter().for_each(|(name, _)| self.faults.unknown(echo(name)));
        self.faults
    }

    /// A text. What is not UTF-8 becomes U+FFFD, which no rule takes.
    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        self.bytes(name).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Any bytes.
    pub(super) fn bytes(&mut self, name: &str) -> Option<Vec<u8>> {
        let at = self.pairs.iter().position(|(known, _)| known == name)?;
        let (_, value) = self.pairs.remove(at);
        let before = self.pairs.len();
        self.pairs.retain(|(known, _)| known != name);
        if self.pairs.len() < before {
            self.refuse(&echo(name), &Rule::new("given once"));
        }
        Some(value)
    }

    /// What `read` makes of a text.
    pub(super) fn parsed<T>(
        &mut self,
        name: &str,
        rule: &Rule,
        read: impl FnOnce(String) -> Option<T>,
    ) -> Option<T> {
        let value = read(self.text(name)?);
        if value.is_none() {
            self.refuse(name, rule);
        }
        value
    }

    /// All parameters whose names begin so.
    pub(super) fn beginning_with(&mut self, prefix: &str) -> Vec<(String, String)> {
        let names = self.pairs.iter().map(|(name, _)| name).filter(|name| name.starts_with(prefix));
        let names: BTreeSet<String> = names.cloned().collect();
        names.into_iter().filter_map(|name| self.text(&name).map(|value| (name, value))).collect()
    }

    /// `true` or `false`.
    pub(super) fn flag(&mut self, name: &str, default: bool) -> bool {
        let Some(text) = self.text(name) else { return default };
        value::boolean(&text).unwrap_or_else(|| {
            self.refuse(name, &Rule::new("true or false"));
            default
        })
    }

    /// How many items of a list are wanted.
    pub(super) fn limit(&mut self) -> u32 {
        let Some(text) = self.text("limit") else { return PAGE_ITEMS_DEFAULT };
        value::integer(&text, 1, PAGE_ITEMS_MAX).unwrap_or_else(|| {
            self.refuse("limit", &value::integer_rule(1, PAGE_ITEMS_MAX));
            PAGE_ITEMS_DEFAULT
        })
    }

    /// A place in a stream: an entry's id, or an instant, which is the place of number `seq` in its
    /// millisecond.
    pub(super) fn place(&mut self, name: &str, seq: u64) -> Option<Place> {
        let text = self.text(name)?;
        let of_id = text.parse::<EntryId>().ok().map(|id| Place { ms: id.ms, seq: id.seq });
        // No entry is older than 1970.
        let of_time = |at: Timestamp| match u64::try_from(at.as_ms()) {
            Ok(ms) => Place { ms, seq },
            Err(_) => Place::default(),
        };
        let place = of_id.or_else(|| Timestamp::parse(&text).ok().map(of_time));
        if place.is_none() {
            self.refuse(name, &Rule::new("an entry's id, like 1764426154123-0, or an RFC 3339 time"));
        }
        place
    }

    /// Where a list goes on. A cursor is bound to `filter`: with another one it is refused.
    pub(super) fn cursor(&mut self, filter: &[u8]) -> Option<Cursor> {
        let text = self.text("cursor")?;
        let cursor = (text.len() <= CURSOR_BYTES_MAX).then(|| read_cursor(&text, filter)).flatten();
        self.bad_cursor |= cursor.is_none();
        cursor
    }

    /// Notes that a cursor is not one of this list, although it is one of some list.
    pub(super) fn bad_cursor(&mut self) {
        self.bad_cursor = true;
    }

    /// Notes that what is asked for is no filter.
    pub(super) fn bad_filter(&mut self, why: String) {
        self.bad_filter.get_or_insert(why);
    }

    /// Notes that a parameter breaks a rule.
    pub(super) fn refuse(&self, name: &str, rule: &Rule) {
        self.faults.invalid(rule.broken_at(name.to_owned()));
    }

    /// Notes that a parameter is needed.
    pub(super) fn require(&self, name: &str, rule: &Rule) {
        self.faults.invalid(rule.missing_at(name.to_owned()));
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// 40002, 40001, 40006 and 40005, the first that applies.
    pub(super) fn end(self) -> Result<(), Failure> {
        self.pairs.iter().for_each(|(name, _)| self.faults.unknown(echo(name)));
        self.faults.verdict()?;
        if let Some(why) = self.bad_filter {
            return Err(Failure::new(ErrorCode::InvalidFilter, why));
        }
        if self.bad_cursor {
            return Err(Failure::new(ErrorCode::InvalidCursor, "not a cursor that this list gave out"));
        }
        Ok(())
    }
}

/// The text of `cursor` in a list with this filter: a check of the filter, then the engine's key.
pub(super) fn write_cursor(cursor: &Cursor, filter: &[u8]) -> String {
    let bytes = filter_check(filter).into_iter().chain(cursor.0.iter().copied());
    bytes.fold(String::new(), |mut text, byte| {
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from(b"0123456789abcdef"[usize::from(digit)]));
        }
        text
    })
}

pub(super) fn read_cursor(text: &str, filter: &[u8]) -> Option<Cursor> {
    let digits: Cow<'_, [u8]> = Cow::Borrowed(text.as_bytes());
    if !digits.len().is_multiple_of(2) || digits.iter().any(|digit| !b"0123456789abcdef".contains(digit)) {
        return None;
    }
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes: Vec<u8> = digits.chunks(2).map(byte).collect::<Option<_>>()?;
    let (check, key) = bytes.split_at_checked(CHECK_BYTES)?;
    (check == filter_check(filter)).then(|| Cursor(key.to_vec()))
}

const CHECK_BYTES: usize = 4;

/// Tells cursors of one list from those of another; it protects nothing.
fn filter_check(filter: &[u8]) -> [u8; CHECK_BYTES] {
    // FNV-1a: any spread will do.
    let hash =
        filter.iter().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
    hash.to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_decoded() {
        let all: Vec<_> = pairs("a=1&&b=%2Fx+y&c&d=%zz&e=%ff").collect();
        let expected = [("a", "1"), ("b", "/x y"), ("c", ""), ("d", "%zz"), ("e", "\u{fffd}")];
        let all = all.into_iter().map(|(name, value)| (name, String::from_utf8_lossy(&value).into_owned()));
        assert_eq!(
            all.collect::<Vec<_>>(),
            expected.map(|(name, value)| (name.to_owned(), value.to_owned()))
        );
    }

    #[test]
    fn a_cursor_belongs_to_its_filter() {
        let cursor = Cursor(vec![0, 255, 7]);
        let text = write_cursor(&cursor, b"mail");
        assert_eq!(read_cursor(&text, b"mail"), Some(cursor));
        assert_eq!(read_cursor(&text, b"male"), None);
        for bad in ["", "zz", "0", "00", &text[1..], "é0"] {
            assert_eq!(read_cursor(bad, b"mail"), None, "{bad}");
        }
    }

    #[test]
    fn faults_come_in_the_order_of_the_contract() {
        let code = |text: &str| {
            let mut query = Query::new(Some(text));
            query.limit();
            query.cursor(b"");
            query.flag("force", false);
            query.end().map_err(|failure| failure.code.code())
        };
        assert_eq!(code("limit=500&force=true"), Ok(()));
        assert_eq!(code("limit=501"), Err(40_001));
        assert_eq!(code("limit=1&limit=2"), Err(40_001));
        assert_eq!(code("force=yes"), Err(40_001));
        assert_eq!(code("cursor=x"), Err(40_005));
        assert_eq!(code("cursor=x&limit=0"), Err(40_001));
        assert_eq!(code("cursor=x&limit=0&more=1"), Err(40_002));
    }
}
