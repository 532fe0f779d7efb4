//! The runtime over a server in memory, by a clock that the tests move.

mod bench;
mod draining;
mod flow;
mod leases;
mod server;
mod settling;
