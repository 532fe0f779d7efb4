//! The doors of Naven Events: HTTP and Redis over any engine.
//!
//! A door turns words into calls and answers into words; it has no opinion on leases. [`Server`]
//! starts one node, and `wait.rs` is the only place that blocks.

mod access;
pub mod auth;
mod claimers;
mod config;
mod failure;
mod http;
#[cfg(any(test, fuzzing))]
pub mod laws;
mod metrics;
mod net;
mod node;
mod redis;
mod room;
mod serve;
mod stats;
mod sweep;
mod system;
mod tails;
mod wait;
mod watch;

pub use access::{
    Access, HostName, Origin, ParseHostNameError, ParseOriginError, ParseTrustedProxyError,
    TRUSTED_PROXIES_MAX, TrustedProxy,
};
pub use config::{
    MetricsAccess, ParseMetricsAccessError, Patience, RedisSettings, ServerConfig, ServerLimits,
};
pub use failure::Failure;
pub use http::openapi_document;
pub use net::{Listener, Socket, TlsError, TlsFiles};
pub use serve::{Running, Server, StartError};
pub use system::{SystemClock, SystemRandom};
