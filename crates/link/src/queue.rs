//! The drop-tail queue in front of the wire.

use std::collections::VecDeque;
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, Rate};

/// How much may wait. The packet on the wire does not count: it has left the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// At most this many bytes.
    Bytes(Bytes),
    /// At most this many packets, of any size.
    Packets(u64),
    /// At most what the link carries in this time at its current rate: the limit follows the rate.
    /// While the rate is zero, the last rate above zero counts, so that an outage fills the buffer
    /// instead of abolishing it.
    Time(Duration),
}

/// A packet that waits.
#[derive(Clone, Debug)]
pub(crate) struct Waiting<P> {
    pub(crate) packet: P,
    pub(crate) size: Bytes,
    pub(crate) arrival: Instant,
}

/// First in, first out; what does not fit is dropped on arrival.
#[derive(Clone, Debug)]
pub(crate) struct Queue<P> {
    waiting: VecDeque<Waiting<P>>,
    bytes: Bytes,
    limit: QueueLimit,
}

impl<P> Queue<P> {
    pub(crate) fn new(limit: QueueLimit) -> Self {
        Self {
            waiting: VecDeque::new(),
            bytes: Bytes::ZERO,
            limit,
        }
    }

    pub(crate) fn limit(&self) -> QueueLimit {
        self.limit
    }

    /// Changes the limit. What already waits stays, as in a router.
    pub(crate) fn set_limit(&mut self, limit: QueueLimit) {
        self.limit = limit;
    }

    pub(crate) fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// True if a packet of `size` may join while the link runs at `rate`.
    pub(crate) fn admits(&self, size: Bytes, rate: Rate) -> bool {
        match self.limit {
            QueueLimit::Bytes(limit) => self.bytes + size <= limit,
            QueueLimit::Packets(limit) => (self.waiting.len() as u64) < limit,
            QueueLimit::Time(limit) => self.bytes + size <= bytes_in(limit, rate),
        }
    }

    pub(crate) fn push(&mut self, waiting: Waiting<P>) {
        self.bytes += waiting.size;
        self.waiting.push_back(waiting);
    }

    pub(crate) fn pop(&mut self) -> Option<Waiting<P>> {
        let waiting = self.waiting.pop_front()?;
        self.bytes -= waiting.size;
        Some(waiting)
    }
}

/// What `rate` carries in `time`: whole nanoseconds keep the product exact for any ordinary rate.
fn bytes_in(time: Duration, rate: Rate) -> Bytes {
    Bytes::new((rate.bytes_per_sec() * time.as_nanos() as f64 / 1e9) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many packets of `size` bytes a queue takes at 1000 bytes a second.
    fn fits(limit: QueueLimit, size: u64) -> usize {
        let rate = Rate::from_bytes_per_sec(1_000.0);
        let mut queue = Queue::new(limit);
        while queue.admits(Bytes::new(size), rate) && queue.waiting.len() < 1_000 {
            queue.push(Waiting {
                packet: (),
                size: Bytes::new(size),
                arrival: Instant::ZERO,
            });
        }
        queue.waiting.len()
    }

    #[test]
    fn each_limit_is_exact() {
        assert_eq!(fits(QueueLimit::Bytes(Bytes::new(500)), 100), 5);
        assert_eq!(fits(QueueLimit::Bytes(Bytes::new(499)), 100), 4);
        assert_eq!(fits(QueueLimit::Packets(7), 100), 7);
        assert_eq!(fits(QueueLimit::Packets(0), 100), 0);
        assert_eq!(fits(QueueLimit::Time(Duration::from_millis(500)), 100), 5);
        assert_eq!(fits(QueueLimit::Time(Duration::from_millis(499)), 100), 4);
    }

    #[test]
    fn an_unlimited_rate_admits_to_a_time_limited_queue() {
        let queue: Queue<()> = Queue::new(QueueLimit::Time(Duration::from_millis(1)));
        assert!(queue.admits(Bytes::new(1_500), Rate::INFINITY));
    }
}
