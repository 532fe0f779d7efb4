//! What a server is told at its start.
//!
//! Lives here: addresses, limits and time bounds, with their defaults. Not here: where the values
//! come from (the command line), and the product's own bounds (`naven_api::limits`).

use std::net::SocketAddr;
use std::str::FromStr;
use std::time::Duration;

use naven_api::limits;

use crate::access::Access;
use crate::auth::BearerKey;
use crate::net::TlsFiles;

/// What [`crate::Server::start`] needs besides an engine.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// Where the HTTP door listens; port 0 picks a free one.
    pub http: SocketAddr,
    /// Where the Redis door listens; none: it is closed.
    pub redis: Option<SocketAddr>,
    /// What the Redis door lets callers do.
    pub redis_settings: RedisSettings,
    /// The key that is installed as the row `admin`, replacing another one.
    pub admin_key: Option<BearerKey>,
    /// The certificate with which the doors speak TLS; none: they speak plainly.
    pub tls: Option<TlsFiles>,
    /// From where the HTTP door may be called.
    pub access: Access,
    /// Who may look at `/metrics`.
    pub metrics: MetricsAccess,
    /// Sizes and counts.
    pub limits: ServerLimits,
    /// How long clients may take.
    pub patience: Patience,
}

impl ServerConfig {
    /// A server on `http` with defaults, no Redis door and no key.
    pub fn new(http: SocketAddr) -> Self {
        Self {
            http,
            redis: None,
            redis_settings: RedisSettings::default(),
            admin_key: None,
            tls: None,
            access: Access::default(),
            metrics: MetricsAccess::default(),
            limits: ServerLimits::default(),
            patience: Patience::default(),
        }
    }
}

/// What the Redis door lets callers do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RedisSettings {
    /// True where no key is needed: whoever reaches the door may do everything. Only for a loopback address.
    pub no_auth: bool,
    /// True where FLUSHDB and FLUSHALL delete every stream, for keys that may.
    pub allow_flush: bool,
}

/// Who may look at `/metrics`, which names every queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MetricsAccess {
    /// A key with the scope `read` or `admin` that reaches every queue.
    #[default]
    Key,
    /// Everybody who reaches the HTTP door.
    Open,
    /// Nobody: there is no such path.
    Off,
}

/// Why a text is not the name of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected key, open or off")]
pub struct ParseMetricsAccessError;

impl MetricsAccess {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Open => "open",
            Self::Off => "off",
        }
    }
}

impl FromStr for MetricsAccess {
    type Err = ParseMetricsAccessError;

    fn from_str(text: &str) -> Result<Self, ParseMetricsAccessError> {
        let all = [Self::Key, Self::Open, Self::Off];
        all.into_iter().find(|access| access.as_str() == text).ok_or(ParseMetricsAccessError)
    }
}

/// Sizes and counts.
#[derive(Debug, Clone, Copy)]
pub struct ServerLimits {
    /// Largest payload, in bytes: at most 4 MiB.
    pub payload_bytes: usize,
    /// Largest request body, in bytes.
    pub request_bytes: usize,
    /// Most bytes of large requests under way at once, from their first byte until they are answered: a further
    /// one is not read until there is room. At least `request_bytes`.
    pub bodies_bytes: usize,
    /// Most bytes of large answers at once, from when they are asked for until they are read: a further one is not
    /// asked for until there is room.
    pub answers_bytes: usize,
    /// Longest path and query, in bytes.
    pub uri_bytes: usize,
    /// Longest headers of a request together, in bytes.
    pub header_bytes: usize,
    /// Most connections of both doors together.
    pub connections: usize,
    /// Most waiting claims.
    pub waiters_per_node: usize,
    /// Most waiting claims of one key.
    pub waiters_per_key: usize,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            payload_bytes: limits::PAYLOAD_BYTES_DEFAULT,
            request_bytes: limits::REQUEST_BYTES_MAX,
            bodies_bytes: limits::BODIES_BYTES_MAX,
            answers_bytes: limits::ANSWERS_BYTES_MAX,
            uri_bytes: 8 * 1024,
            header_bytes: 32 * 1024,
            connections: 25_000,
            waiters_per_node: limits::WAITERS_PER_NODE_MAX,
            waiters_per_key: limits::WAITERS_PER_KEY_MAX,
        }
    }
}

/// How long the server waits for slow clients.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// For a request's line and headers, from their first byte, and for a connection's first byte.
    pub head: Duration,
    /// For the next piece of a body.
    pub body_idle: Duration,
    /// For a whole body.
    pub body_total: Duration,
    /// For the next request of a connection.
    pub keep_alive: Duration,
    /// For a client to take bytes of an answer.
    pub write: Duration,
    /// At shutdown, for answered and running requests to end.
    pub drain: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            head: Duration::from_secs(10),
            body_idle: Duration::from_secs(30),
            body_total: Duration::from_secs(120),
            keep_alive: Duration::from_secs(60),
            write: Duration::from_secs(30),
            drain: Duration::from_secs(10),
        }
    }
}
