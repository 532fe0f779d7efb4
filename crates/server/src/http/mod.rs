//! The HTTP door: the contract of `/v1`, one file for each group of routes.

mod answer;
mod audit;
mod backup;
mod body;
mod claim;
mod compress;
mod condition;
mod cors;
mod dead_letter;
mod docs;
mod door;
mod event;
mod extract;
mod group;
mod health;
mod host;
mod key;
mod list;
mod openapi;
mod problem;
mod publish;
mod query;
mod queue;
mod rate;
mod reach;
mod repetition;
mod router;
mod routes;
mod settle;
mod shown;
mod stream;
mod stream_shown;
mod system;
mod timeline;

pub(crate) use door::{Connected, HttpDoor};
pub use openapi::openapi_document;
