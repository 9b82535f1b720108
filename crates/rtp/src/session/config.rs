//! What a session is told when it starts.

use std::net::SocketAddr;
use std::time::Duration;

use tfrc::units::{Bytes, Rate};
use tfrc::{ReceiverConfig, SenderConfig, TfrcConfigError};

use crate::ntp::NtpTime;
use crate::packet::ext::{RttSendTs, TransportSequence};
use crate::packet::rtcp::FeedbackMode;

/// One end of an RTP session: what it is called, whom it talks to, what it sends and receives.
///
/// [`Config::new`] gives the defaults; set the public fields on top.
#[derive(Clone, Debug)]
pub struct Config {
    /// Our synchronisation source; drawn from the seed if `None` (RFC 3550 §8.1).
    pub ssrc: Option<u32>,
    /// Our canonical name (RFC 3550 §6.5.1), at most 255 bytes; what is longer is cut at a character.
    pub cname: String,
    /// With `cname`, seeds our SSRC, the first sequence number and timestamp, and the RTCP
    /// randomisation.
    pub seed: u64,
    /// The peer, where it is known: nobody else is then listened to. A receiver that is given
    /// `None` latches to the first source of valid media.
    pub peer: Option<SocketAddr>,
    /// What we send; `None` for a receiver.
    pub send: Option<SendConfig>,
    /// What we receive; `None` for a sender.
    pub receive: Option<ReceiveConfig>,
    /// FMT of the TFRC feedback message (RTPFB, PT 205), 1 to 31; what is not counts as the default.
    pub feedback_format: u8,
    /// Identifier of the `rtt-sendts` header extension, 1 to 14 (RFC 8285 §4.2); what is not counts
    /// as the default.
    pub extension_id: u8,
    /// Identifier of the transport-wide sequence number, 1 to 14 and not `extension_id`; what is not
    /// counts as the default. It is sent with [`FeedbackMode::Twcc`] alone.
    pub transport_sequence_id: u8,
    /// Sends media as ECT(0), where the feedback tells of marks. For ends that know it of each other: a description
    /// does not say it (RFC 8888 §7 asks for `a=ecn-capable-rtp` where it is to).
    pub ecn: bool,
    /// The wall-clock time at [`Instant::ZERO`](tfrc::time::Instant::ZERO), which the caller's clock
    /// leaves open. Sender reports carry it, and two ends whose wall clocks agree measure delay by it.
    pub wallclock: NtpTime,
    /// RTCP may be of reduced size once the peer was seen to hear us (RFC 5506), and feedback leaves when TFRC
    /// wants it. Without it feedback is a part of compounds, and with [`FeedbackMode::App`] of those alone that
    /// leave by RTCP's timer.
    pub reduced_size: bool,
    /// The bandwidth of the session, as `b=AS` states it: 5 % of it is RTCP's, and the reduced
    /// minimum interval is 360 s over it in kb/s (RFC 3550 §6.2).
    pub bandwidth: Rate,
}

impl Config {
    /// FMT of the TFRC feedback in the last profile draft; reserved by RFC 5104, hence configurable.
    pub const FEEDBACK_FORMAT: u8 = 2;
    /// The default of [`Config::extension_id`].
    pub const EXTENSION_ID: u8 = RttSendTs::DEFAULT_ID;
    /// The default of [`Config::transport_sequence_id`].
    pub const TRANSPORT_SEQUENCE_ID: u8 = TransportSequence::DEFAULT_ID;
    /// The bandwidth of a session that states none.
    pub const BANDWIDTH: Rate = Rate::from_bits_per_sec(1e6);

    /// An endpoint named `cname` that as yet neither sends nor receives.
    pub fn new(cname: impl Into<String>, seed: u64) -> Self {
        Self {
            ssrc: None,
            cname: cname.into(),
            seed,
            peer: None,
            send: None,
            receive: None,
            feedback_format: Self::FEEDBACK_FORMAT,
            extension_id: Self::EXTENSION_ID,
            transport_sequence_id: Self::TRANSPORT_SEQUENCE_ID,
            ecn: false,
            wallclock: NtpTime::default(),
            reduced_size: true,
            bandwidth: Self::BANDWIDTH,
        }
    }

    /// True if a direction works with this feedback.
    pub(super) fn works_with(&self, mode: FeedbackMode) -> bool {
        self.send.as_ref().is_some_and(|send| send.feedback == mode)
            || self
                .receive
                .as_ref()
                .is_some_and(|receive| receive.feedback == mode)
    }

