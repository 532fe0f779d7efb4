//! How large a command of the Redis door may be.
//!
//! Lives here: the bounds of one connection, before and after it has shown a key. Not here: the numbers
//! (`naven_api::limits`), and what happens past a bound (`decode.rs`).

use naven_api::limits;

/// Whether a connection has shown a key. It decides the words of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    BeforeAuth,
    AfterAuth,
}

/// What one command may measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) stage: Stage,
    /// Most arguments, the command's name included.
    pub(crate) arguments: usize,
    /// Longest argument, in bytes.
    pub(crate) argument_bytes: usize,
    /// Largest command, in bytes of the wire: lengths and line ends count.
    pub(crate) command_bytes: usize,
    /// Longest typed line, in bytes without its line feed. At most `argument_bytes` and `command_bytes`, for
    /// a line is held to this bound alone.
    pub(crate) inline_bytes: usize,
}

impl Bounds {
    /// Those of a connection that has shown no key yet: room for AUTH and HELLO, and for little else.
    pub(crate) const BEFORE_AUTH: Self = Self {
        stage: Stage::BeforeAuth,
        arguments: limits::REDIS_ARGUMENTS_BEFORE_AUTH_MAX,
        argument_bytes: limits::REDIS_ARGUMENT_BYTES_BEFORE_AUTH_MAX,
        command_bytes: limits::REDIS_COMMAND_BYTES_BEFORE_AUTH_MAX,
        inline_bytes: limits::REDIS_ARGUMENT_BYTES_BEFORE_AUTH_MAX,
    };

    /// Those of a connection with a key.
    pub(crate) const AFTER_AUTH: Self = Self {
        stage: Stage::AfterAuth,
        arguments: limits::REDIS_ARGUMENTS_MAX,
        argument_bytes: limits::REDIS_ARGUMENT_BYTES_MAX,
        command_bytes: limits::REDIS_COMMAND_BYTES_MAX,
        inline_bytes: limits::REDIS_INLINE_BYTES_MAX,
    };
}
