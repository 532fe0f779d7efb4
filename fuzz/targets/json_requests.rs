//! Fuzz target: bodies of HTTP requests.
//!
//! Lives here: the way from the fuzzer to the laws, and the most memory that an input may ask for at once.
//! Not here: the laws and what an input stands for
//! (`crates/api/src/laws`).

#![cfg_attr(fuzzing, no_main)]

mod entry;

entry::entry!(1 << 20, |input| naven_api::laws::check(input));
