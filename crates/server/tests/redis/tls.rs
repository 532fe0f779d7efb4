//! The door behind TLS, with a client of rustls.
//!
//! Lives here: what such a client is answered, and how connections end. Not here: openssl as a client, and
//! which versions and ciphers there are (`naven`'s own tests).

use std::io;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use naven_server::TlsFiles;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};

use crate::client::TestServer;

const PATIENCE: Duration = Duration::from_secs(20);

/// A server with a certificate that vouches for itself.
async fn server() -> (TestServer, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = (folder.path().join("server.pem"), folder.path().join("server.key"));
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"])
        .args(["-days", "2", "-subj", "/CN=one", "-addext", "subjectAltName=IP:127.0.0.1"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .arg("-keyout")
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .stderr(Stdio::null())
        .status();
    assert!(made.expect("openssl is installed").success());
    let server = TestServer::start_with(|config| {
        config.redis_settings.no_auth = true;
        config.tls = Some(TlsFiles { certificate, key });
    })
    .await;
    (server, folder)
}

async fn connect(
    server: &TestServer,
    folder: &Path,
    version: &'static SupportedProtocolVersion,
) -> TlsStream<TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(folder.join("server.pem")).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_protocol_versions(&[version])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = plain(server).await;
    let name = ServerName::from(std::net::IpAddr::from(Ipv4Addr::LOCALHOST));
    TlsConnector::from(Arc::new(config)).connect(name, stream).await.expect("they agree")
}

async fn plain(server: &TestServer) -> TcpStream {
    TcpStream::connect(server.running.redis_addr().unwrap()).await.expect("it listens")
}

/// All that is said until the end, which has to be a clean one: a cut is an error here.
async fn rest(stream: &mut (impl AsyncReadExt + Unpin)) -> io::Result<String> {
    let mut said = Vec::new();
    let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut said)).await.expect("it ends in time");
    read.map(|_| String::from_utf8_lossy(&said).into_owned())
}

#[tokio::test]
async fn a_client_of_rustls_is_served_and_told_of_the_end() {
    let (server, folder) = server().await;
    for version in [&TLS12, &TLS13] {
        let mut client = connect(&server, folder.path(), version).await;
        client.write_all(b"PING\r\n*1\r\n$4\r\nQUIT\r\n").await.unwrap();
        assert_eq!(rest(&mut client).await.unwrap(), "+PONG\r\n+OK\r\n", "{version:?}");
    }
}

#[tokio::test]
async fn idle_clients_are_told_of_the_end_when_the_server_stops() {
    let (server, folder) = server().await;
    let mut client = connect(&server, folder.path(), &TLS13).await;
    client.write_all(b"PING\r\n").await.unwrap();
    let mut pong = [0; 7];
    client.read_exact(&mut pong).await.unwrap();
    let (rest, ()) = tokio::join!(rest(&mut client), server.running.shutdown());
    assert_eq!(rest.expect("not cut"), "");
}

#[tokio::test]
async fn who_speaks_plainly_is_let_go_without_a_word_of_redis() {
    let (server, folder) = server().await;
    for said in [&b"PING\r\n"[..], b"*1\r\n$4\r\nPING\r\n", &[b'x'; 4096]] {
        let mut client = plain(&server).await;
        client.write_all(said).await.unwrap();
        let answer = rest(&mut client).await.expect("closed, not reset");
        assert!(!answer.contains("PONG") && !answer.contains("ERR"), "{answer:?}");
    }
    let mut next = connect(&server, folder.path(), &TLS13).await;
    next.write_all(b"QUIT\r\n").await.unwrap();
    assert_eq!(rest(&mut next).await.unwrap(), "+OK\r\n", "the next one is served");
}
