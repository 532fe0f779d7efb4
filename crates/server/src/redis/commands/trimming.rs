//! What XADD and XTRIM drop, as it stands among their arguments.
//!
//! Lives here: MAXLEN, MINID, LIMIT and what becomes of references. Not here: the rest of XADD (`xadd.rs`).

use bytes::Bytes;
use naven_store::txn::{Keep, References, Trimming};

use super::number::whole;
use super::{ids, words};
use crate::redis::frame::Reply;

/// Redis keeps so many entries of a stream together (`stream-node-max-entries`, as it comes): a trim with `~` drops
/// whole groups of them.
pub(super) const NODE_ENTRIES: u64 = 100;

/// What a trim with `~` drops at most where it says no LIMIT, as in Redis.
const ABOUT_ENTRIES_MAX: u64 = 10_000;

/// The options on trimming that were read so far.
#[derive(Debug, Default)]
pub(super) struct TrimmingRead {
    keep: Option<Keep>,
    is_about: bool,
    limit: Option<u64>,
    references: Option<References>,
}

impl TrimmingRead {
    /// Reads the option that `arguments` begin with, and says how many arguments it took; 0: it is none of
    /// trimming.
    pub(super) fn take(&mut self, arguments: &[Bytes]) -> Result<usize, Reply> {
        let [option, rest @ ..] = arguments else { return Ok(0) };
        if let Some(references) = references(option) {
            let is_second = self.references.replace(references).is_some();
            return if is_second { Err(words::syntax()) } else { Ok(1) };
        }
        let Some(next) = rest.first() else { return Ok(0) };
        if option.eq_ignore_ascii_case(b"LIMIT") {
            let limit = u64::try_from(whole(next)?);
            self.limit = Some(limit.map_err(|_| Reply::error("ERR The LIMIT argument must be >= 0."))?);
            return Ok(2);
        }
        let is_length = option.eq_ignore_ascii_case(b"MAXLEN");
        if !is_length && !option.eq_ignore_ascii_case(b"MINID") {
            return Ok(0);
        }
        if self.keep.is_some() {
            return Err(Reply::error(
                "ERR syntax error, MAXLEN and MINID options at the same time are not compatible",
            ));
        }
        let (mark, threshold, taken) = match rest {
            [mark, threshold, ..] if matches!(&mark[..], b"~" | b"=") => (&mark[..], threshold, 3),
            _ => (&b"="[..], next, 2),
        };
        self.is_about = mark == b"~";
        self.keep = Some(if is_length {
            let length = u64::try_from(whole(threshold)?);
            Keep::Newest(length.map_err(|_| Reply::error("ERR The MAXLEN argument must be >= 0."))?)
        } else {
            Keep::From(ids::place(threshold)?)
        });
        Ok(taken)
    }

    /// What was asked for in all; none where nothing was. XTRIM has to ask for something.
    pub(super) fn done(self, is_needed: bool) -> Result<Option<Trimming>, Reply> {
        if self.keep.is_none() {
            if self.limit.is_some_and(|limit| limit > 0) {
                return Err(Reply::error(
                    "ERR syntax error, LIMIT cannot be used without specifying a trimming strategy",
                ));
            }
            if is_needed {
                return Err(Reply::error("ERR syntax error, XTRIM must be called with a trimming strategy"));
            }
        }
        if self.limit.is_some() && !self.is_about {
            return Err(Reply::error("ERR syntax error, LIMIT cannot be used without the special ~ option"));
        }
        let limit = match self.limit {
            Some(limit) => Some(limit).filter(|limit| *limit > 0),
            None => self.is_about.then_some(ABOUT_ENTRIES_MAX),
        };
        let step = if self.is_about { NODE_ENTRIES } else { 1 };
        let references = self.references.unwrap_or(References::Keep);
        Ok(self.keep.map(|keep| Trimming { keep, step, limit, references }))
    }
}

/// What becomes of queues' dealing, in Redis' word.
pub(super) fn references(word: &[u8]) -> Option<References> {
    [("KEEPREF", References::Keep), ("DELREF", References::Drop), ("ACKED", References::Acked)]
        .into_iter()
        .find_map(|(known, references)| word.eq_ignore_ascii_case(known.as_bytes()).then_some(references))
}
