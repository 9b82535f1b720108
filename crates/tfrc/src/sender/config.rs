//! The configuration of a sender.

use core::ops::RangeInclusive;
use core::time::Duration;

use super::rtt::RTT_WEIGHTS;
use crate::Standard;
use crate::config_error::TfrcConfigError;
use crate::units::Bytes;

/// The configuration of a sender.
#[derive(Clone, Debug)]
pub struct SenderConfig {
    /// s: the size of a full packet, the "maximum segment size" that RFC 5348 §4.1 permits. Within
    /// [`SenderConfig::SEGMENT_SIZES`].
    ///
    /// A mean size would feed back on itself where frames fit into one packet: a lower rate makes smaller packets,
    /// which lower the mean and thus the rate, down to nothing. RFC 4828 avoids the mean for the same reason. A
    /// sender of small packets only must state their size, or it sends more of them than a TCP would.
    pub segment_size: Bytes,
    /// Spacing by √R against oscillation (RFC 5348 §4.5). On by default.
    pub oscillation_reduction: bool,
    /// The longest burst after unused time; one round trip bounds it in any case (RFC 5348 §4.6).
    ///
    /// 10 ms by default, twice the timer error that the thesis measured (§4.1.5): a sender catches up with late
    /// packets, but a sender of frames, which always leaves some time unused, does not burst a round trip into a
    /// short queue. Such bursts triple its losses (`tests/closed_loop`).
    pub max_credit: Duration,
    /// A floor of the nofeedback timer, for hosts whose timers and reports are late. 20 ms by default: the thesis
    /// (§4.1.5) measured a lateness of 3-5 ms, which exceeds the margin of 4R at short round trips.
    pub min_nofeedback: Duration,
    /// The weight of the newest sample in R and R_sqmean, between 0.001 and 1. 0.1 by default (RFC 5348 §4.3, where
    /// q is the rest); the experiments of `sigcomm` §3.4 use 0.05. With a larger weight X follows the delay one
    /// round trip late and may oscillate with it.
    pub rtt_weight: f64,
    /// t_RTO in the throughput equation. 4R by default.
    pub retransmission_timeout: RetransmissionTimeout,
    /// TFRC-SP, the variant for applications of small packets (RFC 4828): the rate of a TCP with packets of
    /// `segment_size`, less the share of headers, and at least 10 ms from packet to packet. The receiver must take
    /// part ([`crate::ReceiverConfig::small_packets`]). Off by default.
    pub small_packets: bool,
    /// The edition of the standard. RFC 5348 by default.
    pub standard: Standard,
}

/// The throughput equation's t_RTO, the time after which a TCP would send again (RFC 5348 §3.1).
///
/// It matters where p is high. It changes neither the nofeedback timer nor the receiver's first loss interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RetransmissionTimeout {
    /// 4R, which SHOULD be used: fair to TCPs with fine timers.
    #[default]
    FourRoundTrips,
    /// max(4R, 1 s), with the minimum of TCP (RFC 6298 §2.4). This lowers X where the round trip is shorter than a
    /// quarter of a second.
    AtLeastASecond,
    /// SRTT + 4·RTTVAR, at least 1 s (RFC 6298 §2), over one sample a report.
    Rfc6298,
}

impl Default for SenderConfig {
    fn default() -> Self {
        Self {
            segment_size: Bytes::new(1_460),
            oscillation_reduction: true,
            max_credit: Duration::from_millis(10),
            min_nofeedback: Duration::from_millis(20),
            rtt_weight: 0.1,
            retransmission_timeout: RetransmissionTimeout::default(),
            small_packets: false,
            standard: Standard::default(),
        }
    }
}

impl SenderConfig {
    /// The range of [`SenderConfig::segment_size`]: no UDP datagram is larger (RFC 768).
    pub const SEGMENT_SIZES: RangeInclusive<Bytes> = Bytes::new(1)..=Bytes::new(65_535);

    /// Checks the ranges that [`Sender::new`](super::Sender::new) demands.
    ///
    /// # Errors
    ///
    /// Names the first field that is out of its range.
    pub fn validate(&self) -> Result<(), TfrcConfigError> {
        let (size, weight) = (self.segment_size, self.rtt_weight);
        let is_valid = Self::SEGMENT_SIZES.contains(&size);
        TfrcConfigError::unless(is_valid, "segment_size", size.as_f64(), "from 1 to 65535")?;
        let is_valid = RTT_WEIGHTS.contains(&weight);
        TfrcConfigError::unless(is_valid, "rtt_weight", weight, "from 0.001 to 1")
    }
}
