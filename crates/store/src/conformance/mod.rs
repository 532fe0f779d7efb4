//! The suite that every engine passes, and random scripts played to two engines at once.
//!
//! [`conformance!`](crate::conformance!) makes one test of each case, for the engine that a factory
//! makes. [`play`] plays seeded scripts to an engine and to the model, whose answers are right by
//! definition. Not here: what only one engine promises (disks, crashes, locks).

pub mod bench;
pub mod clock;
pub mod random;
mod records;
mod suite;
mod suite_of_streams;

// A case's name is the sentence that would document it.
#[allow(missing_docs)]
pub mod all_or_nothing;
#[allow(missing_docs)]
pub mod auditing;
#[allow(missing_docs)]
pub mod clock_steps;
#[allow(missing_docs)]
pub mod consumers;
#[allow(missing_docs)]
pub mod counts;
#[allow(missing_docs)]
pub mod crowding;
#[allow(missing_docs)]
pub mod dead_letters;
#[allow(missing_docs)]
pub mod deletion;
#[allow(missing_docs)]
pub mod entries;
#[allow(missing_docs)]
pub mod event_lists;
#[allow(missing_docs)]
pub mod expiring;
#[allow(missing_docs)]
pub mod facts;
#[allow(missing_docs)]
pub mod fan_out;
#[allow(missing_docs)]
pub mod feed;
#[allow(missing_docs)]
pub mod give_back;
#[allow(missing_docs)]
pub mod groups;
#[allow(missing_docs)]
pub mod hints;
#[allow(missing_docs)]
pub mod hold_ends;
#[allow(missing_docs)]
pub mod keeping;
#[allow(missing_docs)]
pub mod leases;
#[allow(missing_docs)]
pub mod moving;
#[allow(missing_docs)]
pub mod operations;
#[allow(missing_docs)]
pub mod order;
#[allow(missing_docs)]
pub mod pausing;
#[allow(missing_docs)]
pub mod purging;
#[allow(missing_docs)]
pub mod readers;
#[allow(missing_docs)]
pub mod reading;
#[allow(missing_docs)]
pub mod references;
#[allow(missing_docs)]
pub mod repeating;
#[allow(missing_docs)]
pub mod rescheduling;
#[allow(missing_docs)]
pub mod retries;
#[allow(missing_docs)]
pub mod scheduling;
#[allow(missing_docs)]
pub mod settling;
#[allow(missing_docs)]
pub mod sizes;
#[allow(missing_docs)]
pub mod starting;
#[allow(missing_docs)]
pub mod telling;
#[allow(missing_docs)]
pub mod tokens;
#[allow(missing_docs)]
pub mod trimming;

mod both_doors;
mod compare;
pub mod dead_asks;
mod draw;
pub mod entry_asks;
pub mod event_looks;
pub mod group_asks;
mod known;
pub mod play;
pub mod reader_asks;
pub mod script;
pub mod streams;
pub mod tally;

pub use bench::{Bench, Fresh};
pub use clock::ManualClock;
pub use random::SeededRandom;
