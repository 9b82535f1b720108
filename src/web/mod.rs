//! Lets browsers join a call: the page that a person opens, and the WHIP and WHEP endpoints under it.

mod negotiation;
mod routes;
mod tls;

use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Weak};

use evenkeel_net::Handle;
use tokio_rustls::TlsAcceptor;

pub(crate) use self::negotiation::{
    BrowserCalls, BrowserCallsConfig, candidate_attribute, read_candidates,
};
pub(crate) use self::tls::TlsIdentity;

use crate::failure::Failure;
use crate::http::{self, HttpServer, Token};
use crate::outputs;
use crate::run::Connection;

/// The configuration of the server that browsers join by, with its port bound.
pub(crate) struct WebServerConfig {
    listener: TcpListener,
    address: SocketAddr,
    room: String,
    tls: Option<(TlsAcceptor, TlsIdentity)>,
    calls: BrowserCalls,
}

/// The running server, which ends when this is dropped.
pub(crate) struct WebServer {
    _server: HttpServer,
}

/// What the handlers of requests share.
struct WebShared {
    room: String,
    token: Token,
    calls: BrowserCalls,
    /// The connection, which is held only while it is used, so that it ends with the run.
    connection: Weak<Handle<Connection>>,
}

impl WebServerConfig {
    /// Binds the port. Without an identity the server is reached from this machine alone, in the clear.
    pub(crate) fn bind(
        bind: SocketAddr,
        room: &str,
        identity: Option<TlsIdentity>,
        calls: BrowserCalls,
    ) -> Result<Self, Failure> {
        let refused = |error| {
            Failure::usage(format!(
                "--web {bind}: {error}; name an address of this machine and a free port"
            ))
        };
        let listener = TcpListener::bind(bind).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let tls = identity.map(|identity| Ok((identity.acceptor()?, identity)));
        Ok(Self {
            listener,
            address,
            room: room.to_owned(),
            tls: tls.transpose()?,
            calls,
        })
    }

    /// Serves, and prints how a browser joins.
    pub(crate) fn start(
        self,
        connection: Weak<Handle<Connection>>,
        output_is_taken: bool,
    ) -> Result<WebServer, Failure> {
        let token = Token::draw(self.address.port()).map_err(Failure::runtime)?;
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let reached = http::reachable(self.address);
        let url = format!("{scheme}://{reached}/{}", self.room);
        let tell = |line: String| outputs::tell(output_is_taken, line);
        // A browser keeps what follows # to itself, so that no server on the way logs it.
        let secret = token.secret();
        tell(format!(
            "a browser joins at this address; give it to one person alone:\n{url}#{secret}"
        ))?;
        if let Some((_, identity)) = &self.tls {
            tell(format!(
                "certificate of the page (SHA-256), which the browser should show: {}",
                identity.fingerprint()
            ))?;
        }
        tell(format!(
            "WHIP: {url}/whip  WHEP: {url}/whep  bearer token: {secret}"
        ))?;
        let shared = Arc::new(WebShared {
            room: self.room,
            token,
            calls: self.calls,
            connection,
        });
        let tls = self.tls.map(|(acceptor, _)| acceptor);
        let router = routes::router(shared);
        let server = HttpServer::start(
            "web server",
            self.listener,
            tls,
            router,
            http::BROWSER_CONNECTION_LIMITS,
        );
        Ok(WebServer {
            _server: server.map_err(Failure::runtime)?,
        })
    }
}
