//! Writes an endpoint's datagrams to a file for Wireshark.

pub(crate) mod datagram;
mod describe;

use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread::{self, JoinHandle};

use evenkeel_rtp::endpoint::{Datagram, Endpoint, Reason, Transmit};
use tfrc::Ecn;
use tfrc::time::{Duration, Instant};

use crate::clock::Clock;
use crate::pcapng::{LinkType, Pcapng};
use crate::records::Records;

pub use describe::describe;

/// Bytes of a payload that are kept: all of any control packet, and the headers of data.
const KEPT_BYTES: usize = 512;

/// Datagrams that wait for the disk; what comes on top is left out and counted.
const MAX_QUEUED: usize = 8_192;

/// Says in a few words what a datagram is; Wireshark shows it beside the packet.
pub type Describe = fn(&[u8]) -> Option<String>;

/// Writes datagrams to a pcapng file, on a thread of its own: a slow disk delays no packet.
#[derive(Debug)]
pub struct Capture {
    sender: Option<SyncSender<Record>>,
    thread: Option<JoinHandle<io::Result<()>>>,
    zero: Duration,
    local: SocketAddr,
    missed: u64,
}

#[derive(Debug)]
struct Record {
    at: Duration,
    source: SocketAddr,
    destination: SocketAddr,
    ecn: Ecn,
    payload: Box<[u8]>,
    len: usize,
}

impl Capture {
    /// Captures to `out` what passes the socket bound to `local`. Instants are on `clock`.
    ///
    /// Fails if the system gives no thread.
    pub fn start(
        out: impl Write + Send + 'static,
        clock: &Clock,
        local: SocketAddr,
        describe: Describe,
    ) -> io::Result<Self> {
        let (sender, records) = mpsc::sync_channel(MAX_QUEUED);
        let thread = thread::Builder::new()
            .name("capture".into())
            .spawn(move || write(out, &records, describe))?;
        Ok(Self {
            sender: Some(sender),
            thread: Some(thread),
            zero: clock.wall_at_zero(),
            local,
            missed: 0,
        })
    }

    /// Writes what is left. Gives how many datagrams were left out because the disk was too slow.
    pub fn finish(mut self) -> io::Result<u64> {
        self.sender = None;
        let written = self.thread.take().map(JoinHandle::join);
        match written {
            Some(Ok(written)) => written.map(|()| self.missed),
            // It has printed its panic.
            _ => Err(io::Error::other("the capturing thread broke off")),
        }
    }

    fn record(&mut self, at: Instant, path: (SocketAddr, SocketAddr), ecn: Ecn, payload: &[u8]) {
        let record = Record {
            at: self.zero + at.saturating_since(Instant::ZERO),
            source: path.0,
            destination: path.1,
            ecn,
            payload: payload[..payload.len().min(KEPT_BYTES)].into(),
            len: payload.len(),
        };
        let sent = self.sender.as_ref().map(|sender| sender.try_send(record));
        self.missed += u64::from(!matches!(sent, Some(Ok(()))));
    }
}

fn write<W: Write>(out: W, records: &Receiver<Record>, describe: Describe) -> io::Result<()> {
    let mut out = Pcapng::new(out, LinkType::RawIp, &["udp"])?;
    loop {
        let record = match records.recv_timeout(Records::<W>::MAX_WAIT) {
            Ok(record) => record,
            Err(RecvTimeoutError::Timeout) => {
                out.flush()?;
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => return out.flush(),
        };
        let comment = describe(&record.payload);
        let datagram = datagram::Datagram {
            at: record.at,
            source: record.source,
            destination: record.destination,
            ecn: record.ecn,
            payload: &record.payload,
            len: record.len,
            comment: comment.as_deref(),
        };
        datagram::write_datagram(&mut out, &datagram)?;
    }
}

/// An endpoint whose datagrams may be captured.
#[derive(Debug)]
pub struct Tapped<E> {
    /// The endpoint.
    pub endpoint: E,
    /// Where its datagrams are written, if anywhere.
    pub capture: Option<Capture>,
}

impl<E: Endpoint> Endpoint for Tapped<E> {
    fn handle_datagram(&mut self, now: Instant, datagram: Datagram<'_>) {
        if let Some(capture) = &mut self.capture {
            let path = (datagram.source, capture.local);
            capture.record(datagram.arrival, path, datagram.ecn, datagram.payload);
        }
        self.endpoint.handle_datagram(now, datagram);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.endpoint.handle_timeout(now);
    }

    fn poll_transmit(&mut self, now: Instant, buf: &mut [u8]) -> Option<Transmit> {
        let transmit = self.endpoint.poll_transmit(now, buf)?;
        if let Some(capture) = &mut self.capture {
            let path = (capture.local, transmit.destination);
            capture.record(now, path, transmit.ecn, &buf[..transmit.len]);
        }
        Some(transmit)
    }

    fn poll_timeout(&self) -> Option<(Instant, Reason)> {
        self.endpoint.poll_timeout()
    }
}
