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
/// The line of it that names the server, and the one that names the key.
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
    line(&format!(
        "\nThe queue '{QUEUE}' is there. In another terminal:\n\n{}",
        session(&url, &key.0).trim_end()
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

/// The address as a client on this machine reaches it: one that means "every address" is none.
fn url(http: SocketAddr) -> String {
    let ip = match http.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    format!("http://{}", SocketAddr::new(ip, http.port()))
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
    fn every_address_is_reached_over_loopback() {
        assert_eq!(url("0.0.0.0:7480".parse().unwrap()), "http://127.0.0.1:7480");
        assert_eq!(url("[::]:7480".parse().unwrap()), "http://[::1]:7480");
        assert_eq!(url("10.0.0.1:7480".parse().unwrap()), "http://10.0.0.1:7480");
    }
}
