//! Serves connections, with bounds on their number and on their idle time.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Sleep, sleep};

/// The most connections. A viewer's page has three open; the next connection waits in the kernel's queue.
const MAX_CONNECTIONS: usize = 64;
/// The time that a request's head may take, and that an idle connection may stay.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// The time for which a viewer may read nothing before it counts as gone, such as a closed laptop.
const STALL_TIMEOUT: Duration = Duration::from_secs(20);
/// The most bytes of a request's head, and of an answer that waits.
const MAX_BUFFER: usize = 64 * 1_024;
/// The time to wait when the system has no connection to give (no file descriptor left).
const ACCEPT_RETRY: Duration = Duration::from_millis(200);

/// Serves for ever; returns the error that prevented the start.
pub(super) async fn serve(listener: std::net::TcpListener, router: Router) -> io::Error {
    let listener = match TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => return error,
    };
    let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let slot = Arc::clone(&slots)
            .acquire_owned()
            .await
            .expect("the semaphore is never closed");
        match listener.accept().await {
            Ok((stream, _)) => {
                tokio::spawn(converse(stream, router.clone(), slot));
            }
            // Other connections continue after the failure of one, or a temporary shortage.
            Err(_) => sleep(ACCEPT_RETRY).await,
        }
    }
}

/// Serves one connection to its end.
async fn converse(stream: TcpStream, router: Router, _slot: OwnedSemaphorePermit) {
    // Latency is better without Nagle's delay, but the page also works with it.
    let _ = stream.set_nodelay(true);
    let io = TokioIo::new(Impatient {
        stream,
        stall: None,
    });
    // A viewer that leaves or breaks the protocol ends only its own connection, which is no error.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(MAX_BUFFER)
        .serve_connection(io, TowerToHyperService::new(router))
        .await;
}

/// A stream whose writes fail once the other end has taken nothing for [`STALL_TIMEOUT`].
struct Impatient {
    stream: TcpStream,
    /// The timer, which runs while a write waits.
    stall: Option<Pin<Box<Sleep>>>,
}

impl Impatient {
    fn watch<T>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stall = None;
            return written;
        }
        let stall = self
            .stall
            .get_or_insert_with(|| Box::pin(sleep(STALL_TIMEOUT)));
        ready!(stall.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Impatient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Impatient {
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
