//! Sockets: accepting them, bounding how long they may idle, closing them.

mod accept;
mod activity;
mod connection;
mod socket;
mod stream;
mod tls;

pub(crate) use accept::{Stops, listen, next_connection, serve_http};
pub(crate) use activity::{Activity, InRequest};
pub use socket::{Listener, Socket};
pub(crate) use tls::Tls;
pub use tls::{TlsError, TlsFiles};
