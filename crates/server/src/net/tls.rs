//! TLS of the doors: the certificate, its key, and reading both again while connections are served.
//!
//! Lives here: what is spoken (TLS 1.2 and 1.3) and with which certificate. Not here: who tells a server
//! to read its files again (the process), and what is said inside.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::{CryptoProvider, aws_lc_rs};
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{self, ServerConfig};
use tokio_rustls::server::TlsStream;

use super::socket::Socket;

/// The files of a certificate, both PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The server's certificate, then those that lead from it to a root.
    pub certificate: PathBuf,
    /// Its private key: PKCS #8, PKCS #1 or SEC 1, not encrypted.
    pub key: PathBuf,
}

/// Why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("{what} {}", path.display())]
    Unreadable {
        /// Which of the two.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file is not what it should be.
    #[error("{what} {}: {why}", path.display())]
    Unusable {
        /// Which of the two.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Nothing can be spoken with them.
    #[error("no TLS with this certificate: {0}")]
    Setup(rustls::Error),
}

/// The listener's side of TLS.
#[derive(Clone)]
pub(crate) struct Tls {
    files: TlsFiles,
    provider: Arc<CryptoProvider>,
    current: Arc<Current>,
    acceptor: TlsAcceptor,
}

/// The certificate that new connections get.
struct Current(RwLock<Arc<CertifiedKey>>);

impl fmt::Debug for Current {
    /// Without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Current(..)")
    }
}

impl ResolvesServerCert for Current {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl Tls {
    /// TLS with the certificate in `files`.
    ///
    /// # Errors
    /// [`TlsError`], which names the file.
    pub(crate) fn load(files: TlsFiles) -> Result<Self, TlsError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let current = Arc::new(Current(RwLock::new(Arc::new(read(&files, &provider)?))));
        let mut config = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&TLS13, &TLS12])
            .map_err(TlsError::Setup)?
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(&current) as Arc<dyn ResolvesServerCert>);
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self { files, provider, current, acceptor: TlsAcceptor::from(Arc::new(config)) })
    }

    /// Reads the files again. Connections that are open keep what they have; where this fails, so do new
    /// ones.
    ///
    /// # Errors
    /// [`TlsError`], which names the file.
    pub(crate) fn reload(&self) -> Result<(), TlsError> {
        let fresh = Arc::new(read(&self.files, &self.provider)?);
        *self.current.0.write().unwrap_or_else(PoisonError::into_inner) = fresh;
        Ok(())
    }

    /// Agrees with the client on how to speak. Cancel safe: the connection is dropped.
    ///
    /// # Errors
    /// Where the client speaks no TLS of ours.
    pub(crate) async fn accept<S: Socket>(&self, stream: S) -> std::io::Result<TlsStream<S>> {
        self.acceptor.accept(stream).await
    }
}

fn read(files: &TlsFiles, provider: &CryptoProvider) -> Result<CertifiedKey, TlsError> {
    let (certificate, key) = (&files.certificate, &files.key);
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unusable(CERTIFICATE, certificate, error))?;
    if chain.is_empty() {
        return Err(unusable(CERTIFICATE, certificate, pem::Error::NoItemsFound));
    }
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| unusable(KEY, key, error))?;
    CertifiedKey::from_der(chain, private, provider).map_err(|error| {
        let (what, path, why) = match error {
            rustls::Error::InconsistentKeys(_) => (KEY, key, "not the key of this certificate".to_owned()),
            rustls::Error::InvalidCertificate(why) => {
                (CERTIFICATE, certificate, format!("the first certificate cannot be read: {why:?}"))
            }
            other => (KEY, key, other.to_string()),
        };
        TlsError::Unusable { what, path: path.clone(), why }
    })
}

const CERTIFICATE: &str = "certificate";
const KEY: &str = "private key";

fn unusable(what: &'static str, path: &Path, error: pem::Error) -> TlsError {
    let path = path.to_owned();
    match error {
        pem::Error::Io(source) => TlsError::Unreadable { what, path, source },
        pem::Error::NoItemsFound => TlsError::Unusable {
            what,
            path,
            why: format!("no {what} in it: it has to be PEM, not encrypted"),
        },
        other => TlsError::Unusable { what, path, why: format!("no PEM: {other}") },
    }
}
