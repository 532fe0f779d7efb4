//! The Redis door: it reads and writes Redis' words, and has no handlers for its commands yet.
#![cfg_attr(
    not(test),
    expect(
        dead_code,
        unused_imports,
        reason = "the codec and the command table wait for the door that uses them"
    )
)]

mod command;
mod commands;
mod frame;
mod here;
mod placeholder;
mod plan;
mod refusal;

pub(crate) use placeholder::refuse_all;
