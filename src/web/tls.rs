//! The certificate of the server that browsers join by: one made for the run, or the user's own.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use evenkeel_net::Clock;
use evenkeel_secure::identity::{Fingerprint, Identity};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::TlsAcceptor;

use crate::failure::Failure;
use crate::http;

/// A certificate with its chain, and its private key.
pub(crate) struct TlsIdentity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl TlsIdentity {
    /// Makes a certificate for a server at this address.
    pub(crate) fn make(clock: &Clock, bind: SocketAddr) -> Result<Self, Failure> {
        let now = UNIX_EPOCH + clock.unix_time(clock.now());
        let identity = Identity::generate_for(now, &[http::reachable(bind).ip()]);
        let identity = identity.map_err(Failure::runtime)?;
        let key = PrivatePkcs8KeyDer::from(identity.private_key().to_vec());
        Ok(Self {
            chain: vec![identity.certificate().to_vec().into()],
            key: key.into(),
        })
    }

    /// Reads a certificate with its chain, and its key, both in PEM.
    pub(crate) fn read(certificate: &Path, key: &Path) -> Result<Self, Failure> {
        let wrong = |option: &str, path: &Path, why: String| {
            Failure::usage(format!(
                "{option} {}: {why}; give a file in PEM",
                path.display()
            ))
        };
        let chain = CertificateDer::pem_file_iter(certificate)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| wrong("--tls-cert", certificate, error.to_string()))?;
        if chain.is_empty() {
            let why = "it has no certificate".into();
            return Err(wrong("--tls-cert", certificate, why));
        }
        let key = PrivateKeyDer::from_pem_file(key)
            .map_err(|error| wrong("--tls-key", key, error.to_string()))?;
        Ok(Self { chain, key })
    }

    /// Returns the fingerprint that a browser shows.
    pub(crate) fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(self.chain.first().map_or(&[], |first| first))
    }

    /// Returns the acceptor of TLS connections.
    pub(super) fn acceptor(&self) -> Result<TlsAcceptor, Failure> {
        let provider = Arc::new(ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|builder| {
                builder
                    .with_no_client_auth()
                    .with_single_cert(self.chain.clone(), self.key.clone_key())
            })
            .map_err(|error| {
                Failure::usage(format!(
                    "the certificate of --web cannot be used: {error}; give --tls-cert and --tls-key that belong together"
                ))
            })?;
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}
