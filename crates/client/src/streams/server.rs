//! A Redis, a Valkey, or the Redis door of a Naven server.
//!
//! Lives here: where it is, and connecting. Not here: asking Sentinels or nodes of a Cluster where it is (`sentinel.rs`,
//! `cluster.rs`), and which connection is used
//! for what (`link.rs`).

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, ConnectionInfo, IntoConnectionInfo, ProtocolVersion};

use super::cluster::Cluster;
use super::error::Error;
use super::sentinel::Sentinels;

/// Longest wait for a connection.
const CONNECT_MAX: Duration = Duration::from_secs(5);

/// Where a Redis is. Cheap to clone; it holds no connection.
#[derive(Clone)]
pub struct Server {
    way: Way,
    at: String,
}

/// How it is found.
#[derive(Clone)]
enum Way {
    /// It is always there.
    Straight(redis::Client),
    /// Sentinels know which one it is now.
    Asked(Sentinels),
    /// It is the node of a Cluster that has the stream.
    Of(Cluster),
}

impl Server {
    /// The server at `redis://[[user]:password@]host:port`, or `rediss://` for one that speaks TLS.
    ///
    /// # Errors
    /// [`Error::Setup`] where `url` is none. Nothing is connected yet.
    pub fn new(url: &str) -> Result<Self, Error> {
        let info = read(url)?;
        let at = info.addr().to_string();
        Ok(Self { way: Way::Straight(client(info)?), at })
    }

    /// The primary that Sentinels watch under the name that stands for the host in `url`: with
    /// `redis://:password@mymaster` the one called `mymaster`. `sentinels` are the URLs of Sentinels, with their own passwords, such
    /// as `redis://10.0.0.1:26379`. They are asked each time a connection is made, and whoever says to be no primary is
    /// not taken for one.
    ///
    /// # Errors
    /// [`Error::Setup`] where one of them is no URL, or no Sentinel is named. Nothing is connected yet.
    pub fn by_sentinels<'a>(sentinels: impl IntoIterator<Item = &'a str>, url: &str) -> Result<Self, Error> {
        let sentinels: Result<Vec<_>, Error> =
            sentinels.into_iter().map(|sentinel| client(read(sentinel)?)).collect();
        let sentinels = Sentinels::new(sentinels?, read(url)?)?;
        let at = sentinels.primary().to_owned();
        Ok(Self { way: Way::Asked(sentinels), at })
    }

    /// The node of a Redis Cluster that has the stream. `nodes` are the URLs of some of them, each with a password where it has
    /// one: they are asked each time a connection is made, and whom they name is asked in turn.
    ///
    /// All that a consumer keeps beside its stream has the hash tag of that stream, and so has the stream of dead letters:
    /// `{factory:events}:dead` unless it is set.
    ///
    /// # Errors
    /// [`Error::Setup`] where one of them is no URL, or no node is named. Nothing is connected yet.
    pub fn by_cluster<'a>(nodes: impl IntoIterator<Item = &'a str>) -> Result<Self, Error> {
        let nodes: Result<Vec<_>, Error> = nodes.into_iter().map(read).collect();
        let cluster = Cluster::new(nodes?)?;
        let at = cluster.shown().to_owned();
        Ok(Self { way: Way::Of(cluster), at })
    }

    /// True where keys of different hash tags are on different nodes.
    pub(super) fn is_cluster(&self) -> bool {
        matches!(self.way, Way::Of(_))
    }

    /// Its address without the password; by Sentinels, its name with them; of a Cluster, the nodes that are asked.
    pub fn address(&self) -> &str {
        &self.at
    }

    /// A connection of its own to where `stream` is. Answers are waited for as long as whoever asks waits.
    pub(super) async fn connect(&self, stream: &[u8]) -> Result<MultiplexedConnection, Error> {
        match &self.way {
            Way::Straight(client) => connect(client, &self.at).await,
            Way::Asked(sentinels) => sentinels.connect().await,
            Way::Of(cluster) => cluster.connect(stream).await,
        }
    }
}

fn setup(error: redis::RedisError) -> Error {
    Error::Setup { why: format!("not the URL of a Redis: {error}") }
}

fn read(url: &str) -> Result<ConnectionInfo, Error> {
    let info = url.into_connection_info().map_err(setup)?;
    let settings = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP2);
    Ok(info.set_redis_settings(settings))
}

pub(super) fn client(info: ConnectionInfo) -> Result<redis::Client, Error> {
    redis::Client::open(info).map_err(setup)
}

pub(super) async fn connect(client: &redis::Client, at: &str) -> Result<MultiplexedConnection, Error> {
    let config =
        AsyncConnectionConfig::new().set_connection_timeout(Some(CONNECT_MAX)).set_response_timeout(None);
    let connecting = client.get_multiplexed_async_connection_with_config(&config);
    connecting.await.map_err(|error| Error::from_redis(at, error, false))
}

impl std::fmt::Debug for Server {
    /// Without the password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("at", &self.at).finish_non_exhaustive()
    }
}
