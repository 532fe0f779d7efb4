//! A server of a few lines that answers what it is told to and shows what it was asked.

mod server;

pub(crate) use server::{Canned, Reply, envelope};
