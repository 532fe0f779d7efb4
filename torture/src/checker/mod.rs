//! What is wrong with a history.
//!
//! A history is cut into lives, one for each queue's dealing with each event. A life is a register that
//! is free, held, done, dead or gone, and each call is one step of it, taken at some instant between
//! the call's begin and its end. A life is right where one order of its steps explains every answer;
//! only where none does, a promise is broken. Where the search is given up, the life is undecided.
//!
//! What a call without an answer did is found out by trying. A claim without an answer may have taken
//! any event of its queue, so each of them explains one hold that nobody saw, of each event.
//!
//! Times are judged with both ends of each call's span: a lease is live where it may still be, and over
//! where it may already be, so that a network's delays are never taken for a fault. Holds of Redis
//! consumers, and dead letters that are moved to another queue, are not part of a history yet.

mod clock;
mod judge;
mod life;
mod operate;
mod rules;
mod search;
mod settle;
mod state;
mod step;
mod violation;

pub use judge::Report;
pub use rules::Rules;
pub use violation::{Kind, Violation};

#[cfg(test)]
mod tests;
