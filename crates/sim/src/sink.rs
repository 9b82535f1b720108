//! The end of a flow that answers nothing.

use crate::agent::{Agent, Packet};
use crate::body::Body;
use tfrc::time::{Duration, Instant};
use tfrc::units::Bytes;

/// Counts datagrams and their delays.
#[derive(Clone, Debug, Default)]
pub struct Sink {
    packets: u64,
    bytes: Bytes,
    highest: Option<u64>,
    delay_sum: Duration,
    delay_max: Duration,
}

impl Sink {
    /// How many datagrams have arrived.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// What has arrived, headers of all layers included.
    pub fn received(&self) -> Bytes {
        self.bytes
    }

    /// How many of the datagrams sent before the newest arrival have not arrived.
    pub fn missing(&self) -> u64 {
        self.highest
            .map_or(0, |highest| (highest + 1).saturating_sub(self.packets))
    }

    /// The mean time from departure to arrival; `None` before the first arrival.
    pub fn mean_delay(&self) -> Option<Duration> {
        let nanos = self.delay_sum.as_nanos().checked_div(self.packets.into())?;
        Some(Duration::from_nanos(
            u64::try_from(nanos).unwrap_or(u64::MAX),
        ))
    }

    /// The longest time from departure to arrival.
    pub fn max_delay(&self) -> Duration {
        self.delay_max
    }
}

impl Agent for Sink {
    type Body = Body;

    fn handle_packet(&mut self, now: Instant, packet: &Packet<Body>) {
        let Body::Datagram { sequence, sent } = packet.body else {
            return;
        };
        self.packets += 1;
        self.bytes += packet.size;
        self.highest = self.highest.max(Some(sequence));
        let delay = now - sent;
        self.delay_sum = self.delay_sum.saturating_add(delay);
        self.delay_max = self.delay_max.max(delay);
    }

    fn handle_timeout(&mut self, _now: Instant) {}

    fn poll_transmit(&mut self, _now: Instant) -> Option<Packet<Body>> {
        None
    }

    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
}
