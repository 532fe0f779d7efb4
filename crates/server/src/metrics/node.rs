//! The node and its engine.
//!
//! Lives here: their families. Not here: what is counted as it happens (`calls.rs`, `doors.rs`).

use naven_store::Durability;
use naven_store::read::SystemView;

use super::page::{Kind, Page};
use crate::node::Node;

/// Adds what `node` knows of itself.
pub(super) fn tell(node: &Node, page: &mut Page) {
    let build = [([("version", env!("CARGO_PKG_VERSION"))], 1.0)];
    page.each(Kind::Gauge, "naven_build_info", "1, with the version of the server", build);
    let (started, now) = (node.started_at.as_ms(), node.clock.wall().as_ms());
    let waiters = node.waits.counts();
    let ready = !node.is_draining() && !node.has_failed();
    for (name, help, value) in [
        (
            "process_start_time_seconds",
            "When the server was started, in seconds since 1970",
            seconds(started),
        ),
        ("naven_uptime_seconds", "For how long the server has been up", seconds((now - started).max(0))),
        ("naven_ready", "1 while calls are served, as /readyz says, else 0", truth(ready)),
        ("naven_waiting_claims", "Claims that wait for an event", waiters.claims as f64),
        ("naven_waited_queues", "Queues on which claims wait", waiters.queues as f64),
        ("naven_tails_open", "Tails of queues that are open", node.watch.tails.open() as f64),
    ] {
        page.one(Kind::Gauge, name, help, value);
    }
    let help =
        "How often the server was too busy to hear of every change: the sums of queues are too low then";
    page.one(Kind::Counter, "naven_changes_missed_total", help, node.watch.recorder().gaps() as f64);
}

/// Adds what is known of the engine: no figures where it did not give them.
pub(super) fn tell_engine(node: &Node, system: Option<SystemView>, page: &mut Page) {
    let caps = node.engine.caps();
    let durability = match caps.durability {
        Durability::Synced => "synced",
        Durability::Memory => "memory",
    };
    let info = [([("engine", caps.name), ("durability", durability)], 1.0)];
    page.each(
        Kind::Gauge,
        "naven_engine_info",
        "1, with the engine, and whether an answered write is on disk (synced) or not (memory)",
        info,
    );
    let is_up = system.is_some() && !node.has_failed();
    let help = "1 while the engine takes work, 0 once it has failed: queues and streams are not listed then";
    page.one(Kind::Gauge, "naven_engine_up", help, truth(is_up));
    if let Some(system) = system {
        let help = "Bytes that the engine's files take";
        page.one(Kind::Gauge, "naven_engine_disk_bytes", help, system.disk_bytes as f64);
        let help = "Bytes of a torn tail that were cut at the last start: they were never answered";
        page.one(Kind::Gauge, "naven_engine_cut_bytes", help, system.cut_bytes as f64);
    }
}

fn seconds(ms: i64) -> f64 {
    ms as f64 / 1_000.0
}

fn truth(is_so: bool) -> f64 {
    f64::from(u8::from(is_so))
}
