//! The ledger's steps in Redis.
//!
//! Lives here: the scripts, their words and their answers. Not here: effects that are commands (`commands.rs`).

use std::fmt;
use std::time::Duration;

use redis::aio::ConnectionLike;
use redis::{Cmd, cmd};

use crate::ledger::effect::Effect;
use crate::ledger::rule::{Abandoned, Begun, Finished, OnDoubt};
use crate::ledger::store::{Store, StoreError};

/// How long an event's records are kept from its last effect on, unless said otherwise: 45 days. A dead letter can be
/// redriven for 14 days, unless its queue says otherwise, and has all its attempts then.
pub const KEEP_DEFAULT: Duration = Duration::from_secs(45 * 86_400);
/// Longest time that may be asked for: ten years of 365 days.
pub const KEEP_MAX: Duration = Duration::from_secs(315_360_000);

pub(super) const BEGIN: &str = include_str!("begin.lua");
const BEGIN_ALONE: &str = concat!(include_str!("begin.lua"), include_str!("begin_alone.lua"));
const FINISH: &str = include_str!("finish.lua");
const ABANDON: &str = include_str!("abandon.lua");

/// Records in a Redis, over a connection that can be cloned: a multiplexed one, one that connects again by itself
/// (`ConnectionManager`), or one to a cluster.
#[derive(Clone)]
pub struct Redis<C> {
    connection: C,
    prefix: String,
    keep: Option<Duration>,
}

/// A time to keep records that is outside of 1 s to [`KEEP_MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("records are kept for 1 s to 10 years, and this is {0:?}")]
pub struct BadKeep(Duration);

impl<C> Redis<C> {
    /// Records under keys that begin with `prefix`. Each server of events has its own.
    pub fn new(connection: C, prefix: impl Into<String>) -> Self {
        Self { connection, prefix: prefix.into(), keep: Some(KEEP_DEFAULT) }
    }

    /// Keeps what is known of an event for so long from its last effect on: whole seconds, a part of one counts as one.
    ///
    /// # Errors
    /// Where it is not 1 s to [`KEEP_MAX`].
    pub fn keep_for(self, keep: Duration) -> Result<Self, BadKeep> {
        if keep.is_zero() || keep > KEEP_MAX {
            Err(BadKeep(keep))
        } else {
            Ok(Self { keep: Some(keep), ..self })
        }
    }

    /// Keeps records until somebody deletes them.
    #[must_use]
    pub fn keep_for_ever(self) -> Self {
        Self { keep: None, ..self }
    }

    /// The key of what is known of an event. On a cluster, what [`once_in`](crate::ledger::Lease::once_in) writes has to
    /// carry the same hash tag, `{<queue>/<event id>}`.
    pub fn key(&self, queue: &str, event: impl fmt::Display) -> String {
        format!("{}:{{{queue}/{event}}}", self.prefix)
    }

    /// `script`, with the words that all scripts begin with.
    pub(super) fn script(&self, script: &str, effect: &Effect) -> Cmd {
        let mut command = cmd("EVAL");
        command.arg(script).arg(1).arg(self.key(effect.queue(), effect.event()));
        // As text of one length, numbers compare as texts: Lua's own would be exact up to 2^53 only.
        command.arg(format!("{:020}", effect.fence())).arg(effect.bearer().as_str()).arg(effect.name());
        command
    }

    /// How long to keep the event's records, as the scripts read it.
    pub(super) fn seconds(&self) -> u64 {
        self.keep.map_or(0, |keep| keep.as_secs().saturating_add(u64::from(keep.subsec_nanos() > 0)))
    }
}

impl<C: ConnectionLike + Clone + Send + Sync + 'static> Redis<C> {
    pub(super) async fn ask(&self, command: &Cmd) -> Result<Vec<Vec<u8>>, StoreError> {
        command.query_async(&mut self.connection.clone()).await.map_err(StoreError::new)
    }
}

impl<C: ConnectionLike + Clone + Send + Sync + 'static> Store for Redis<C> {
    async fn begin(&self, effect: &Effect, doubt: OnDoubt) -> Result<Begun, StoreError> {
        let mut script = self.script(BEGIN_ALONE, effect);
        let word = match doubt {
            OnDoubt::Leave => "leave",
            OnDoubt::RunAgain => "again",
            OnDoubt::Denied => "denied",
        };
        script.arg(word).arg(self.seconds());
        let answer = self.ask(&script).await?;
        begun(&answer).ok_or_else(|| strange(&answer))
    }

    async fn finish(&self, effect: &Effect, result: &[u8]) -> Result<Finished, StoreError> {
        let mut script = self.script(FINISH, effect);
        script.arg(result).arg(self.seconds());
        let answer = self.ask(&script).await?;
        match words(&answer).as_slice() {
            ["recorded"] => Ok(Finished::Recorded),
            ["taken"] => Ok(Finished::Taken),
            ["stale", seen] => {
                seen.parse().map(|seen| Finished::Stale { seen }).map_err(|_| strange(&answer))
            }
            _ => Err(strange(&answer)),
        }
    }

    async fn abandon(&self, effect: &Effect) -> Result<Abandoned, StoreError> {
        let mut script = self.script(ABANDON, effect);
        script.arg(self.seconds());
        let answer = self.ask(&script).await?;
        match words(&answer).as_slice() {
            ["undone"] => Ok(Abandoned::Undone),
            ["kept"] => Ok(Abandoned::Kept),
            _ => Err(strange(&answer)),
        }
    }
}

impl<C> fmt::Debug for Redis<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redis")
            .field("prefix", &self.prefix)
            .field("keep", &self.keep)
            .finish_non_exhaustive()
    }
}

/// What `begin.lua` answered; none where it is no answer of it.
pub(super) fn begun(answer: &[Vec<u8>]) -> Option<Begun> {
    if let [word, result] = answer
        && word == b"done"
    {
        return Some(Begun::Done(result.clone()));
    }
    match words(answer).as_slice() {
        ["now"] => Some(Begun::Now),
        ["running"] => Some(Begun::Running),
        ["doubt", fence, state @ ("B" | "U")] => {
            let fence = fence.parse().ok()?;
            Some(Begun::InDoubt { fence, is_doubtful: *state == "U" })
        }
        ["stale", seen] => seen.parse().ok().map(|seen| Begun::Stale { seen }),
        _ => None,
    }
}

/// The answer as texts; what is none becomes an empty one.
pub(super) fn words(answer: &[Vec<u8>]) -> Vec<&str> {
    answer.iter().map(|word| std::str::from_utf8(word).unwrap_or_default()).collect()
}

pub(super) fn strange(answer: &[Vec<u8>]) -> StoreError {
    StoreError::new(format!("the ledger's script answered {:?}", words(answer)))
}
