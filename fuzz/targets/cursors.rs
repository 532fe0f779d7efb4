//! Fuzz target: where lists and tails are told to go on.
//!
//! Lives here: the way from the fuzzer to the laws, and the most memory that an input may ask for at once.
//! Not here: the laws and what an input stands for
//! (`crates/server/src/http/laws/cursors.rs`, `crates/store/src/embedded/laws/cursors.rs`).

#![cfg_attr(fuzzing, no_main)]

mod entry;

entry::entry!(8 << 20, |input| {
    naven_server::laws::cursors(input);
    naven_store::embedded::laws::cursors(input);
});
