//! What tries to break Naven Events: histories of calls and the checker that judges them, and small
//! models that are explored to the last state.
//!
//! Not shipped. Each way of producing a history (a simulation, a run against a real server) writes it
//! as [`history`] has it, and [`checker`] alone says what is wrong with it.

pub mod checker;
pub mod history;
pub mod model;
pub mod node;
pub mod simulation;
pub mod soak;
