//! Finding a primary by its Sentinels.
//!
//! Lives here: asking them, and seeing that it is one. Not here: which connection is used for what (`link.rs`).

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{ConnectionAddr, ConnectionInfo, Value, cmd};
use tokio::time::timeout;
use tracing::debug;

use super::error::Error;
use super::reply;
use super::server::{client, connect};

/// Longest time that one Sentinel, and the server that it names, may take: then the next is asked.
const EACH_MAX: Duration = Duration::from_secs(2);

/// Sentinels, and the primary that they watch.
#[derive(Clone)]
pub(super) struct Sentinels {
    sentinels: Vec<redis::Client>,
    /// How it is called.
    primary: String,
    /// How to log in there; the address is that of nobody.
    login: ConnectionInfo,
}

impl Sentinels {
    pub(super) fn new(sentinels: Vec<redis::Client>, login: ConnectionInfo) -> Result<Self, Error> {
        let primary = match login.addr() {
            ConnectionAddr::Tcp(host, _) | ConnectionAddr::TcpTls { host, .. } => host.clone(),
            _ => return Err(Error::Setup { why: "Sentinels watch no socket of this machine".to_owned() }),
        };
        if sentinels.is_empty() {
            return Err(Error::Setup { why: "no Sentinel is named".to_owned() });
        }
        Ok(Self { sentinels, primary, login })
    }

    /// The name of the primary.
    pub(super) fn primary(&self) -> &str {
        &self.primary
    }

    /// A connection to the primary of this moment: of the first Sentinel that names one.
    pub(super) async fn connect(&self) -> Result<MultiplexedConnection, Error> {
        let mut last = None;
        for sentinel in &self.sentinels {
            match timeout(EACH_MAX, self.by(sentinel)).await {
                Ok(Ok(connection)) => return Ok(connection),
                Ok(Err(error)) if error.is_refusal() => return Err(error),
                Ok(Err(error)) => {
                    debug!(
                        primary = self.primary,
                        error = &error as &dyn std::error::Error,
                        "a Sentinel is no help"
                    );
                    last = Some(error);
                }
                Err(_) => {}
            }
        }
        Err(last.unwrap_or_else(|| self.unreachable("no Sentinel answers in time")))
    }

    async fn by(&self, sentinel: &redis::Client) -> Result<MultiplexedConnection, Error> {
        let mut asking = connect(sentinel, &self.primary).await?;
        let mut which = cmd("SENTINEL");
        which.arg("GET-MASTER-ADDR-BY-NAME").arg(&self.primary);
        let answer = asking.send_packed_command(&which).await.and_then(Value::extract_error);
        let answer = answer.map_err(|error| Error::from_redis(&self.primary, error, false))?;
        let address = reply::list(answer).and_then(|parts| {
            let [host, port] = <[Value; 2]>::try_from(parts).ok()?;
            Some((reply::text(host)?, reply::text(port)?.parse::<u16>().ok()?))
        });
        let (host, port) = address.ok_or_else(|| self.unreachable("a Sentinel does not know it"))?;
        let at = format!("{} at {host}:{port}", self.primary);
        let address = match self.login.addr() {
            ConnectionAddr::TcpTls { insecure, tls_params, .. } => {
                ConnectionAddr::TcpTls { host, port, insecure: *insecure, tls_params: tls_params.clone() }
            }
            _ => ConnectionAddr::Tcp(host, port),
        };
        let mut connection = connect(&client(self.login.clone().set_addr(address))?, &at).await?;
        // What a Sentinel knows may be older than what the server is.
        let role = connection.send_packed_command(&cmd("ROLE")).await.and_then(Value::extract_error);
        let role = role.map_err(|error| Error::from_redis(&at, error, false))?;
        let role = reply::list(role).and_then(|parts| reply::text(parts.into_iter().next()?));
        if role.as_deref() == Some("master") {
            Ok(connection)
        } else {
            Err(self.unreachable("it is no primary"))
        }
    }

    fn unreachable(&self, why: &str) -> Error {
        Error::Unreachable { at: self.primary.clone(), may_have_arrived: false, source: why.into() }
    }
}
