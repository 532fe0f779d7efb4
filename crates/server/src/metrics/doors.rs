//! Connections, by the door that they came through.
//!
//! Lives here: counting them. Not here: accepting them (`net`, `redis`).

use prometheus::{IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry};

use super::page::registered;

/// The doors of a node. Each calls [`Door::enter`] for each connection that it serves.
pub(crate) struct Doors {
    pub(crate) http: Door,
    pub(crate) redis: Door,
}

/// One door.
pub(crate) struct Door {
    open: IntGauge,
    accepted: IntCounter,
}

/// A connection. Dropping it is its end.
pub(crate) struct Inside(IntGauge);

impl Doors {
    pub(super) fn new(registry: &Registry) -> Self {
        let open = Opts::new("naven_connections_open", "Open connections");
        let accepted = Opts::new("naven_connections_accepted_total", "Connections that were accepted");
        let open = registered(registry, IntGaugeVec::new(open, &["door"]));
        let accepted = registered(registry, IntCounterVec::new(accepted, &["door"]));
        let door = |name: &str| Door {
            open: open.with_label_values(&[name]),
            accepted: accepted.with_label_values(&[name]),
        };
        Self { http: door("http"), redis: door("redis") }
    }
}

impl Door {
    /// A connection came.
    pub(crate) fn enter(&self) -> Inside {
        self.accepted.inc();
        self.open.inc();
        Inside(self.open.clone())
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.dec();
    }
}
