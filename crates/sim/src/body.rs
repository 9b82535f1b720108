//! All kinds of packets in one type, so that a packet needs no memory of its own.

use crate::tcp::{Ack, Segment};
use evenkeel_rtp::packet::ext::RttSendTs;
use evenkeel_rtp::packet::rtcp::TfrcFeedback;
use std::collections::BTreeMap;
use tfrc::time::Instant;

/// What a packet says.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// A datagram that nobody answers.
    Datagram {
        /// Its number, from zero.
        sequence: u64,
        /// When it left.
        sent: Instant,
    },
    /// RTP or RTCP, byte by byte.
    Bytes(Box<[u8]>),
    /// Media under TFRC or TEAR.
    TfrcData {
        /// Its number, from zero.
        sequence: u64,
        /// The round-trip time and the send timestamp, as the wire carries them.
        timing: RttSendTs,
        /// When what it carries was ready to be sent.
        ready: Instant,
    },
    /// The report of a TFRC receiver or a TEAR receiver, as the wire carries it.
    TfrcReport(TfrcFeedback),
    /// Data under TCP.
    TcpSegment(Segment),
    /// A TCP receiver's acknowledgement.
    TcpAck(Ack),
    /// A RAP receiver's acknowledgement.
    RapAck(RapAck),
    /// Media of a controlled flow.
    FramePacket(FramePacket),
    /// The feedback of a controlled flow.
    Arrivals(Box<ArrivalReport>),
}

/// The acknowledgement of one packet and, in case the last acknowledgements were lost, of the packets before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RapAck {
    /// The packet that arrived.
    pub sequence: u64,
    /// All from this one to `sequence` have arrived.
    pub since: u64,
}

/// A packet of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FramePacket {
    /// The packet's number in its flow, from zero.
    pub sequence: u64,
    /// The frame's number, from zero.
    pub frame: u32,
    /// The packet's number in its frame, from zero.
    pub index: u16,
    /// Packets of the frame.
    pub of: u16,
}

/// Feedback: which packets arrived, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrivalReport {
    /// When the receiver sent it.
    pub reported: Instant,
    /// The packets from the first of these to before the second are reported for the first time.
    pub range: [u64; 2],
    /// Those that arrived, and late ones from before the range.
    pub arrivals: BTreeMap<u64, Instant>,
}
