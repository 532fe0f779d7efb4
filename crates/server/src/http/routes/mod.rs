//! Every route, for people: what it takes, what it answers, how it fails.
//!
//! Lives here: the table behind `/openapi.json`, one file for each group. Not here: handlers (`router.rs`),
//! and the document's form (`openapi.rs`).

mod dead_letters;
mod events;
mod every;
pub(super) mod examples;
mod keys;
mod queues;
mod route;
mod server;
mod streams;

pub(super) use every::every;
pub(super) use route::{Data, Kind, Need, Parameter, Route};
