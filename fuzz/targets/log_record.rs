//! Fuzz target: what the log holds, batch by batch.
//!
//! Lives here: the way from the fuzzer to the laws, and the most memory that an input may ask for at once.
//! Not here: the laws and what an input stands for
//! (`crates/store/src/embedded/log/laws.rs`).

#![cfg_attr(fuzzing, no_main)]

mod entry;

entry::entry!(1 << 20, |input| naven_store::embedded::log::laws::check(input));
