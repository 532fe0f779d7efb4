//! Fuzz target: a data folder of which the files were changed.
//!
//! Lives here: the way from the fuzzer to the laws, and the most memory that an input may ask for at once.
//! Not here: the laws and what an input stands for
//! (`crates/store/src/embedded/laws`).

#![cfg_attr(fuzzing, no_main)]

mod entry;

entry::entry!(32 << 20, |input| naven_store::embedded::laws::folder(input));