    /// Checks the configurations of TFRC, which [`Session::new`](super::Session::new) demands.
    ///
    /// # Errors
    ///
    /// Names the first field that is out of its range.
    pub fn validate(&self) -> Result<(), TfrcConfigError> {
        if let Some(send) = &self.send {
            send.tfrc_sender().validate()?;
            send.estimator.validate()?;
        }
        self.receive
            .as_ref()
            .map_or(Ok(()), |receive| receive.tfrc.validate())
    }

    /// Brings into its range what the wire could not carry: such a session would be mute.
    pub(super) fn clamp(&mut self) {
        truncate(&mut self.cname, MAX_CNAME);
        if !matches!(self.feedback_format, 1..=31) {
            self.feedback_format = Self::FEEDBACK_FORMAT;
        }
        if !matches!(self.extension_id, 1..=14) {
            self.extension_id = Self::EXTENSION_ID;
        }
        let own = self.extension_id;
        if !matches!(self.transport_sequence_id, 1..=14) || self.transport_sequence_id == own {
            let default = Self::TRANSPORT_SEQUENCE_ID;
            self.transport_sequence_id = if own == default {
                Self::EXTENSION_ID
            } else {
                default
            };
        }
        if let Some(send) = &mut self.send {
            send.payload_type = clamp_payload_type(send.payload_type);
            // Reports by RFC 8888 name packets by the numbers of one source.
            if send.feedback == FeedbackMode::Ccfb && send.repair.is_some() {
                send.feedback = FeedbackMode::Twcc;
            }
            let feedback = send.feedback;
            send.repair = send.repair.filter(|_| feedback.counts_two_sources());
            if let Some(repair) = &mut send.repair {
                repair.payload_type = clamp_payload_type(repair.payload_type);
            }
        }
        if let Some(receive) = &mut self.receive {
            receive.payload_type = clamp_payload_type(receive.payload_type);
            for payload_type in &mut receive.alternatives {
                *payload_type = clamp_payload_type(*payload_type);
            }
            receive.repair = receive.repair.map(clamp_payload_type);
        }
    }
}

/// The longest canonical name (RFC 3550 §6.5).
const MAX_CNAME: usize = 255;

/// The first of the dynamic payload types (RFC 3551 §6).
const FIRST_DYNAMIC: u8 = 96;

/// With the marker bit, 64 to 95 would read as RTCP (RFC 5761 §4).
pub(super) const fn clamp_payload_type(payload_type: u8) -> u8 {
    match payload_type {
        64..=95 | 128.. => FIRST_DYNAMIC,
        _ => payload_type,
    }
}

/// Cuts `text` to at most `len` bytes, at a character.
fn truncate(text: &mut String, len: usize) {
    if text.len() > len {
        let end = (0..=len).rev().find(|&end| text.is_char_boundary(end));
        text.truncate(end.unwrap_or(0));
    }
}

/// The media that we send.
#[derive(Clone, Debug)]
pub struct SendConfig {
    /// RTP payload type, 0 to 63 or 96 to 127 (RFC 5761 §4); what is not counts as 96.
    pub payload_type: u8,
    /// Ticks of the media clock in a second; 90 000 for every video payload.
    pub clock_rate: u32,
    /// The largest RTP packet, headers included: the UDP payload. What
    /// exceeds [`MAX_DATAGRAM`](crate::endpoint::MAX_DATAGRAM) no session of ours takes.
    pub packet_size: Bytes,
    /// How TFRC behaves. Its segment size is taken from `segment_size` or `packet_size`, whatever stands here, but
    /// for [`SenderConfig::small_packets`], where it is that of others' packets.
    pub tfrc: SenderConfig,
    /// TFRC's s where it is not `packet_size`: X is in proportion to it, so that more of it takes more than the
    /// share of a flow of such packets. For experiments. Both sizes count as the nearest of [`SenderConfig::SEGMENT_SIZES`].
    pub segment_size: Option<Bytes>,
    /// What receivers report.
    pub feedback: FeedbackMode,
    /// How p and X_recv are computed from what came, where that is ours to do.
    pub estimator: ReceiverConfig,
    /// Leaves numbers out now and then where p is computed here, and gives a receiver that lies no rate
    /// ([`EventKind::ReceiverLied`](super::EventKind::ReceiverLied)). What such a receiver would gain shows
    /// without it.
    pub verify: bool,
    /// Paces at this rate and leaves TFRC and `give_up` out, for a receiver that reports nothing.
    pub fixed_rate: Option<Rate>,
    /// Serves a receiver that sends no feedback: by the loss and the round trip of its reception reports,
    /// and at a fixed low rate if it sends no RTCP at all. Off by default: RFC 5348 then halves X, down to
    /// a packet in 64 seconds.
    pub fallback: bool,
    /// Holds media without feedback to the circuit breakers of RFC 8083, those of a fixed rate included. Off
    /// is for measurements on a path of one's own alone.
    pub circuit_breakers: bool,
    /// May send repair packets, as a source of their own. Every packet then carries the transport-wide
    /// number, by which TFRC counts both sources as one. Reports of arrivals that name packets by the
    /// numbers of one source (`ccfb`, `sack`) leave no room for a second: with them this counts as `None`.
    pub repair: Option<RepairConfig>,
    /// Without feedback, or the reports that stand in for it, for this long, media stops.
    pub give_up: Duration,
}

