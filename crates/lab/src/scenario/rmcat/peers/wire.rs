//! The packets of each flow on the wire, and the frames of the product's call by its RTP headers.

use std::collections::HashMap;

use evenkeel_sim::{Body, End, FlowId, FrameLog, Observer, Packet, Traffic};
use tfrc::time::{Duration, Instant};

use super::super::Case;
use crate::metrics::Throughput;

/// The resolution of the seconds to 90 % of the link.
pub(super) const BIN: Duration = Duration::from_millis(100);
/// The static payload type of JPEG (RFC 3551 §6).
const JPEG: u8 = 26;
/// Ticks of the media clock in a second.
const MEDIA_CLOCK: f64 = 90e3;
/// What the simulated encoder takes: the first packet leaves this long after its capture.
const CODING: Duration = Duration::from_millis(3);

/// All flows, in the order in which they were added.
#[derive(Debug)]
pub(super) struct WireRecord(pub(super) Vec<WireFlow>);

/// The data of one flow.
#[derive(Debug)]
pub(super) struct WireFlow {
    pub(super) received: Throughput,
    pub(super) sent: u64,
    pub(super) arrived: u64,
    /// The frames of a call.
    pub(super) frames: Option<RtpFrames>,
}

impl WireRecord {
    /// An empty record; `logs` has the frame log of each call, in the order of the flows.
    pub(super) fn new(case: &Case, length: Duration, logs: Vec<FrameLog>) -> Self {
        let received = Throughput::new(Instant::ZERO, Instant::ZERO + length, BIN);
        let mut logs = logs.into_iter();
        let flows = case.flow.iter().map(|flow| WireFlow {
            received: received.clone(),
            sent: 0,
            arrived: 0,
            frames: flow
                .kind
                .is_call()
                .then(|| logs.next())
                .flatten()
                .map(RtpFrames::new),
        });
        Self(flows.collect())
    }
}

impl Observer<Traffic> for WireRecord {
    fn sent(&mut self, now: Instant, flow: FlowId, end: End, packet: &Packet<Body>) {
        let flow = &mut self.0[flow.index()];
        if end == End::Sender {
            flow.sent += 1;
            if let Some((frames, rtp)) = flow.frames.as_mut().zip(RtpFields::of(&packet.body)) {
                frames.sent(now, rtp);
            }
        }
    }

    fn arrived(&mut self, now: Instant, flow: FlowId, end: End, packet: &Packet<Body>) {
        let flow = &mut self.0[flow.index()];
        if end == End::Receiver {
            flow.arrived += 1;
            flow.received.add(now, packet.size);
            if let Some((frames, rtp)) = flow.frames.as_mut().zip(RtpFields::of(&packet.body)) {
                frames.arrived(now, rtp);
            }
        }
    }
}

/// Header fields of a packet of the product's video.
#[derive(Clone, Copy, Debug)]
struct RtpFields {
    sequence: u16,
    timestamp: u32,
    /// The last packet of its frame.
    marker: bool,
}

impl RtpFields {
    /// `None` for anything else (RFC 3550 §5.1).
    fn of(body: &Body) -> Option<Self> {
        let Body::Bytes(bytes) = body else {
            return None;
        };
        let [_, kind, s1, s0, t3, t2, t1, t0, ..] = **bytes else {
            return None;
        };
        (kind & 0x7f == JPEG).then_some(Self {
            sequence: u16::from_be_bytes([s1, s0]),
            timestamp: u32::from_be_bytes([t3, t2, t1, t0]),
            marker: kind & 0x80 != 0,
        })
    }
}

/// The frames of a call that sends RTP.
#[derive(Debug)]
pub(super) struct RtpFrames {
    pub(super) log: FrameLog,
    /// The RTP timestamp and the number of the first frame.
    first: Option<(u32, u64)>,
    /// The newest packets: the number of the frame, and the packet's number in it.
    packets: HashMap<u16, (u64, u32)>,
    /// Packets of the frame that is being sent, by the number of the frame.
    current: (u64, u32),
    /// Packets of frames whose last packet has left.
    sizes: HashMap<u64, u32>,
}

impl RtpFrames {
    fn new(log: FrameLog) -> Self {
        Self {
            log,
            first: None,
            packets: HashMap::new(),
            current: (0, 0),
            sizes: HashMap::new(),
        }
    }

    fn sent(&mut self, now: Instant, rtp: RtpFields) {
        let captured = now - CODING;
        let (timestamp, number) = *self
            .first
            .get_or_insert_with(|| (rtp.timestamp, self.log.number_at(captured)));
        let since = f64::from(rtp.timestamp.wrapping_sub(timestamp)) / MEDIA_CLOCK;
        let frame = number + (since / self.log.interval().as_secs_f64()).round() as u64;
        if self.current.0 != frame {
            self.current = (frame, 0);
        }
        self.packets.insert(rtp.sequence, self.current);
        self.current.1 += 1;
        if rtp.marker {
            self.sizes.insert(frame, self.current.1);
        }
    }

    fn arrived(&mut self, now: Instant, rtp: RtpFields) {
        if let Some(&(frame, packet)) = self.packets.get(&rtp.sequence) {
            let of = self.sizes.get(&frame).copied();
            self.log.arrived(now, frame, packet, of);
        }
    }
}
