//! TFRC without the bytes: the same sender and receiver that a session has, at a fraction of its cost.
//!
//! What crosses the wire is rounded as the wire rounds it, so a flow behaves as two sessions do
//! (`tests/tfrc.rs` holds one against the other). What is left out is what TFRC does not see: RTCP
//! compounds after the first, and the checks of a hostile network.

use crate::agent::{Agent, Packet};
use crate::body::Body;
use evenkeel_prefetch::{prefetch, prefetch_part};
use evenkeel_rtp::packet::ext::RttSendTs;
use evenkeel_rtp::packet::rtcp::TfrcFeedback;
use tfrc::time::Instant;
use tfrc::units::Bytes;
use tfrc::{Arrival, Ecn, Feedback, Receiver, ReceiverConfig, Sender, SenderConfig};

/// IPv4 and UDP headers, which links carry and TFRC does not count.
pub const LOWER_LAYERS: Bytes = Bytes::new(28);

/// How a [`TfrcSender`] behaves.
#[derive(Clone, Debug)]
pub struct TfrcConfig {
    /// When it starts.
    pub start: Instant,
    /// When it stops, if it does.
    pub stop: Option<Instant>,
    /// The size of every packet on the wire, headers of all layers included. At least 29 bytes.
    pub packet_size: Bytes,
    /// How TFRC behaves; its segment size is taken from `packet_size`, except with
    /// [`SenderConfig::small_packets`], whose size is the size of a TCP's packets.
    pub tfrc: SenderConfig,
    /// Sends ECT(0).
    pub ecn: bool,
}

impl Default for TfrcConfig {
    /// Packets of 1000 bytes from time zero on, for ever, without ECN.
    fn default() -> Self {
        Self {
            start: Instant::ZERO,
            stop: None,
            packet_size: Bytes::new(1_000),
            tfrc: SenderConfig::default(),
            ecn: false,
        }
    }
}

/// The sender of a flow that always has something to send.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct TfrcSender {
    start: Instant,
    stop: Option<Instant>,
    packet_size: Bytes,
    ecn: bool,
    /// What TFRC counts: the packet without [`LOWER_LAYERS`].
    segment: Bytes,
    sender: Sender,
    next_sequence: u64,
    last_departure: Instant,
}

impl TfrcSender {
    /// A sender that waits for its start.
    ///
    /// # Panics
    ///
    /// Panics if [`SenderConfig::validate`] refuses `config.tfrc` or the size of the packets.
    #[track_caller]
    pub fn new(config: TfrcConfig) -> Self {
        let segment = (config.packet_size - LOWER_LAYERS).max(Bytes::new(1));
        let mut tfrc = config.tfrc;
        if !tfrc.small_packets {
            tfrc.segment_size = segment;
        }
        Self {
            sender: Sender::new(config.start, tfrc),
            segment,
            next_sequence: 0,
            last_departure: Instant::ZERO,
            start: config.start,
            stop: config.stop,
            packet_size: config.packet_size,
            ecn: config.ecn,
        }
    }

    /// Its state: X, R, p.
    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    /// How many packets it has sent.
    pub fn packets_sent(&self) -> u64 {
        self.next_sequence
    }

    fn is_running(&self, now: Instant) -> bool {
        now >= self.start && self.stop.is_none_or(|stop| now < stop)
    }

    /// The next packet, if it may leave now; what it carries was ready to be sent at `ready`.
    pub(crate) fn poll_data(&mut self, now: Instant, ready: Instant) -> Option<Packet<Body>> {
        if !self.is_running(now) || self.sender.next_departure(now) > now {
            return None;
        }
        let timing = RttSendTs::new(self.sender.rtt(), now.as_micros() as u32);
        self.sender.handle_sent(now, self.segment);
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        self.last_departure = now;
        Some(Packet {
            size: self.packet_size,
            ecn: if self.ecn { Ecn::Ect0 } else { Ecn::NotEct },
            body: Body::TfrcData {
                sequence,
                timing,
                ready,
            },
        })
    }

