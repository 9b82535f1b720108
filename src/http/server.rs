//! Serves connections, in the clear or over TLS, with bounds on their number and on their idle time.

use std::io::{self, IoSlice};
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;
use tokio::time::{Sleep, sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::slots::{SlotLimits, Slots};

/// The time that a request's head may take, and that an idle connection may stay.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// The time for which a viewer may read nothing before it counts as gone, such as a closed laptop.
const STALL_TIMEOUT: Duration = Duration::from_secs(20);
/// The most bytes of a request's head, and of an answer that waits.
const MAX_BUFFER: usize = 64 * 1_024;
/// The time to wait when the system has no connection to give (no file descriptor left).
const ACCEPT_RETRY: Duration = Duration::from_millis(200);

/// The host that a request comes from, an extension of each request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestSource(pub(crate) IpAddr);

/// Serves for ever; returns the error that prevented the start.
pub(super) async fn serve(
    listener: std::net::TcpListener,
    tls: Option<TlsAcceptor>,
    router: Router,
    limits: SlotLimits,
) -> io::Error {
    let listener = match TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => return error,
    };
    let connections = Connections(Arc::new(Mutex::new(Slots::new(limits))));
    let mut id = 0;
    loop {
        id += 1;
        match listener.accept().await {
            Ok((stream, address)) => {
                let place = Place {
                    id,
                    connections: connections.clone(),
                };
                let source = RequestSource(address.ip());
                let router = router.clone().layer(Extension(source));
                let task = tokio::spawn(serve_connection(stream, tls.clone(), router, place));
                let evicted = connections
                    .lock()
                    .add(id, address.ip(), task.abort_handle());
                if let Some(evicted) = evicted {
                    evicted.abort();
                }
            }
            // Other connections continue after the failure of one, or a temporary shortage.
            Err(_) => sleep(ACCEPT_RETRY).await,
        }
    }
}

/// The connections of a server, each with the means to end it.
#[derive(Clone)]
struct Connections(Arc<Mutex<Slots<AbortHandle>>>);

impl Connections {
    fn lock(&self) -> MutexGuard<'_, Slots<AbortHandle>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of a connection among the others, which is free once this is dropped.
struct Place {
    id: u64,
    connections: Connections,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.connections.lock().remove(self.id);
    }
}

/// Serves one connection to its end.
async fn serve_connection(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    router: Router,
    place: Place,
) {
    // Latency is better without Nagle's delay, but the page also works with it.
    let _ = stream.set_nodelay(true);
    let stream = WriteTimeoutStream {
        stream,
        place,
        stall: None,
    };
    match tls {
        None => answer_requests(stream, router).await,
        Some(tls) => {
            // The handshake is part of the request's head.
            if let Ok(Ok(stream)) = timeout(HEADER_TIMEOUT, tls.accept(stream)).await {
                answer_requests(stream, router).await;
            }
        }
    }
}

async fn answer_requests(stream: impl AsyncRead + AsyncWrite + Unpin, router: Router) {
    // A viewer that leaves or breaks the protocol ends only its own connection, which is no error.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(MAX_BUFFER)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
        .await;
}

/// A stream whose writes fail once the other end has taken nothing for [`STALL_TIMEOUT`].
struct WriteTimeoutStream {
    stream: TcpStream,
    place: Place,
    /// The timer, which runs while a write waits.
    stall: Option<Pin<Box<Sleep>>>,
}

impl WriteTimeoutStream {
    fn watch<T>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stall = None;
            self.place.connections.lock().answer(self.place.id);
            return written;
        }
        let stall = self
            .stall
            .get_or_insert_with(|| Box::pin(sleep(STALL_TIMEOUT)));
        ready!(stall.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for WriteTimeoutStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for WriteTimeoutStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.watch(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.watch(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
