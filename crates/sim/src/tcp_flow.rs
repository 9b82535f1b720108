//! TCP as the two ends of a flow.

use crate::agent::{Agent, Packet};
use crate::body::Body;
use crate::tcp::{Config, ConfigError, Receiver, Sender};
use evenkeel_prefetch::prefetch;
use tfrc::Ecn;
use tfrc::time::Instant;
use tfrc::units::Bytes;

/// A sender that starts, and perhaps stops, at a given time.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct TcpSender {
    sender: Sender,
    /// When it starts, until it has.
    start: Option<Instant>,
    stop: Instant,
}

impl TcpSender {
    /// A sender that waits for its start, and sends nothing more from `stop` on.
    pub fn new(config: &Config, start: Instant, stop: Instant) -> Result<Self, ConfigError> {
        Ok(Self {
            sender: Sender::new(config)?,
            start: Some(start),
            stop,
        })
    }

    /// Its state: window, round-trip time, what it sent.
    pub fn sender(&self) -> &Sender {
        &self.sender
    }
}

impl Agent for TcpSender {
    type Body = Body;

    fn handle_packet(&mut self, now: Instant, packet: &Packet<Body>) {
        if let Body::TcpAck(ack) = packet.body {
            self.sender.handle_ack(now, ack);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if now < self.stop {
            self.sender.handle_timeout(now);
        }
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<Body>> {
        if self.start.is_some_and(|start| now < start) || now >= self.stop {
            return None;
        }
        self.start = None;
        let segment = self.sender.poll_transmit(now)?;
        Some(Packet {
            size: segment.size,
            ecn: segment.ecn,
            body: Body::TcpSegment(segment),
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.start
            .or_else(|| self.sender.poll_timeout())
            .filter(|&at| at < self.stop)
    }

    fn prefetch(&self) {
        prefetch(self);
    }
}

/// The receiver of a flow.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct TcpReceiver {
    receiver: Receiver,
    ack_size: Bytes,
    received: Bytes,
}

impl TcpReceiver {
    /// A receiver that has seen nothing.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        Ok(Self {
            receiver: Receiver::new(config)?,
            ack_size: config.header,
            received: Bytes::ZERO,
        })
    }

    /// Its state: what it delivered.
    pub fn receiver(&self) -> &Receiver {
        &self.receiver
    }

    /// What has arrived, headers and packets that came twice included.
    pub fn received(&self) -> Bytes {
        self.received
    }
}

impl Agent for TcpReceiver {
    type Body = Body;

    fn handle_packet(&mut self, now: Instant, packet: &Packet<Body>) {
        if let Body::TcpSegment(mut segment) = packet.body {
            segment.ecn = packet.ecn;
            self.received += packet.size;
            self.receiver.handle_segment(now, segment);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.receiver.handle_timeout(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<Body>> {
        let ack = self.receiver.poll_ack(now)?;
        Some(Packet {
            size: self.ack_size,
            ecn: Ecn::NotEct,
            body: Body::TcpAck(ack),
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.receiver.poll_timeout()
    }

    fn prefetch(&self) {
        prefetch(self);
    }
}
