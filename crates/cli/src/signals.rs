//! The operator's wish to stop: SIGTERM and SIGINT.
//!
//! Lives here: the first one as a future, the second one as the end. Not here: stopping gracefully
//! (`serve.rs`).

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Both signals, from the moment this exists.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Begins to listen: from here on neither signal ends the process by itself.
    ///
    /// # Errors
    /// What the system says where it cannot.
    pub(crate) fn listen() -> std::io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// The next signal. Cancel safe.
    pub(crate) async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}
