//! Fuzz target: lease tokens, keys, ids and names.
//!
//! Lives here: the way from the fuzzer to the laws, and the most memory that an input may ask for at once.
//! Not here: the laws and what an input stands for
//! (`crates/store/src/token/laws.rs`, `crates/server/src/laws/keys.rs`).

#![cfg_attr(fuzzing, no_main)]

mod entry;

entry::entry!(1 << 20, |input| {
    naven_server::laws::keys(input);
    naven_store::token::laws::check(input);
});
