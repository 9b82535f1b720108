//! How the TFRC of a flow behaves, and what its receiver reports.

use evenkeel_sim::{FeedbackMode, Rtcp, SessionEnd, TfrcConfig};
use serde::Deserialize;
use tfrc::time::{Duration, Instant};
use tfrc::units::Bytes;
use tfrc::{ReceiverConfig, SenderConfig, TfrcConfigError};

use super::edition::{Edition, Timeout};
use super::tcp::TCP_HEADER;
use crate::error::{Impossible, impossible, require};
use crate::units::Time;

/// [`FeedbackMode`] as experiments name it: what TFRC's receivers report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Feedback {
    /// p and X_recv.
    #[default]
    Tfrc,
    /// What came, as RFC 8888 has it; p is the sender's to compute, as with those that follow.
    Ccfb,
    /// The same as transport-wide feedback.
    Twcc,
    /// The SACK vector of the `light` paper.
    Sack,
    /// p and X_recv in APP packets, as the `hdtv` paper has them.
    App,
}

impl Feedback {
    /// Its name there and on command lines.
    pub const fn name(self) -> &'static str {
        self.mode().name()
    }

    pub(super) const fn mode(self) -> FeedbackMode {
        match self {
            Self::Tfrc => FeedbackMode::Tfrc,
            Self::Ccfb => FeedbackMode::Ccfb,
            Self::Twcc => FeedbackMode::Twcc,
            Self::Sack => FeedbackMode::Sack,
            Self::App => FeedbackMode::App,
        }
    }
}

/// How TFRC behaves where it can be told how.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tfrc {
    /// The edition of the standard that both ends follow.
    pub edition: Edition,
    /// t_RTO in the throughput equation.
    pub t_rto: Timeout,
    /// Spaces its packets by √R against oscillation (RFC 5348 §4.5).
    pub spacing: bool,
    /// The weight of the newest round-trip time in R.
    pub rtt_weight: f64,
    /// Waits for packets that are merely late before it calls them lost, as sessions do unless told.
    pub reordering: bool,
    /// Says that its packets may be marked, and counts a mark as a loss (RFC 5348 §3).
    pub ecn: bool,
    /// TFRC-SP: the rate of a TCP with the scenario's packets, less what headers take (RFC 4828).
    pub small_packets: bool,
    /// Its host lets packets leave at the ticks of this timer alone, all that are due at once.
    pub timer: Option<Time>,
    /// Whole sessions that exchange RTP and RTCP, byte by byte, in place of the same senders and receivers
    /// without the bytes. Reports of another kind than TFRC's need them in any case.
    pub session: bool,
    /// With reports in APP packets: the mean time from an RTCP compound to the next, 360 ms unless given.
    pub rtcp_interval: Option<Time>,
    /// The same reports leave with compounds alone, as the `hdtv` paper has it.
    pub piggy_backed: bool,
    /// Quarters of a round trip from a report to the next, where TFRC says when reports leave.
    pub report_quarters: u32,
}

/// What `docs/METHOD.md` states: as RFC 5348 has it, without the bytes.
impl Default for Tfrc {
    fn default() -> Self {
        let standard = SenderConfig::default();
        Self {
            edition: Edition::default(),
            t_rto: Timeout::default(),
            spacing: standard.oscillation_reduction,
            rtt_weight: standard.rtt_weight,
            reordering: ReceiverConfig::default().reordering,
            ecn: false,
            small_packets: false,
            timer: None,
            session: false,
            rtcp_interval: None,
            piggy_backed: false,
            report_quarters: ReceiverConfig::default().report_quarters,
        }
    }
}

impl Tfrc {
    pub(crate) fn verify(&self) -> Result<(), Impossible> {
        let invalid =
            |error: TfrcConfigError| impossible(error.field, error.wanted).given(error.value);
        let segment_size = SenderConfig::default().segment_size;
        self.sender(segment_size).validate().map_err(invalid)?;
        self.receiver().validate().map_err(invalid)?;
        let whole =
            |timer: Time| !timer.0.is_zero() && timer.0.subsec_nanos().is_multiple_of(1_000_000);
        require(self.timer.is_none_or(whole), "timer", "a multiple of 1ms")?;
        let interval = self.rtcp_interval.is_none_or(|time| !time.0.is_zero());
        require(interval, "rtcp_interval", "above 0")?;
        let sized = !(self.small_packets && self.session);
        require(
            sized,
            "small_packets",
            "without session: sessions take one size of packets",
        )
    }

