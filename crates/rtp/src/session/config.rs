//! The configuration of a session.

use std::net::SocketAddr;
use std::time::Duration;

use tfrc::units::{Bytes, Rate};
use tfrc::{ReceiverConfig, SenderConfig, TfrcConfigError};

use crate::ntp::NtpTime;
use crate::packet::ext::{PlayoutDelay, RttSendTs, TransportSequence};
use crate::packet::rtcp::FeedbackMode;

/// The configuration of one end of an RTP session: its name, its peer, and the media that it sends and receives.
///
/// [`Config::new`] gives the defaults; set the public fields afterwards.
#[derive(Clone, Debug)]
pub struct Config {
    /// Our synchronisation source; drawn from the seed if `None` (RFC 3550 §8.1).
    pub ssrc: Option<u32>,
    /// Our canonical name (RFC 3550 §6.5.1), at most 255 bytes; a longer one is cut at a character.
    pub cname: String,
    /// The seed, together with `cname`, of our SSRC, the first sequence number and timestamp, and the RTCP
    /// randomisation.
    pub seed: u64,
    /// The address of the peer, where it is known: all other addresses are then ignored, until the peer's own source
    /// continues from one. With `None` a receiver accepts the first source of valid media as its peer.
    pub peer: Option<SocketAddr>,
    /// The media that we send; `None` for a receiver.
    pub send: Option<SendConfig>,
    /// The media that we receive; `None` for a sender.
    pub receive: Option<ReceiveConfig>,
    /// The FMT of the TFRC feedback message (RTPFB, PT 205), 1 to 31; another value counts as the default.
    pub feedback_format: u8,
    /// The identifier of the `rtt-sendts` header extension, 1 to 14 (RFC 8285 §4.2); another value counts as the
    /// default. With `None` media has no such extension, and none is read: the peer did not agree to it. Only feedback by
    /// which the sender computes p permits that.
    pub extension_id: Option<u8>,
    /// The identifier of the transport-wide sequence number, 1 to 14 and not `extension_id`; another value counts
    /// as the default. Only [`FeedbackMode::Twcc`] sends this number.
    pub transport_sequence_id: u8,
    /// Sends media as ECT(0), where the feedback reports marks. Both ends must agree on it by other means, because
    /// our descriptions do not state it (RFC 8888 §7 requires `a=ecn-capable-rtp` for that).
    pub ecn: bool,
    /// The wall-clock time at [`Instant::ZERO`](tfrc::time::Instant::ZERO), which the caller's clock does not
    /// define. Sender reports carry it, and two ends whose wall clocks agree measure delay by it.
    pub wallclock: NtpTime,
    /// Permits RTCP of reduced size once the peer shows that it receives us (RFC 5506); feedback then leaves at
    /// TFRC's times. Otherwise feedback is sent only in compounds, with [`FeedbackMode::App`] only in those at
    /// RTCP's own times.
    pub reduced_size: bool,
    /// The bandwidth of the session, as in `b=AS`: RTCP gets 5 % of it, and the reduced minimum interval is 360 s
    /// divided by the bandwidth in kb/s (RFC 3550 §6.2).
    pub bandwidth: Rate,
}

impl Config {
    /// The FMT of TFRC feedback in the last profile draft; RFC 5104 reserves it, so it can be configured.
    pub const FEEDBACK_FORMAT: u8 = 2;
    /// The default of [`Config::extension_id`].
    pub const EXTENSION_ID: u8 = RttSendTs::DEFAULT_ID;
    /// The default of [`Config::transport_sequence_id`].
    pub const TRANSPORT_SEQUENCE_ID: u8 = TransportSequence::DEFAULT_ID;
    /// The bandwidth of a session that states none.
    pub const BANDWIDTH: Rate = Rate::from_bits_per_sec(1e6);

