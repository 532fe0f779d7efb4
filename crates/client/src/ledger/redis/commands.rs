//! Effects that are commands to the ledger's own Redis.
//!
//! Lives here: commands and record as one script. Not here: the ledger's other steps (`connected.rs`).

use redis::aio::ConnectionLike;
use redis::{Arg, Cmd, Pipeline};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::connected::{BEGIN, Redis, begun, strange, words};
use crate::ledger::error::{Doubt, OnceError};
use crate::ledger::lease::Lease;
use crate::ledger::rule::Begun;
use crate::ledger::turn::{decoded, encoded, step};

const ONCE_IN: &str = include_str!("once_in.lua");

/// Most commands of an effect.
pub const COMMANDS_MAX: usize = 1_000;
/// Most words of one command, its name included: Lua takes no more than some thousands.
pub const WORDS_MAX: usize = 1_000;
/// Most bytes of all its commands: Redis does nothing else meanwhile.
pub const COMMANDS_BYTES_MAX: usize = 1_048_576;

/// Commands that cannot be an effect. Nothing was run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotCommands {
    /// There are none, or more than [`COMMANDS_MAX`].
    #[error("an effect is 1 to {COMMANDS_MAX} commands, and these are {0}")]
    Count(usize),
    /// One has no words, or more than [`WORDS_MAX`].
    #[error("a command has 1 to {WORDS_MAX} words, and one of these has {0}")]
    Words(usize),
    /// They are more than [`COMMANDS_BYTES_MAX`].
    #[error("the commands of an effect are at most {COMMANDS_BYTES_MAX} bytes")]
    Bytes,
    /// One has a cursor in it, as of `SCAN`: only reads have.
    #[error("a command of an effect has no cursor")]
    Cursor,
    /// Redis refused a command.
    #[error("Redis refused command {at} (from 0): {why}")]
    Refused {
        /// Which one.
        at: usize,
        /// In the words of Redis.
        why: String,
    },
}

impl<C: ConnectionLike + Clone + Send + Sync + 'static> Lease<Redis<C>> {
    /// Sends `commands` unless an earlier attempt did, together with the record of it: **once**. Answers `result`, or what was
    /// the result at that earlier attempt.
    ///
    /// They run in one script, in their order; their answers are dropped, as are `atomic` and `ignore` of the pipeline. They
    /// should be such that Redis does not refuse them, as it undoes nothing: where one is refused (a key of another type, say),
    /// those before it stay done and the effect is in doubt; where it is the first one, nothing has happened. A script may not
    /// block, switch databases or open a transaction. On a cluster all keys carry the hash tag of [`Redis::key`]. Keys need
    /// not be declared, and are not.
    ///
    /// Cancel safety: dropped, or where no answer came, it was done wholly or not at all. The next call tells.
    ///
    /// # Errors
    /// See [`OnceError`]; [`OnceError::Failed`] with [`NotCommands`] where the commands are refused.
    pub async fn once_in<R>(&self, name: &str, commands: &Pipeline, result: &R) -> Result<R, OnceError>
    where
        R: Serialize + DeserializeOwned,
    {
        let effect = self.holder.effect(name)?;
        let undone = |why: NotCommands| OnceError::Failed { source: why.into(), in_doubt: false };
        let commands: Vec<&Cmd> = commands.cmd_iter().collect();
        check(&commands).map_err(undone)?;
        let kept = encoded(result).map_err(|why| OnceError::ResultUnfit { why })?;
        if self.holder.is_over() {
            return Err(OnceError::LeaseOver);
        }
        let running = self.holder.enter(name).ok_or(OnceError::Running)?;
        // From here on commands may have been done.
        running.start();
        let mut script = self.store.script(&[BEGIN, ONCE_IN].concat(), &effect);
        script.arg("leave").arg(self.store.seconds()).arg(&kept);
        for command in commands {
            script.arg(command.args_iter().len());
            for word in command.args_iter() {
                if let Arg::Simple(word) = word {
                    script.arg(word);
                }
            }
        }
        let answer = step(self.store.ask(&script)).await?;
        if let ["refused", at, why] = words(&answer).as_slice() {
            let at = at.parse().map_err(|_| strange(&answer))?;
            if at == 0 {
                running.undo();
            }
            let why = NotCommands::Refused { at, why: (*why).to_owned() };
            return Err(OnceError::Failed { source: why.into(), in_doubt: at > 0 });
        }
        let fence = effect.fence();
        match begun(&answer).ok_or_else(|| strange(&answer))? {
            Begun::Now => decoded(&kept),
            Begun::Done(result) => decoded(&result),
            Begun::Running => Err(OnceError::Running),
            Begun::InDoubt { fence: earlier_fence, .. } => {
                Err(OnceError::InDoubt(Doubt { key: effect.key(), earlier_fence, fence }))
            }
            Begun::Stale { seen } => Err(OnceError::Stale { fence, seen, ran: false }),
        }
    }
}

fn check(commands: &[&Cmd]) -> Result<(), NotCommands> {
    if !(1..=COMMANDS_MAX).contains(&commands.len()) {
        return Err(NotCommands::Count(commands.len()));
    }
    let mut bytes = 0_usize;
    for command in commands {
        let count = command.args_iter().len();
        if !(1..=WORDS_MAX).contains(&count) {
            return Err(NotCommands::Words(count));
        }
        for word in command.args_iter() {
            let Arg::Simple(word) = word else { return Err(NotCommands::Cursor) };
            bytes = bytes.saturating_add(word.len());
        }
    }
    if bytes > COMMANDS_BYTES_MAX { Err(NotCommands::Bytes) } else { Ok(()) }
}
