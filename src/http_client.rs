//! Requests to other hosts over HTTP and HTTPS, and their failures in words.

mod pinned_tls;

use std::io;
use std::time::Duration;

use evenkeel_secure::identity::Fingerprint;
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{Connector as _, TcpConnector};
use ureq::{Agent, Error, Timeout};

use self::pinned_tls::PinnedTls;

/// The time for a connection: name, TCP and TLS.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Returns a client whose requests end within `timeout`. It follows no redirect, and a status is no error. With a fingerprint it
/// trusts the server that has this certificate alone, and otherwise those that public authorities know.
pub(crate) fn agent(timeout: Duration, fingerprint: Option<Fingerprint>) -> Agent {
    let config = Agent::config_builder()
        .timeout_global(Some(timeout))
        .timeout_connect(Some(CONNECT_TIMEOUT))
        .max_redirects(0)
        .http_status_as_error(false)
        // A connection that was idle may have been closed by the server.
        .max_idle_connections(0)
        .user_agent(concat!("evenkeel/", env!("CARGO_PKG_VERSION")))
        .build();
    match fingerprint {
        Some(fingerprint) => {
            let connector = TcpConnector::default().chain(PinnedTls(fingerprint));
            Agent::with_parts(config, connector, DefaultResolver::default())
        }
        None => config.into(),
    }
}

/// Returns why a request failed, with what to check.
pub(crate) fn reason(error: &Error) -> String {
    match error {
        Error::HostNotFound => "no such host: check the name and the network".into(),
        Error::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            "nobody listens there: check address and port, and that the server runs".into()
        }
        Error::Timeout(Timeout::Resolve) => "the name server does not answer".into(),
        Error::Timeout(_) => {
            "no answer in time: check the address, and that no firewall drops it".into()
        }
        Error::Io(error) if is_of_certificate(error) => {
            format!(
                "its certificate is not trusted: {error}; it needs one of a public authority and the URL its name, or with --whip \
                 and --whep its fingerprint in --tls-fingerprint, as its owner shows it"
            )
        }
        Error::Protocol(error) => format!("the answer is not HTTP: {error}; check the port"),
        error => error.to_string(),
    }
}

/// Returns true if the server's certificate was refused.
fn is_of_certificate(error: &io::Error) -> bool {
    let inner = error.get_ref();
    matches!(
        inner.and_then(|inner| inner.downcast_ref()),
        Some(rustls::Error::InvalidCertificate(_) | rustls::Error::General(_))
    )
}