    /// Creates the configuration of an end named `cname` that neither sends nor receives yet.
    pub fn new(cname: impl Into<String>, seed: u64) -> Self {
        Self {
            ssrc: None,
            cname: cname.into(),
            seed,
            peer: None,
            send: None,
            receive: None,
            feedback_format: Self::FEEDBACK_FORMAT,
            extension_id: Some(Self::EXTENSION_ID),
            transport_sequence_id: Self::TRANSPORT_SEQUENCE_ID,
            ecn: false,
            wallclock: NtpTime::default(),
            reduced_size: true,
            bandwidth: Self::BANDWIDTH,
        }
    }

    /// Returns true if one direction uses this feedback.
    pub(super) fn works_with(&self, mode: FeedbackMode) -> bool {
        self.send.as_ref().is_some_and(|send| send.feedback == mode)
            || self
                .receive
                .as_ref()
                .is_some_and(|receive| receive.feedback == mode)
    }

    /// Checks the TFRC configurations; [`Session::new`](super::Session::new) requires valid ones.
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

    /// Replaces values that the wire cannot carry, which would make the session mute.
    pub(super) fn clamp(&mut self) {
        truncate(&mut self.cname, MAX_CNAME);
        if !matches!(self.feedback_format, 1..=31) {
            self.feedback_format = Self::FEEDBACK_FORMAT;
        }
        if !matches!(self.extension_id, None | Some(1..=14)) {
            self.extension_id = Some(Self::EXTENSION_ID);
        }
        let own = self.extension_id;
        if !matches!(self.transport_sequence_id, 1..=14) || Some(self.transport_sequence_id) == own
        {
            let default = Self::TRANSPORT_SEQUENCE_ID;
            self.transport_sequence_id = if own == Some(default) {
                Self::EXTENSION_ID
            } else {
                default
            };
        }
        let others = [self.extension_id, Some(self.transport_sequence_id)];
        if let Some(send) = &mut self.send {
            let is_free = |id: u8| matches!(id, 1..=14) && !others.contains(&Some(id));
            send.playout_delay = send.playout_delay.filter(|(id, _)| is_free(*id));
            send.payload_type = clamp_payload_type(send.payload_type);
            // RFC 8888 reports name packets by the numbers of one source.
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

/// Replaces payload types 64 to 95, which would read as RTCP with the marker bit (RFC 5761 §4).
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
    /// The RTP payload type, 0 to 63 or 96 to 127 (RFC 5761 §4); another value counts as 96.
    pub payload_type: u8,
    /// The ticks of the media clock in a second; 90 000 for every video payload.
    pub clock_rate: u32,
    /// The largest RTP packet, headers included: the UDP payload. Our sessions receive no datagram that exceeds
    /// [`MAX_DATAGRAM`](crate::endpoint::MAX_DATAGRAM).
    pub packet_size: Bytes,
    /// The configuration of TFRC. `segment_size` or `packet_size` replaces its segment size, except with
    /// [`SenderConfig::small_packets`], where the segment size is the size of other flows.
    pub tfrc: SenderConfig,
    /// TFRC's s where it is not `packet_size`, for experiments. X is proportional to s, so a larger s takes more
    /// than the share of a flow. Both sizes count as the nearest of [`SenderConfig::SEGMENT_SIZES`].
    pub segment_size: Option<Bytes>,
    /// The report format that receivers use.
    pub feedback: FeedbackMode,
    /// The estimator of p and X_recv, where the sender computes them from reported arrivals.
    pub estimator: ReceiverConfig,
    /// Leaves out transport-wide numbers now and then where the sender computes p, and gives a receiver that lies no rate
    /// ([`EventKind::ReceiverLied`](super::EventKind::ReceiverLied)). Off measures what such a receiver would gain.
    pub verify: bool,
    /// Leaves out RTP sequence numbers, where reports name packets by these (`ccfb`, `sack`). A receiver of this
    /// project takes nothing for lost then; others wait for the packet, or ask for it. Off by default: `verify` leaves
    /// out transport-wide numbers alone, which harms no receiver.
    pub leave_out_sequence_numbers: bool,
    /// Paces at this rate, without TFRC and `give_up`, for a receiver that reports nothing.
    pub fixed_rate: Option<Rate>,
    /// Serves a receiver without feedback: by the loss and the round trip of its reception reports, or at a fixed
    /// low rate if it sends no RTCP at all. Off by default: RFC 5348 then halves X down to a packet in 64 seconds.
    pub fallback: bool,
    /// Applies the circuit breakers of RFC 8083 to media without feedback, including a fixed rate. Turn this off
    /// only for measurements on a path without other traffic.
    pub circuit_breakers: bool,
    /// Sends repair packets, on request, as a source of their own. Every packet then carries the transport-wide
    /// number, by which TFRC counts both sources as one. Reports that name packets by the numbers of one source
    /// (`ccfb`, `sack`) have no room for a second source: with them this counts as `None`.
    pub repair: Option<RepairConfig>,
    /// The delay that each packet asks of the receiver, with the identifier of the extension, 1 to 14 and no other's; another
    /// identifier counts as `None`.
    pub playout_delay: Option<(u8, PlayoutDelay)>,
    /// The time without feedback, or without the reports that replace it, after which media stops.
    pub give_up: Duration,
}

impl SendConfig {
    /// Creates the configuration of media under TFRC: 90 kHz, packets of 1,200 bytes, and 30 s until media stops
    /// without feedback.
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
            leave_out_sequence_numbers: false,
            fixed_rate: None,
            fallback: false,
            circuit_breakers: true,
            repair: None,
            playout_delay: None,
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

/// The source of repair packets (RFC 8627) beside the source of media.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepairConfig {
    /// The RTP payload type of repair packets, within the same ranges as for media.
    pub payload_type: u8,
    /// The synchronisation source of repair packets; drawn from the seed if `None`.
    pub ssrc: Option<u32>,
}

impl RepairConfig {
    /// The default payload type: the last dynamic one, because media takes the first.
    pub const PAYLOAD_TYPE: u8 = 127;
}

/// The media that we receive.
#[derive(Clone, Debug)]
pub struct ReceiveConfig {
    /// The payload type to accept, within the same ranges; packets of other types are ignored and counted.
    pub payload_type: u8,
    /// Further payload types, between which the peer may change at will.
    pub alternatives: Vec<u8>,
    /// Ticks of the media clock in a second.
    pub clock_rate: u32,
    /// The configuration of TFRC. Unlike its own default it waits for packets that are merely late
    /// ([`ReceiverConfig::reordering`]).
    pub tfrc: ReceiverConfig,
    /// The report format: p and X_recv as computed by `tfrc`, or arrivals.
    pub feedback: FeedbackMode,
    /// Sends the reports of `feedback`. Turn this off for a sender that agreed on none: it gets the reception reports of RTCP
    /// alone, and its rate is its own affair.
    pub reports: bool,
    /// The payload type of repair packets (RFC 8627), which are used if any arrive.
    pub repair: Option<u8>,
    /// Reports of arrivals leave at the end of each frame, not only once a round trip.
    pub report_frames: bool,
    /// TFRC's own reports carry the least and the largest transit time, 8 bytes more ([`TransitBounds`]). Only a
    /// sender that asked for them understands such a report.
    ///
    /// [`TransitBounds`]: crate::packet::rtcp::TransitBounds
    pub transit_bounds: bool,
}

impl ReceiveConfig {
    /// Creates the configuration of media on a clock of 90 kHz.
    pub fn new(payload_type: u8) -> Self {
        Self {
            payload_type,
            alternatives: Vec::new(),
            clock_rate: 90_000,
            tfrc: patient(),
            feedback: FeedbackMode::default(),
            reports: true,
            repair: None,
            report_frames: false,
            transit_bounds: false,
        }
    }

    /// Returns true for the payload types of media.
    pub(super) fn takes(&self, payload_type: u8) -> bool {
        self.payload_type == payload_type || self.alternatives.contains(&payload_type)
    }
}

/// Returns a configuration that waits for packets which are merely late.
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
