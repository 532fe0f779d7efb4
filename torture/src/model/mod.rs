//! A small model that is explored to its last state: a few consumers, a few events, one server.
//!
//! The server is the rules of `naven-core` themselves, over a log that a crash cuts at its last sync.
//! Consumers claim, beat, ack and nack; answers are lost, packets are doubled and come late; a claim is
//! given back, a reader without a token acks; time goes by in ticks of a second. Beside each row stands what ought to be so, kept by rules as plain as can be,
//! and beside the server what consumers were told. Where these part, a promise is broken.
//!
//! What is alike is one state: consumers have no names, and events none either.

mod action;
mod alike;
mod explore;
mod mark;
mod row;
mod sight;
mod state;
mod world;

pub use explore::{Explored, Size};
pub use sight::Sight;

#[cfg(test)]
mod tests;