impl SendConfig {
    /// Media under TFRC: 90 kHz, packets of 1,200 bytes, given up after 30 s without feedback.
    pub fn new(payload_type: u8) -> Self {
        Self {
            payload_type,
            clock_rate: 90_000,
            packet_size: Bytes::new(1_200),
            tfrc: SenderConfig::default(),
            segment_size: None,
            feedback: FeedbackMode::default(),
            estimator: patient(),
            verify: true,
            fixed_rate: None,
            fallback: false,
            circuit_breakers: true,
            repair: None,
            give_up: Duration::from_secs(30),
        }
    }
}

impl SendConfig {
    /// Returns the configuration of TFRC with the segment size of this stream.
    pub(super) fn tfrc_sender(&self) -> SenderConfig {
        let mut tfrc = self.tfrc.clone();
        let size = match self.segment_size {
            Some(size) => size,
            // TFRC-SP competes with packets of other flows, whatever the size of its own.
            None if tfrc.small_packets => return tfrc,
            None => self.packet_size,
        };
        let sizes = SenderConfig::SEGMENT_SIZES;
        tfrc.segment_size = size.clamp(*sizes.start(), *sizes.end());
        tfrc
    }
}

/// The source of repair packets (RFC 8627) beside that of the media.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepairConfig {
    /// Their RTP payload type, held to the same ranges as that of media.
    pub payload_type: u8,
    /// Their synchronisation source; drawn from the seed if `None`.
    pub ssrc: Option<u32>,
}

impl RepairConfig {
    /// The payload type where nothing else is agreed on: the last of the dynamic ones, of which media
    /// take the first.
    pub const PAYLOAD_TYPE: u8 = 127;
}

/// The media that we receive.
#[derive(Clone, Debug)]
pub struct ReceiveConfig {
    /// The payload type accepted, held to the same ranges; any other is ignored and counted.
    pub payload_type: u8,
    /// Further ones, between which the peer may change as it likes.
    pub alternatives: Vec<u8>,
    /// Ticks of the media clock in a second.
    pub clock_rate: u32,
    /// How TFRC behaves; unlike its own default this waits for packets that are merely late
    /// ([`ReceiverConfig::reordering`]).
    pub tfrc: ReceiverConfig,
    /// What we report: p and X_recv as `tfrc` has them, or what came.
    pub feedback: FeedbackMode,
    /// The payload type of repair packets (RFC 8627), where such are used if they come.
    pub repair: Option<u8>,
    /// Reports of arrivals leave with the end of each frame, not only once a round trip.
    pub report_frames: bool,
    /// TFRC's own reports tell the least and the largest transit time, 8 bytes more ([`TransitBounds`]). Only a sender that
    /// asked for them understands such a report.
    ///
    /// [`TransitBounds`]: crate::packet::rtcp::TransitBounds
    pub transit_bounds: bool,
}

impl ReceiveConfig {
    /// Media on a clock of 90 kHz.
    pub fn new(payload_type: u8) -> Self {
        Self {
            payload_type,
            alternatives: Vec::new(),
            clock_rate: 90_000,
            tfrc: patient(),
            feedback: FeedbackMode::default(),
            repair: None,
            report_frames: false,
            transit_bounds: false,
        }
    }

    /// True for the payload types of media.
    pub(super) fn takes(&self, payload_type: u8) -> bool {
        self.payload_type == payload_type || self.alternatives.contains(&payload_type)
    }
}

/// Waits for packets that are merely late.
fn patient() -> ReceiverConfig {
    ReceiverConfig {
        reordering: true,
        ..ReceiverConfig::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_waits_for_late_packets_and_the_standard_does_not() {
        assert!(ReceiveConfig::new(26).tfrc.reordering);
        assert!(!ReceiverConfig::default().reordering);
    }
}
