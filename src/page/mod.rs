//! The live page: what a session does, watched and steered from a browser.
//!
//! A reader of samples and pictures, never a part of the media path: everything handed to [`Page`]
//! is kept as "the latest" in bounded memory, and no call waits for a viewer. The server runs on its
//! own thread; its assets are compiled in, so there is no build step and no outside resource.

mod guard;
mod history;
mod knobs;
mod pictures;
mod routes;
mod sample;
mod server;

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;

use futures_util::future::{self, Either};
use tokio::sync::oneshot;

use self::history::History;
use self::pictures::Pictures;

pub(crate) use self::knobs::Knobs;
pub(crate) use self::sample::{Mode, PageInfo, Sample, SenderState};

/// Applies the knobs that a viewer moved; an error is one line, shown to that viewer.
type Controls = Box<dyn Fn(Knobs) -> Result<(), String> + Send + Sync>;

/// A running server. Dropping it stops it, as [`Page::stop`] does.
pub(crate) struct Page {
    shared: Arc<Shared>,
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What the program's threads write and the server's thread reads.
struct Shared {
    /// [`PageInfo`] and the knobs' ranges, as JSON.
    info: String,
    history: History,
    sent: Pictures,
    received: Pictures,
    /// Absent where there is no link to steer.
    controls: Option<Controls>,
}

impl Page {
    /// Listens on `bind` and serves until stopped; port 0 takes any free one ([`Page::address`]).
    ///
    /// `controls` is called on the server's thread with knobs whose ranges were checked, and should
    /// return quickly; it is never called when [`PageInfo::knobs`] is false.
    pub(crate) fn start(
        bind: SocketAddr,
        info: &PageInfo,
        controls: impl Fn(Knobs) -> Result<(), String> + Send + Sync + 'static,
    ) -> Result<Self, PageError> {
        let listener = TcpListener::bind(bind).map_err(|error| PageError::bind(bind, error))?;
        let failed = |error| PageError::Start { error };
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(failed)?;
        let info_json = info.with_limits();
        let shared = Arc::new(Shared {
            history: History::new(&info_json),
            info: info_json,
            sent: Pictures::new(),
            received: Pictures::new(),
            controls: info.knobs.then(|| Box::new(controls) as Controls),
        });
        let (stop, stopped) = oneshot::channel();
        let router = routes::router(Arc::clone(&shared));
        let thread = std::thread::Builder::new()
            .name("page".into())
            .spawn(move || {
                runtime.block_on(async {
                    let serving = std::pin::pin!(server::serve(listener, router));
                    match future::select(serving, stopped).await {
                        // The address was taken over already; only a runtime without I/O refuses it.
                        Either::Left((error, _)) => {
                            eprintln!("evenkeel: the page stopped: {error}")
                        }
                        Either::Right(_) => {}
                    }
                });
            })
            .map_err(failed)?;
        Ok(Self {
            shared,
            address,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Where the page is served, with the port that was taken.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// True while somebody watches a picture: only then is it worth encoding one.
    pub(crate) fn has_viewers(&self) -> bool {
        self.shared.sent.watched() || self.shared.received.watched()
    }

    /// Shows this JPEG as the picture that is sent. A slow viewer misses pictures; nothing queues.
    pub(crate) fn show_sent(&self, jpeg: &[u8]) {
        self.shared.sent.show(jpeg);
    }

    /// Shows this JPEG as the picture that is received, likewise.
    pub(crate) fn show_received(&self, jpeg: &[u8]) {
        self.shared.received.show(jpeg);
    }

    /// Adds a sample to the charts: about ten a second. Who joins late gets the last
    /// [`history::SPAN_S`] seconds.
    pub(crate) fn publish(&self, sample: &Sample) {
        self.shared.history.push(sample);
    }

    /// Ends the server and its connections, and waits for its thread.
    pub(crate) fn stop(self) {}
}

impl Drop for Page {
    fn drop(&mut self) {
        // Either end may be gone already when the thread has failed: nothing is left to stop then.
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Why the page cannot be served. Each is one line that says what to do.
#[derive(Debug)]
pub(crate) enum PageError {
    /// Another program listens there.
    Busy {
        /// The address asked for.
        bind: SocketAddr,
    },
    /// This machine cannot listen there.
    Bind {
        /// The address asked for.
        bind: SocketAddr,
        /// Why.
        error: io::Error,
    },
    /// The server's thread or its event loop cannot be had.
    Start {
        /// Why.
        error: io::Error,
    },
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

impl fmt::Display for PageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy { bind } => write!(
                f,
                "the page's address {bind} is in use: end the other program or choose another with --page {}:0 (any free port)",
                Host(bind)
            ),
            Self::Bind { bind, error } => write!(
                f,
                "the page cannot listen on {bind}: {error}; choose an address of this machine with --page ADDRESS:PORT"
            ),
            Self::Start { error } => write!(
                f,
                "the page cannot start: {error}; --headless runs without it"
            ),
        }
    }
}

impl std::error::Error for PageError {}

/// An address without its port, bracketed as a socket address wants it.
struct Host<'a>(&'a SocketAddr);

impl fmt::Display for Host<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            SocketAddr::V4(v4) => write!(f, "{}", v4.ip()),
            SocketAddr::V6(v6) => write!(f, "[{}]", v6.ip()),
        }
    }
}
