//! The whole server in a world that a seed makes: both doors, real requests, a network that is cut.
//!
//! [turmoil] carries the bytes and the time. The server runs as it does for users, over the engine that takes turns
//! ([`naven_store::embedded::stepped`]) on a disk that forgets what was not synced. Publishers and workers speak HTTP,
//! readers speak to the Redis door, all on one stream. Links are cut and held, the server is killed, its power fails, its
//! disk fails, its clock steps. What the HTTP clients saw is judged by [`crate::checker`]; that no reader gets again what
//! it was told to have finished, and that each gets everything, is judged here.

mod actors;
mod engine;
mod http;
mod machine;
mod reader;
pub(crate) mod resp;
mod run;

pub use run::simulate;
