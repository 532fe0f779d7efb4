//! Fuzz target: bytes of a Redis client, against the laws of the codec.
//!
//! Lives here: the way from the fuzzer to the laws, and the most memory that an input may ask for at once.
//! Not here: the laws and what an input stands for
//! (`crates/server/src/redis/frame/laws`).

#![cfg_attr(fuzzing, no_main)]

mod entry;

entry::entry!(1 << 20, |input| naven_server::laws::resp(input));
