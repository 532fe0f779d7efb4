//! `naven import` against a real Redis.
//!
//! Lives here: nothing but the list of its parts. The source is `redis-server`, which has to be installed; the
//! target is in one place (`scene.rs`).

#[path = "../support/mod.rs"]
mod support;

mod again;
mod counted;
mod refused;
mod scene;
mod servers;
mod whole;