    /// When to wake it next if what it sends next is ready at `ready`, or if nothing is to come.
    pub(crate) fn next_wake(&self, ready: Option<Instant>) -> Option<Instant> {
        if self.next_sequence == 0 {
            return ready.map(|ready| ready.max(self.start));
        }
        let departure = self.sender.next_departure(self.last_departure);
        let timer = self.sender.poll_timeout();
        let next = ready.map_or(timer, |ready| timer.min(ready.max(departure)));
        self.stop.is_none_or(|stop| next < stop).then_some(next)
    }

    fn handle_report(&mut self, now: Instant, report: &TfrcFeedback) {
        let age = (now.as_micros() as u32).wrapping_sub(report.timestamp);
        let Some(sent_micros) = now.as_micros().checked_sub(age.into()) else {
            return;
        };
        self.sender.handle_feedback(
            now,
            &Feedback {
                sent_at: Instant::from_micros(sent_micros),
                delay: report.delay(),
                receive_rate: report.rate(),
                loss_event_rate: report.p(),
            },
        );
    }
}

impl Agent for TfrcSender {
    type Body = Body;

    fn handle_packet(&mut self, now: Instant, packet: &Packet<Body>) {
        if let Body::TfrcReport(report) = packet.body
            && self.is_running(now)
        {
            self.handle_report(now, &report);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.next_sequence > 0 && self.is_running(now) {
            self.sender.handle_timeout(now);
        }
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<Body>> {
        self.poll_data(now, now)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.next_wake(Some(Instant::ZERO))
    }

    fn prefetch(&self) {
        prefetch(self);
    }
}

/// The receiver of a flow.
#[derive(Clone, Debug)]
pub struct TfrcReceiver {
    receiver: Receiver,
    received: Bytes,
}

impl TfrcReceiver {
    /// A receiver that has seen nothing.
    ///
    /// # Panics
    ///
    /// Panics if [`ReceiverConfig::validate`] refuses `config`.
    #[track_caller]
    pub fn new(config: ReceiverConfig) -> Self {
        Self {
            receiver: Receiver::new(config),
            received: Bytes::ZERO,
        }
    }

    /// Its state: p, X_recv, what was received and lost.
    pub fn receiver(&self) -> &Receiver {
        &self.receiver
    }

    /// What has arrived, headers of all layers included.
    pub fn received(&self) -> Bytes {
        self.received
    }

    /// A report leaves reduced in size once the sender is known to hear us, as a session's does.
    fn report_size(&self) -> Bytes {
        let rtcp = if self.receiver.round_trip_time().is_some() {
            TfrcFeedback::PACKET_LEN
        } else {
            FIRST_COMPOUND + TfrcFeedback::PACKET_LEN
        };
        LOWER_LAYERS + Bytes::from(rtcp)
    }
}

impl Agent for TfrcReceiver {
    type Body = Body;

    fn handle_packet(&mut self, now: Instant, packet: &Packet<Body>) {
        let Body::TfrcData {
            sequence, timing, ..
        } = packet.body
        else {
            return;
        };
        self.received += packet.size;
        self.receiver.handle_data(&Arrival {
            seq: sequence,
            at: now,
            timestamp: timing.send_time,
            rtt: timing.rtt(),
            size: packet.size - LOWER_LAYERS,
            ecn: packet.ecn,
        });
    }

    fn handle_timeout(&mut self, _now: Instant) {}

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<Body>> {
        let report = self.receiver.poll_report(now)?;
        Some(Packet {
            size: self.report_size(),
            ecn: Ecn::NotEct,
            body: Body::TfrcReport(TfrcFeedback::new(
                report.timestamp,
                report.delay,
                report.receive_rate,
                report.loss_event_rate,
            )),
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.receiver.poll_timeout()
    }

    fn prefetch(&self) {
        prefetch_part(&self.receiver, Receiver::CACHED);
        prefetch(&self.received);
    }
}

/// A receiver report with one block and a name of some ten bytes (RFC 3550 §6).
const FIRST_COMPOUND: usize = 8 + 24 + 24;
