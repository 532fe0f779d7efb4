//! A soak: the shipped binary over real sockets for hours, under a load that it has room for and with faults.
//!
//! The load comes by a schedule, whatever the server does, at a share of the rate that was measured first. It lives in
//! generations: queues and streams of their own, which are emptied after a few minutes, looked at and deleted. Then all
//! that clients saw of them is judged by [`crate::checker`] and forgotten, so that a soak of hours needs the memory of
//! two generations. What Redis clients saw is judged by rules of its own (`readings.rs`).
//!
//! Restarts, by kill -9 and by SIGTERM in turn, befall the first half; memory and disk are judged in the second half,
//! in which one process lives. The last kill comes when the load ends, before the last generation is emptied.

mod actor;
mod book;
mod clock;
mod closing;
mod fault;
mod finish;
mod generation;
mod http;
mod ledger;
mod measure;
mod plan;
mod publisher;
mod rate;
mod reader;
mod readings;
mod run;
mod scene;
mod schedule;
mod server;
mod told;
mod trend;
mod verdict;
mod wire;
mod worker;

pub use plan::Plan;
pub use run::run;
pub use verdict::Verdict;
