//! Sockets: accepting them, bounding how long they may idle, closing them.

mod accept;
mod activity;
mod connection;
mod stream;

pub(crate) use accept::{Stops, accept, listen, serve_http};
pub(crate) use activity::{Activity, InRequest};
