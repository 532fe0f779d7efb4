//! Fuzz target: queries of HTTP requests, and times.
//!
//! Lives here: the way from the fuzzer to the laws, and the most memory that an input may ask for at once.
//! Not here: the laws and what an input stands for
//! (`crates/server/src/http/laws/filters.rs`).

#![cfg_attr(fuzzing, no_main)]

mod entry;

entry::entry!(1 << 20, |input| naven_server::laws::filters(input));
