//! `naven config`: what a server is told, and what it can be told.
//!
//! [`setting`] knows all settings, of which [`mod@reference`] is the list for people; [`shown`] is what a server
//! would make of them here; [`command`] is the command.

mod command;
mod reference;
pub(crate) mod setting;
mod shown;

pub(crate) use command::{ConfigCommand, run};
