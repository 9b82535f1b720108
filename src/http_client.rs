//! Requests to other hosts over HTTP and HTTPS, and their failures in words.

use std::io;
use std::time::Duration;

use ureq::{Agent, Error, Timeout};

/// The time for a connection: name, TCP and TLS.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Returns a client whose requests end within `timeout`. It follows no redirect, and a status is no error.
pub(crate) fn agent(timeout: Duration) -> Agent {
    let config = Agent::config_builder()
        .timeout_global(Some(timeout))
        .timeout_connect(Some(CONNECT_TIMEOUT))
        .max_redirects(0)
        .http_status_as_error(false)
        // A connection that was idle may have been closed by the server.
        .max_idle_connections(0)
        .user_agent(concat!("evenkeel/", env!("CARGO_PKG_VERSION")))
        .build();
    config.into()
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
        Error::Rustls(error) => format!(
            "its certificate is not trusted: {error}; it needs one of a public authority, and the URL its name"
        ),
        Error::Protocol(error) => format!("no HTTP: {error}; check the port"),
        error => error.to_string(),
    }
}
