//! What operators ask of a running server: to stop (SIGTERM, SIGINT), to read its files again (SIGHUP).
//!
//! Lives here: the signals as futures. Not here: what is done then (`serve.rs`).

use tokio::signal::unix::{Signal, SignalKind, signal};

/// What a signal asks for.
pub(crate) enum Asked {
    /// To stop; the signal's name.
    Stop(&'static str),
    /// To read files again.
    Reload,
}

/// The signals, from the moment this exists.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    /// Begins to listen: from here on none of them ends the process by itself.
    ///
    /// # Errors
    /// What the system says where it cannot.
    pub(crate) fn listen() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// The next signal. Cancel safe.
    pub(crate) async fn next(&mut self) -> Asked {
        tokio::select! {
            _ = self.terminate.recv() => Asked::Stop("SIGTERM"),
            _ = self.interrupt.recv() => Asked::Stop("SIGINT"),
            _ = self.hang_up.recv() => Asked::Reload,
        }
    }

    /// The next signal, which stops whatever has no files to read again; its name. Cancel safe.
    pub(crate) async fn any(&mut self) -> &'static str {
        match self.next().await {
            Asked::Stop(name) => name,
            Asked::Reload => "SIGHUP",
        }
    }

    /// The next signal to stop; others are passed over. Cancel safe.
    pub(crate) async fn stop(&mut self) -> &'static str {
        loop {
            if let Asked::Stop(name) = self.next().await {
                return name;
            }
        }
    }
}
