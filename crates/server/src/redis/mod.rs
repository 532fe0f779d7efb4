//! The Redis door: it reads and writes Redis' words, and is not built further yet.
#![cfg_attr(
    not(test),
    expect(dead_code, unused_imports, reason = "the codec waits for the door that uses it")
)]

mod frame;
mod placeholder;

pub(crate) use placeholder::refuse_all;
