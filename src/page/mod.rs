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
mod server;

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use futures_util::future::{self, Either};
use tokio::sync::oneshot;

use self::history::History;
use self::pictures::Pictures;
use self::repeat::Repeat;

use crate::failure;

pub(crate) use self::knobs::Knobs;
pub(crate) use self::sample::{Mode, PageInfo, Sample, SenderState};

/// The number of ports that are tried, from the requested one on: as many runs as one machine may well have at
/// once.
const PORTS_TRIED: u16 = 20;

/// Applies the knobs that a viewer moved; an error is one line, shown to that viewer.
pub(crate) type Controls = Box<dyn Fn(Knobs) -> Result<(), String> + Send + Sync>;

/// A running server, which ends with its connections and its thread when this is dropped.
pub(crate) struct Page {
    shared: Arc<Shared>,
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// The state that the threads of the program write and the server's thread reads.
struct Shared {
    /// The [`PageInfo`] and the knobs' ranges, as JSON.
    info: String,
    history: History,
    sent: Pictures,
    received: Pictures,
    repeat: Mutex<Repeat>,
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
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(failed)?;
        let info_json = info.with_limits(controls.is_some());
        let shared = Arc::new(Shared {
            history: History::new(&info_json),
            info: info_json,
            sent: Pictures::new(),
            received: Pictures::new(),
            repeat: Mutex::new(Repeat::new(&info.words)),
            controls,
        });
        let (stop, stopped) = oneshot::channel();
        let router = routes::router(Arc::clone(&shared));
        let thread = std::thread::Builder::new()
            .name("page".into())
            .spawn(move || {
                runtime.block_on(async {
                    let serving = std::pin::pin!(server::serve(listener, router));
                    match future::select(serving, stopped).await {
                        // The address is already in use by this listener, so only a runtime without I/O refuses it.
                        Either::Left((error, _)) => {
                            failure::warn(format_args!("the page stopped: {error}"));
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

    /// Returns the address of the page, with the actual port.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
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

impl Drop for Page {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    use std::net::TcpStream;
    use std::sync::mpsc;

    fn info() -> PageInfo {
        PageInfo {
            source: "built-in scene".into(),
            width: Some(640),
            height: Some(480),
            fps: Some(25.0),
            seed: Some(1),
            words: vec!["evenkeel".into(), "demo".into()],
            mode: Mode::Demo,
            choices: BTreeMap::new(),
            deadline_ms: 150.0,
            max_rate_bps: None,
        }
    }

    fn start() -> Page {
        let any_port = "127.0.0.1:0".parse().unwrap();
        Page::start(any_port, &info(), Some(Box::new(|_| Ok(())))).unwrap()
    }

    /// Sends a request, and returns the stream of its answer.
    fn ask(page: &Page, request: &str) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(page.address()).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        BufReader::new(stream)
    }

    fn get(page: &Page, path: &str) -> BufReader<TcpStream> {
        ask(
            page,
            &format!(
                "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
                page.address()
            ),
        )
    }

    fn post(page: &Page, json: &str) -> String {
        let length = json.len();
        let head = "POST /api/link HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json";
        let mut answer = String::new();
        ask(
            page,
            &format!("{head}\r\nContent-Length: {length}\r\n\r\n{json}"),
        )
        .read_to_string(&mut answer)
        .unwrap();
        answer
    }

    /// Returns the first line that starts with `start`.
    fn line(answer: &mut BufReader<TcpStream>, start: &str) -> String {
        answer
            .lines()
            .map(Result::unwrap)
            .find(|line| line.starts_with(start))
            .unwrap()
    }

    #[test]
    fn busy_port_gives_way_to_the_next_free_one() {
        let first = start();
        let second = Page::start(first.address(), &info(), None).expect("another port");
        let [taken, free] = [first.address(), second.address()].map(|address| address.port());
        assert!(
            free > taken && free - taken < PORTS_TRIED,
            "{taken}, {free}"
        );
        let refused = listen(first.address(), 1).expect_err("the only port is taken");
        let all_taken = PageError::bind(first.address(), refused);
        let remedy = "end another program or choose with --page 127.0.0.1:0 (any free port)";
        assert_eq!(
            all_taken.to_string(),
            format!(
                "the page's address {} and the 19 ports after it are in use: {remedy}",
                first.address()
            )
        );
    }

    #[test]
    fn a_stopped_page_gives_its_port_back() {
        let page = start();
        let address = page.address();
        let mut open = get(&page, "/api/events");
        line(&mut open, "data: {");
        drop(page);
        let again = Page::start(address, &info(), None).expect("a free port");
        assert_eq!(again.address(), address);
    }

    #[test]
    fn samples_reach_a_viewer_as_events() {
        let page = start();
        page.publish(&Sample {
            t_s: 1.0,
            ..Sample::default()
        });
        let mut events = get(&page, "/api/events");
        assert!(line(&mut events, "data: {").contains("\"source\":\"built-in scene\""));
        assert!(line(&mut events, "data: [").contains("\"t_s\":1.0"));
        page.publish(&Sample {
            t_s: 2.0,
            ..Sample::default()
        });
        assert!(line(&mut events, "data: {").contains("\"t_s\":2.0"));
    }

    #[test]
    fn a_viewer_that_reads_nothing_holds_nobody_up() {
        let page = start();
        let mut viewer = get(&page, "/sent.mjpg");
        line(&mut viewer, "--picture");
        assert!(page.has_viewers());
        // The pictures far exceed the sockets' buffers, so this ends only if nothing waits for the viewer.
        (0..5_000).for_each(|_| page.show_sent(&[0; 50_000]));
        page.show_sent(b"the last one");
        line(&mut viewer, "Content-Type: image/jpeg");
    }

    #[test]
    fn knobs_reach_the_controls_and_refusals_the_viewer() {
        let (moved, moves) = mpsc::channel();
        let any_port = "127.0.0.1:0".parse().unwrap();
        let controls: Controls = Box::new(move |knobs| {
            moved.send(knobs).unwrap();
            if knobs.loss_pct.is_some() {
                Err("the link is gone".into())
            } else {
                Ok(())
            }
        });
        let page = Page::start(any_port, &info(), Some(controls)).unwrap();
        assert!(post(&page, r#"{"rate_bps": 2e6}"#).starts_with("HTTP/1.1 200 "));
        assert_eq!(moves.try_recv().unwrap().rate_bps, Some(2e6));
        let refused = post(&page, r#"{"loss_pct": 1}"#);
        assert!(
            refused.starts_with("HTTP/1.1 409 ") && refused.ends_with("the link is gone\n"),
            "{refused}"
        );
        assert_eq!(moves.try_recv().unwrap().loss_pct, Some(1.0));
        assert!(post(&page, r#"{"rate_bps": 0}"#).starts_with("HTTP/1.1 422 "));
        assert!(post(&page, &" ".repeat(5_000)).starts_with("HTTP/1.1 413 "));
        assert!(moves.try_recv().is_err());
    }

    #[test]
    fn a_run_without_a_link_has_no_knobs() {
        let any_port = "127.0.0.1:0".parse().unwrap();
        let page = Page::start(any_port, &info(), None).unwrap();
        assert!(post(&page, r#"{"rate_bps": 2e6}"#).starts_with("HTTP/1.1 404 "));
    }

    #[test]
    fn a_rebound_name_gets_nothing() {
        let page = start();
        let mut answer = ask(&page, "GET / HTTP/1.1\r\nHost: rebound.example\r\n\r\n");
        assert!(line(&mut answer, "HTTP/1.1").contains("421"));
    }
}
