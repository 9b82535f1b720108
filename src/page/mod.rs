//! The live page, on which a browser watches and controls a session.
//!
//! The page reads samples and pictures, and is never a part of the media path: everything passed to [`Page`] is
//! kept as "the latest" in bounded memory, and no call waits for a viewer. The server runs on its own thread; its
//! assets are compiled in, so there is no build step and no outside resource.

mod guard;
mod history;
mod knobs;
mod pictures;
mod repeat;
mod routes;
mod sample;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};

use self::history::History;
use self::pictures::Pictures;
use self::repeat::Repeat;
use crate::http::{self, HttpServer, Token};

pub(crate) use self::knobs::Knobs;
pub(crate) use self::sample::{Mode, PageInfo, Sample, SenderState};

/// The number of ports that are tried, from the requested one on: as many runs as one machine may well have at
/// once.
const PORTS_TRIED: u16 = 20;

/// Applies the knobs that a viewer moved; an error is one line, shown to that viewer.
pub(crate) type Controls = Box<dyn Fn(Knobs) -> Result<(), String> + Send + Sync>;

/// The running page, which ends with its connections when this is dropped.
pub(crate) struct Page {
    shared: Arc<Shared>,
    address: SocketAddr,
    /// Serves while this exists.
    _server: HttpServer,
}

/// The state that the threads of the program write and the server's thread reads.
struct Shared {
    /// The [`PageInfo`] and the knobs' ranges, as JSON.
    info: String,
    history: History,
    sent: Pictures,
    received: Pictures,
    repeat: Mutex<Repeat>,
    /// The token that requests need; `None` if only this machine reaches the page.
    token: Option<Token>,
    /// The function that applies knobs; `None` without a link.
    controls: Option<Controls>,
}

impl Page {
    /// Listens on `bind` and serves until stopped. Port 0 takes any free port, and a port in use is replaced by the
    /// next free one ([`Page::address`]).
    ///
    /// `controls` is called on the server's thread with knobs whose ranges were checked, and should return quickly;
    /// a page without it has no knobs.
    pub(crate) fn start(
        bind: SocketAddr,
        info: &PageInfo,
        controls: Option<Controls>,
    ) -> Result<Self, PageError> {
        let listener = listen(bind, PORTS_TRIED).map_err(|error| PageError::bind(bind, error))?;
        let failed = |error| PageError::Start { error };
        let address = listener.local_addr().map_err(failed)?;
        let is_open = !address.ip().is_loopback();
        let token = is_open.then(|| Token::draw(address.port())).transpose();
        let info_json = info.with_limits(controls.is_some());
        let shared = Arc::new(Shared {
            history: History::new(&info_json),
            info: info_json,
            sent: Pictures::new(),
            received: Pictures::new(),
            repeat: Mutex::new(Repeat::new(&info.words)),
            token: token.map_err(failed)?,
            controls,
        });
        let router = routes::router(Arc::clone(&shared));
        let server = HttpServer::start(
            "page",
            listener,
            None,
            router,
            http::BROWSER_CONNECTION_LIMITS,
        )
        .map_err(failed)?;
        Ok(Self {
            shared,
            address,
            _server: server,
        })
    }

    /// Returns the address of the page, with the actual port.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns true if other machines reach the page.
    pub(crate) fn is_open(&self) -> bool {
        self.shared.token.is_some()
    }

    /// Returns the address for a browser, with the token if the page needs one.
    pub(crate) fn url(&self) -> String {
        let address = http::reachable(self.address);
        let token = self.shared.token.as_ref().map(Token::query);
        let token = token.map(|query| format!("/{query}"));
        format!("http://{address}{}", token.unwrap_or_default())
    }

    /// Returns true while somebody watches a picture: only then is it worth encoding one.
    pub(crate) fn has_viewers(&self) -> bool {
        self.shared.sent.watched() || self.shared.received.watched()
    }

    /// Shows this JPEG as the sent picture. A slow viewer misses pictures, and none wait.
    pub(crate) fn show_sent(&self, jpeg: &[u8]) {
        self.shared.sent.show(jpeg);
    }

    /// Shows this JPEG as the received picture, in the same way.
    pub(crate) fn show_received(&self, jpeg: &[u8]) {
        self.shared.received.show(jpeg);
    }

    /// Adds a sample to the charts: about ten a second. A viewer that joins late gets the last [`history::SPAN_S`]
    /// seconds.
    pub(crate) fn publish(&self, sample: &Sample) {
        let repeat = self.shared.repeat.lock();
        let command = repeat.unwrap_or_else(PoisonError::into_inner).line();
        let sample = Sample {
            command,
            ..sample.clone()
        };
        self.shared.history.push(&sample);
    }
}

/// The reason for which the page cannot be served. Each is one line that states the remedy.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PageError {
    /// Other programs listen on the port and on those after it.
    #[error(
        "the page's address {bind} and the {} ports after it are in use: end another program or choose with --page {}:0 (any free port)",
        PORTS_TRIED - 1,
        Host(bind)
    )]
    Busy {
        /// The requested address.
        bind: SocketAddr,
    },
    /// This machine cannot listen on the address.
    #[error(
        "the page cannot listen on {bind}: {error}; choose an address of this machine with --page ADDRESS:PORT"
    )]
    Bind {
        /// The requested address.
        bind: SocketAddr,
        /// The system's error.
        error: io::Error,
    },
    /// The server's thread or its event loop cannot be created.
    #[error("the page cannot start: {error}; --headless runs without it")]
    Start {
        /// The system's error.
        error: io::Error,
    },
}

/// Listens on `bind`, or on the first of the `ports` ports from there that is not in use.
fn listen(bind: SocketAddr, ports: u16) -> io::Result<TcpListener> {
    let first = TcpListener::bind(bind);
    let is_busy = matches!(&first, Err(error) if error.kind() == io::ErrorKind::AddrInUse);
    if !is_busy {
        return first;
    }
    let others = (1..ports).filter_map(|step| {
        let mut other = bind;
        other.set_port(bind.port().checked_add(step)?);
        TcpListener::bind(other).ok()
    });
    others.into_iter().next().map_or(first, Ok)
}

impl PageError {
    fn bind(bind: SocketAddr, error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::AddrInUse {
            Self::Busy { bind }
        } else {
            Self::Bind { bind, error }
        }
    }
}

/// An address without its port, with the brackets of a socket address.
struct Host<'a>(&'a SocketAddr);

impl fmt::Display for Host<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            SocketAddr::V4(v4) => write!(f, "{}", v4.ip()),
            SocketAddr::V6(v6) => write!(f, "[{}]", v6.ip()),
        }
    }
}
