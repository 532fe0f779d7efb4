//! `naven import` against a real Redis.
//!
//! Lives here: nothing but the list of its parts. The source is `redis-server`, which has to be installed. The
//! target is the Redis door of `naven serve`, and in two tests another `redis-server`.

#[path = "../support/mod.rs"]
mod support;

mod again;
mod counted;
mod refused;
mod scene;
mod servers;
mod whole;
