//! An engine without threads: whoever would wait for another part has it take its turn instead.
//!
//! Lives here: what runs in place of waiting. Not here: the parts and their turns (`stepped.rs`).

use std::sync::OnceLock;

/// Runs the parts that somebody waits for. Nothing in an engine with threads.
#[derive(Default)]
pub(crate) struct StandIn(OnceLock<Box<dyn Fn() + Send + Sync>>);

impl StandIn {
    /// From now on `turns` is called in place of waiting.
    #[cfg(feature = "conformance")]
    pub(crate) fn set(&self, turns: impl Fn() + Send + Sync + 'static) {
        assert!(self.0.set(Box::new(turns)).is_ok(), "an engine is stepped by one");
    }

    /// Lets the other parts take a turn. False where threads do that, and are to be waited for.
    pub(crate) fn take_turns(&self) -> bool {
        self.0.get().map(|turns| turns()).is_some()
    }
}

impl std::fmt::Debug for StandIn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.get().is_some() { "StandIn" } else { "NoStandIn" })
    }
}