    /// Refuses what [`Self::verify`] does, and all but `edition` and `t_rto` where nothing else would have an effect.
    pub(crate) fn verify_alone(&self) -> Result<(), Impossible> {
        self.verify()?;
        let alone = Self {
            edition: self.edition,
            t_rto: self.t_rto,
            ..Self::default()
        };
        require(*self == alone, "tfrc", "edition and t_rto alone here")
    }

    /// The same sender by this edition and with this t_RTO.
    pub(crate) fn follow(&self, mut sender: SenderConfig) -> SenderConfig {
        sender.standard = self.edition.standard();
        sender.retransmission_timeout = self.t_rto.of_sender();
        sender
    }

    /// The same receiver by this edition.
    pub(crate) fn follows(&self, mut receiver: ReceiverConfig) -> ReceiverConfig {
        receiver.standard = self.edition.standard();
        receiver
    }

    /// `tcp_segment` is what TFRC-SP takes the rate of; else a packet's own size counts.
    pub(super) fn sender(&self, tcp_segment: Bytes) -> SenderConfig {
        let usual = self.follow(SenderConfig::default());
        SenderConfig {
            segment_size: if self.small_packets {
                tcp_segment
            } else {
                usual.segment_size
            },
            small_packets: self.small_packets,
            oscillation_reduction: self.spacing,
            rtt_weight: self.rtt_weight,
            ..usual
        }
    }

    pub(super) fn receiver(&self) -> ReceiverConfig {
        ReceiverConfig {
            reordering: self.reordering,
            small_packets: self.small_packets,
            report_quarters: self.report_quarters,
            ..self.follows(ReceiverConfig::default())
        }
    }

    /// Both ends of a flow that begins at the clock's zero and never ends, as sessions; the floor under the
    /// nofeedback timer is the sender's own unless given.
    pub(crate) fn sessions(
        &self,
        packet: Bytes,
        feedback: Feedback,
        floor: Option<Duration>,
        seed: u64,
    ) -> [SessionEnd; 2] {
        let usual = self.sender(packet - TCP_HEADER);
        let config = TfrcConfig {
            start: Instant::ZERO,
            stop: None,
            packet_size: packet,
            tfrc: SenderConfig {
                min_nofeedback: floor.unwrap_or(usual.min_nofeedback),
                ..usual
            },
            ecn: self.ecn,
        };
        SessionEnd::pair(
            &config,
            &self.receiver(),
            feedback.mode(),
            self.rtcp(),
            seed,
        )
    }

    pub(super) fn rtcp(&self) -> Rtcp {
        let usual = Rtcp::default();
        Rtcp {
            bandwidth: self
                .rtcp_interval
                .map_or(usual.bandwidth, |interval| Rtcp::bandwidth_for(interval.0)),
            reduced_size: !self.piggy_backed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfrc::{RetransmissionTimeout, Standard};

    #[test]
    fn edition_and_t_rto_come_to_both_ends() {
        let tfrc: Tfrc = toml::from_str("edition = \"rfc3448\"\nt_rto = \"at-least-1s\"").unwrap();
        assert_eq!(tfrc.verify_alone(), Ok(()));
        let sender = tfrc.sender(Bytes::new(960));
        assert_eq!(sender.standard, Standard::Rfc3448);
        let timeout = sender.retransmission_timeout;
        assert_eq!(timeout, RetransmissionTimeout::AtLeastASecond);
        assert_eq!(tfrc.receiver().standard, Standard::Rfc3448);
        let usual = Tfrc::default().sender(Bytes::new(960));
        assert_eq!(usual.standard, Standard::Rfc5348);
    }

    #[test]
    fn what_would_have_no_effect_is_refused() {
        let tfrc: Tfrc = toml::from_str("spacing = false").unwrap();
        let wrong = tfrc.verify_alone().unwrap_err().to_string();
        assert!(wrong.contains("edition and t_rto alone"), "{wrong}");
    }
}
