//! `naven smoke`: the guarantees, tried in a few seconds from outside.
//!
//! [`command`] runs the [`checks`], and those of the [`redis`] door, against a running server or against a
//! [`throwaway`] one, which can also be killed.

mod bench;
mod checks;
mod command;
mod door;
mod redis;
mod throwaway;

pub(crate) use command::{SmokeArgs, run};
