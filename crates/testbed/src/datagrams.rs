//! Datagrams that heed nothing: the simulator's own source, on the clock of the machine.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use evenkeel_net::Clock;
use evenkeel_sim::{Agent as _, Source};
use tfrc::time::{Duration, Instant};
use tfrc::units::Bytes;

/// The longest that a packet of any thread that sends left after its time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Latest(Arc<AtomicU64>);

impl Latest {
    fn record(&self, late: Duration) {
        let nanos = u64::try_from(late.as_nanos()).unwrap_or(u64::MAX);
        self.0.fetch_max(nanos, Ordering::Relaxed);
    }

    /// So late, or nothing if none was.
    pub(crate) fn get(&self) -> Option<Duration> {
        let nanos = self.0.load(Ordering::Relaxed);
        (nanos > 0).then(|| Duration::from_nanos(nanos))
    }
}

/// A thread that sends. Dropping it stops the datagrams.
pub(crate) struct Datagrams {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// How soon it stops when it is told to.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

impl Datagrams {
    /// Sends from the network namespace of the calling thread what the source makes, whose time counts from
    /// `zero`. Its sizes are sizes of IP packets: `headers` bytes more than a socket is given.
    pub(crate) fn start(
        clock: Clock,
        zero: Instant,
        mut source: Source,
        to: SocketAddr,
        headers: Bytes,
        latest: Latest,
    ) -> io::Result<Self> {
        let socket = UdpSocket::bind("0.0.0.0:0")?;
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let thread = thread::Builder::new()
            .name("datagrams".into())
            .spawn(move || {
                let payload = [0; 1 << 16];
                while let Some(next) = source.poll_timeout() {
                    let due = zero + (next - Instant::ZERO);
                    clock.sleep_until(due.min(clock.now() + POLL_INTERVAL));
                    if over.load(Ordering::Relaxed) {
                        return;
                    }
                    let woken = clock.now();
                    let now = Instant::ZERO + woken.saturating_since(zero);
                    while let Some(packet) = source.poll_transmit(now) {
                        let size = packet.size.get().saturating_sub(headers.get());
                        let bytes = payload.get(..size as usize).unwrap_or(&payload);
                        // What the system does not take is lost, as in any network.
                        let _ = socket.send_to(bytes, to);
                        latest.record(woken.saturating_since(due));
                    }
                }
            })?;
        Ok(Self {
            is_over,
            thread: Some(thread),
        })
    }
}

impl Drop for Datagrams {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic has been printed by its thread.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_link::Random;
    use evenkeel_sim::Pattern;
    use tfrc::units::Rate;

    #[test]
    fn what_the_source_makes_is_sent_and_no_more() {
        let sink = UdpSocket::bind("127.0.0.1:0").unwrap();
        sink.set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        let clock = Clock::start();
        let pattern = Pattern::Constant {
            size: Bytes::new(500),
            rate: Rate::from_bits_per_sec(4e6),
        };
        let times = [Instant::ZERO, Instant::from_millis(20)];
        let source = Source::new(pattern, times[0], times[1], Random::new(1, 1)).unwrap();
        let to = sink.local_addr().unwrap();
        let latest = Latest::default();
        let headers = Bytes::new(28);
        let sender =
            Datagrams::start(clock, clock.now(), source, to, headers, latest.clone()).unwrap();
        let mut buffer = [0; 2_000];
        for _ in 0..20 {
            assert_eq!(sink.recv(&mut buffer).unwrap(), 472);
        }
        drop(sender);
        sink.set_nonblocking(true).unwrap();
        assert!(sink.recv(&mut buffer).is_err());
        // No thread hands over a packet in the nanosecond in which it is due.
        assert!(latest.get().is_some());
    }
}
