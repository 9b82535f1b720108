//! The configuration of a sender.

use core::ops::RangeInclusive;
use core::time::Duration;

use super::rtt::RTT_WEIGHTS;
use crate::Standard;
use crate::config_error::TfrcConfigError;
use crate::units::Bytes;

/// How a sender behaves.
#[derive(Clone, Debug)]
pub struct SenderConfig {
    /// s: the size of a full packet, which is the "maximum segment size" that RFC 5348 §4.1 lets a
    /// sender use. The average would feed back on itself where frames fit into one packet: a lower
    /// rate makes smaller packets, which lower the average and so the rate, down to nothing. RFC 4828
    /// takes the same way out. A sender that has only small packets to send must give their size, or
    /// it sends more of them than a TCP would. Within [`SenderConfig::SEGMENT_SIZES`].
    pub segment_size: Bytes,
    /// Spacing by √R against oscillation (RFC 5348 §4.5). On by default.
    pub oscillation_reduction: bool,
    /// How far a burst may go after time that was not used; one round trip bounds it in any case
    /// (RFC 5348 §4.6). 10 ms by default, twice the timer error that the thesis measured (§4.1.5): what
    /// is due late is caught up with, yet a sender of frames, which always leaves some time unused,
    /// does not burst a round trip into a short queue. That triples its losses (`tests/closed_loop`).
    pub max_credit: Duration,
    /// A floor under the nofeedback timer, for hosts whose timers and reports are late: the thesis
    /// (§4.1.5) measured 3-5 ms, which breaks 4R at short round trips. 20 ms by default.
    pub min_nofeedback: Duration,
    /// The weight of the newest sample in R and R_sqmean, between 0.001 and 1. 0.1 by default, as RFC 5348 §4.3
    /// has it (its q is the rest); 0.05 in the experiments of `sigcomm` §3.4. More makes X
    /// follow delay, a round trip late: it may oscillate with it.
    pub rtt_weight: f64,
    /// t_RTO in the throughput equation. 4R by default.
    pub retransmission_timeout: RetransmissionTimeout,
    /// TFRC-SP, the variant for applications of small packets (RFC 4828): the rate of a TCP with packets
    /// of `segment_size`, less what headers take, and 10 ms at least from packet to packet. The receiver
    /// must do its part ([`crate::ReceiverConfig::small_packets`]). Off by default.
    pub small_packets: bool,
    /// The edition of the standard. RFC 5348 by default.
    pub standard: Standard,
}

/// t_RTO, the time after which a TCP would send again, in the throughput equation (RFC 5348 §3.1). It
/// weighs where p is high. The nofeedback timer is not concerned, nor the receiver's first loss interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RetransmissionTimeout {
    /// 4R, which SHOULD be used: fair to TCPs of fine timers.
    #[default]
    FourRoundTrips,
    /// max(4R, 1 s), the minimum that RFC 6298 §2.4 gives to TCP: less, where the round trip is shorter
    /// than a quarter of a second.
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
