//! Worlds in which everything that goes wrong is decided by a seed.
//!
//! A world is the embedded engine on a disk that loses what was not synced, and a handful of consumers, publishers and
//! operators behind a network that loses, delays, doubles and reorders. Time is virtual; the engine's parts take their
//! turns when the world says so ([`naven_store::embedded::stepped`]). Processes are killed in the middle of a turn, the
//! power fails between any two writes, disks fill up and fail, wall clocks step. Then all is well again, and
//! everything that was published has to be finished. What clients saw is judged by [`crate::checker`], the disk by
//! `verify`. The same seed lives the same world each time.

mod dice;
mod floor;
mod operator;
mod outcome;
mod plan;
mod publisher;
mod server;
mod words;
mod worker;
mod world;

pub(crate) use dice::Dice;
pub(crate) use outcome::panicked;
pub use outcome::{Outcome, simulate};
pub(crate) use server::{End, Server};
