//! Sockets: accepting them, bounding how long they may idle, closing them.

mod accept;
mod activity;
mod connection;
mod stream;
mod tls;

pub(crate) use accept::{Stops, listen, next_connection, serve_http};
pub(crate) use activity::{Activity, InRequest};
pub(crate) use tls::Tls;
pub use tls::{TlsError, TlsFiles};
