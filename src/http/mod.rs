//! The HTTP server under the live page, the signalling of browsers and the rendezvous: bounded connections, on a thread of its own.

mod response;
mod server;
mod slots;
mod token;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::thread::JoinHandle;

use axum::Router;
use evenkeel_net::local_addresses;
use futures_util::future::{self, Either};
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;

use crate::failure;

pub(crate) use self::response::{
    CSS, HTML, JAVASCRIPT, JSON, SVG, TEXT, answer, read_body, set_security_headers, single_header,
};
pub(crate) use self::server::RequestSource;
pub(crate) use self::slots::{SlotLimits, Slots};
pub(crate) use self::token::Token;

/// The most connections of browsers. A viewer's page has three open.
pub(crate) const BROWSER_CONNECTION_LIMITS: SlotLimits = SlotLimits {
    total: 64,
    per_host: 32,
};

/// A running server, which ends with its connections and its thread when this is dropped.
pub(crate) struct HttpServer {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl HttpServer {
    /// Serves until dropped, over TLS if there is an acceptor. `name` is for the thread and for warnings.
    pub(crate) fn start(
        name: &'static str,
        listener: TcpListener,
        tls: Option<TlsAcceptor>,
        router: Router,
        limits: SlotLimits,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()?;
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new().name(name.into());
        let thread = thread.spawn(move || {
            runtime.block_on(async {
                let serving = std::pin::pin!(server::serve(listener, tls, router, limits));
                match future::select(serving, stopped).await {
                    // The address is already in use by this listener, so only a runtime without I/O refuses it.
                    Either::Left((error, _)) => {
                        failure::warn(format_args!("the {name} stopped: {error}"));
                    }
                    Either::Right(_) => {}
                }
            });
        })?;
        Ok(Self {
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        // Either end may have closed already when the thread has failed: nothing remains to stop then.
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Returns an address at which a browser reaches a listener, which may listen at every address of this machine.
pub(crate) fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        let is_v6 = address.is_ipv6();
        // A browser takes no address with a scope.
        let reached = local_addresses()
            .into_iter()
            .filter(|local| !local.is_link_local());
        let reached = reached
            .map(|local| local.ip)
            .find(|ip| is_v6 || ip.is_ipv4());
        address.set_ip(reached.unwrap_or(Ipv4Addr::LOCALHOST.into()));
    }
    address
}
