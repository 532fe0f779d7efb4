//! The arguments that XREAD and XREADGROUP have alike.
//!
//! Lives here: options up to STREAMS, keys and ids. Not here: what the ids mean (`xread.rs`, `xreadgroup.rs`).

use std::time::Duration;

use bytes::Bytes;
use naven_api::limits::{REDIS_READ_BYTES_MAX, REDIS_REPLY_BYTES_MAX};

use super::number::{bound, whole_or};
use super::words;
use crate::redis::frame::Reply;
use crate::redis::plan::BlockFor;

/// Longest wait, in ms: past it Redis' own clock would end.
const BLOCK_MS_MAX: i64 = i64::MAX / 2;

/// What is for ever, in ms: thirty years and more.
const EVER_MS: u64 = 1_000_000_000_000;

/// Which of the two is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
    Anybody,
    Group,
}

/// What was read of the arguments.
#[derive(Debug, Default)]
pub(super) struct ReadOptions {
    pub(super) count: Option<u64>,
    pub(super) patience: Option<BlockFor>,
    pub(super) group: Option<(Bytes, Bytes)>,
    pub(super) no_ack: bool,
    pub(super) idle_ms: Option<u64>,
    /// Each key with its id.
    pub(super) streams: Vec<(Bytes, Bytes)>,
}

impl ReadOptions {
    /// Reads them all.
    pub(super) fn parse(arguments: &[Bytes], reader: Reader) -> Result<Self, Reply> {
        let mut options = Self::default();
        let mut rest = arguments;
        while let [option, behind @ ..] = rest {
            if option.eq_ignore_ascii_case(b"STREAMS") && !behind.is_empty() {
                options.streams = streams(behind, reader)?;
                break;
            }
            let taken = options.take(option, behind, reader)?;
            rest = behind.get(taken..).unwrap_or_default();
        }
        if options.streams.is_empty() {
            return Err(words::syntax());
        }
        if reader == Reader::Group && options.group.is_none() {
            return Err(Reply::error("ERR Missing GROUP option for XREADGROUP"));
        }
        Ok(options)
    }

    /// Reads one option, and says how many of the arguments behind it are its own.
    fn take(&mut self, option: &[u8], behind: &[Bytes], reader: Reader) -> Result<usize, Reply> {
        let is = |word: &str| option.eq_ignore_ascii_case(word.as_bytes());
        match behind {
            [value, ..] if is("BLOCK") => {
                self.patience = Some(patience(value)?);
                Ok(1)
            }
            [value, ..] if is("COUNT") => {
                self.count = bound(value)?;
                Ok(1)
            }
            [value, ..] if is("CLAIM") && reader == Reader::Group => {
                let words = "ERR Invalid min-idle-time argument for XREADGROUP";
                let idle_ms = u64::try_from(whole_or(value, words)?);
                self.idle_ms = Some(idle_ms.map_err(|_| Reply::error(words))?);
                Ok(1)
            }
            [group, consumer, ..] if is("GROUP") => {
                self.group = Some((group.clone(), consumer.clone()));
                if reader == Reader::Group { Ok(2) } else { Err(of_groups_alone("GROUP")) }
            }
            _ if is("NOACK") => {
                self.no_ack = true;
                if reader == Reader::Group { Ok(0) } else { Err(of_groups_alone("NOACK")) }
            }
            _ => Err(words::syntax()),
        }
    }

    /// Most bytes of content of each stream: all of them together fit into a reply.
    pub(super) fn max_bytes(&self) -> u64 {
        let each = REDIS_REPLY_BYTES_MAX / (self.streams.len() as u64).max(1);
        each.clamp(1, REDIS_READ_BYTES_MAX)
    }
}

fn of_groups_alone(option: &str) -> Reply {
    Reply::error(format!(
        "ERR The {option} option is only supported by XREADGROUP. You called XREAD instead."
    ))
}

fn patience(text: &[u8]) -> Result<BlockFor, Reply> {
    let ms = whole_or(text, "ERR timeout is not an integer or out of range")?;
    if ms > BLOCK_MS_MAX {
        return Err(Reply::error("ERR timeout is out of range"));
    }
    match u64::try_from(ms) {
        Err(_) => Err(Reply::error("ERR timeout is negative")),
        Ok(0) => Ok(BlockFor::Ever),
        Ok(ms) if ms > EVER_MS => Ok(BlockFor::Ever),
        Ok(ms) => Ok(BlockFor::Time(Duration::from_millis(ms))),
    }
}

fn streams(arguments: &[Bytes], reader: Reader) -> Result<Vec<(Bytes, Bytes)>, Reply> {
    if !arguments.len().is_multiple_of(2) {
        return Err(Reply::error(match reader {
            Reader::Anybody => {
                "ERR Unbalanced 'xread' list of streams: for each stream key an ID or '$' must be specified."
            }
            Reader::Group => {
                "ERR Unbalanced 'xreadgroup' list of streams: for each stream key an ID or '>' must be specified."
            }
        }));
    }
    let (keys, ids) = arguments.split_at(arguments.len() / 2);
    Ok(keys.iter().cloned().zip(ids.iter().cloned()).collect())
}
