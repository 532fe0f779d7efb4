//! `naven dev`: a server to try things on, with a queue, a key and lines to paste.
//!
//! Lives here: what `dev` adds to `serve`. Not here: the serving itself.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use anyhow::Context;
use naven_client::{ErrorCode, QueueCreateRequest, QueueFields};

use crate::connection::client;
use crate::exit::Failure;
use crate::key;
use crate::print::line;
use crate::secret_file;
use crate::serve::Serving;
use crate::settings::{Secret, Settings};

/// The queue that is there from the start.
const QUEUE: &str = "demo";
/// The dev key's file in the data folder. The engine passes over names that are not its own.
const KEY_FILE: &str = "dev-key";
/// The README's first session, word for word: a test compares them.
const FIRST_EVENT: &str = include_str!("first_event.sh");
/// The README's lines for the Redis door, word for word too.
const FIRST_ENTRY: &str = include_str!("first_entry.sh");
/// What in them names the Redis door.
const REDIS_CLI: &str = "redis-cli -p 7379 ";
/// The line of the session that names the server, and the one that names the key.
const URL_LINE: &str = "export NAVEN_API_URL=";
const KEY_LINE: &str = "export NAVEN_API_KEY=";

/// Serves until it is told to stop, with a key and the queue `demo`.
pub(crate) async fn run(settings: Settings) -> Result<(), Failure> {
    if settings.tls.is_some() {
        return Err(Failure::usage("tls-cert: dev speaks plainly, to you alone: serve is for all else"));
    }
    let Some(serving) = Serving::start(settings, |settings| admin_key(settings).map(Some)).await? else {
        return Ok(());
    };
    let url = url(serving.http());
    let key = serving.admin_key().context("dev always has a key")?;
    make_queue(&url, &key.0).await?;
    serving.announce();
    let entry = serving.redis().map(|redis| format!("\n{}", first_entry(redis))).unwrap_or_default();
    line(&format!(
        "\nThe queue '{QUEUE}' is there. In another terminal:\n\n{}",
        format!("{}{entry}", session(&url, &key.0)).trim_end()
    ))?;
    serving.until_stopped().await
}

/// The key that the user has set, or the one that was made at the first start. The data folder has to
/// be open: only then is it known to be ours.
fn admin_key(settings: &Settings) -> anyhow::Result<Secret> {
    match &settings.admin_key {
        Some(key) => Ok(key.clone()),
        None => {
            let path = settings.data.join(KEY_FILE);
            secret_file::read_or_make(&path, || key::generate().reveal().to_owned()).map(Secret)
        }
    }
}

async fn make_queue(url: &str, key: &str) -> Result<(), Failure> {
    let fields = QueueFields { description: Some("made by naven dev".to_owned()), ..QueueFields::default() };
    let queue =
        QueueCreateRequest { fields, ..QueueCreateRequest::new(QUEUE.parse().context("the name is one")?) };
    match client(url, Some(key))?.create_queue(&queue).await {
        Ok(_) => Ok(()),
        Err(error) if error.code() == Some(ErrorCode::NameTaken) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The first session with this server's address and key in it.
fn session(url: &str, key: &str) -> String {
    FIRST_EVENT
        .lines()
        .map(|text| {
            if text.starts_with(URL_LINE) {
                format!("{URL_LINE}{url}\n")
            } else if text.starts_with(KEY_LINE) {
                format!("{KEY_LINE}{key}\n")
            } else {
                format!("{text}\n")
            }
        })
        .collect()
}

/// The lines for the Redis door with this server's address in them.
fn first_entry(redis: SocketAddr) -> String {
    let redis = reached(redis);
    let port = redis.port();
    let at = match redis.ip() {
        // It is where redis-cli looks by itself.
        IpAddr::V4(Ipv4Addr::LOCALHOST) => format!("redis-cli -p {port} "),
        ip => format!("redis-cli -h {ip} -p {port} "),
    };
    FIRST_ENTRY.replace(REDIS_CLI, &at)
}

fn url(http: SocketAddr) -> String {
    format!("http://{}", reached(http))
}

/// The address as a client on this machine reaches it: one that means "every address" is none.
fn reached(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::DEFAULT_URL;

    #[test]
    fn the_session_names_this_server_and_key_and_else_is_the_readmes() {
        let session = session("http://h:1", "nvk_1");
        assert!(session.starts_with("export NAVEN_API_URL=http://h:1\nexport NAVEN_API_KEY=nvk_1\n"));
        let rest = |text: &str| text.split_once("\n\n").map(|(_, rest)| rest.to_owned());
        assert_eq!(rest(&session), rest(FIRST_EVENT));
        assert!(FIRST_EVENT.starts_with(&format!("{URL_LINE}{DEFAULT_URL}\n{KEY_LINE}")));
    }

    #[test]
    fn the_lines_for_the_redis_door_name_it() {
        let entry = |address: &str| first_entry(address.parse().unwrap());
        assert_eq!(entry("127.0.0.1:7379"), FIRST_ENTRY);
        assert_eq!(entry("0.0.0.0:1"), FIRST_ENTRY.replace("-p 7379", "-p 1"));
        assert_eq!(entry("10.0.0.1:1"), FIRST_ENTRY.replace("-p 7379", "-h 10.0.0.1 -p 1"));
        assert_eq!(FIRST_ENTRY.matches(REDIS_CLI).count(), 3);
    }

    #[test]
    fn every_address_is_reached_over_loopback() {
        assert_eq!(url("0.0.0.0:7480".parse().unwrap()), "http://127.0.0.1:7480");
        assert_eq!(url("[::]:7480".parse().unwrap()), "http://[::1]:7480");
        assert_eq!(url("10.0.0.1:7480".parse().unwrap()), "http://10.0.0.1:7480");
    }
}
