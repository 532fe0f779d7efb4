//! Finding the node of a Cluster that has a stream.
//!
//! Lives here: asking nodes, and going where they say. Not here: which connection is used for what (`link.rs`). All that a
//! consumer touches has one hash tag, so that one node at a time is enough.

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{ConnectionAddr, ConnectionInfo, Value, cmd};
use tokio::time::timeout;
use tracing::debug;

use super::error::Error;
use super::server::{client, connect};

/// Longest time that one node, and the one that it names, may take: then the next is asked.
const EACH_MAX: Duration = Duration::from_secs(2);
/// How often one node may name another.
const HOPS_MAX: usize = 3;

/// Some nodes of a Cluster.
#[derive(Clone)]
pub(super) struct Cluster {
    nodes: Vec<ConnectionInfo>,
    /// All of them, for people.
    shown: String,
}

impl Cluster {
    pub(super) fn new(nodes: Vec<ConnectionInfo>) -> Result<Self, Error> {
        if nodes.is_empty() {
            return Err(Error::Setup { why: "no node of the Cluster is named".to_owned() });
        }
        let shown: Vec<String> = nodes.iter().map(|node| node.addr().to_string()).collect();
        Ok(Self { nodes, shown: shown.join(",") })
    }

    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    /// A connection to the primary that has `stream` at this moment: by the first node that knows.
    pub(super) async fn connect(&self, stream: &[u8]) -> Result<MultiplexedConnection, Error> {
        let mut last = None;
        for node in &self.nodes {
            match timeout(EACH_MAX, self.by(node.clone(), stream)).await {
                Ok(Ok(connection)) => return Ok(connection),
                Ok(Err(error)) if error.is_refusal() => return Err(error),
                Ok(Err(error)) => {
                    let at = node.addr().to_string();
                    debug!(at, error = &error as &dyn std::error::Error, "a node of the Cluster is no help");
                    last = Some(error);
                }
                Err(_) => {}
            }
        }
        Err(last.unwrap_or_else(|| self.unreachable("no node answers in time")))
    }

    async fn by(&self, mut node: ConnectionInfo, stream: &[u8]) -> Result<MultiplexedConnection, Error> {
        for _ in 0..HOPS_MAX {
            let at = node.addr().to_string();
            let mut connection = connect(&client(node.clone())?, &at).await?;
            let mut asked = cmd("TYPE");
            asked.arg(stream);
            let answer = connection.send_packed_command(&asked).await.and_then(Value::extract_error);
            let Err(error) = answer else { return Ok(connection) };
            let moved = (error.code() == Some("MOVED")).then(|| error.redirect_node()).flatten();
            let Some((host, port)) = moved.and_then(|(address, _)| address.rsplit_once(':')) else {
                return Err(Error::from_redis(&at, error, false));
            };
            let port = port.parse().map_err(|_| self.unreachable("a node names no port"))?;
            let address = beside(node.addr(), host, port);
            node = node.set_addr(address);
        }
        Err(self.unreachable("each node names another"))
    }

    fn unreachable(&self, why: &str) -> Error {
        Error::Unreachable { at: self.shown.clone(), may_have_arrived: false, source: why.into() }
    }
}

/// Another address, spoken to in the same way. A node that does not know its own host names none: it is that of who told.
fn beside(known: &ConnectionAddr, host: &str, port: u16) -> ConnectionAddr {
    let or = |known: &str| if host.is_empty() { known.to_owned() } else { host.to_owned() };
    match known {
        ConnectionAddr::TcpTls { host: known, insecure, tls_params, .. } => ConnectionAddr::TcpTls {
            host: or(known),
            port,
            insecure: *insecure,
            tls_params: tls_params.clone(),
        },
        ConnectionAddr::Tcp(known, _) => ConnectionAddr::Tcp(or(known), port),
        _ => ConnectionAddr::Tcp(host.to_owned(), port),
    }
}
