//! How a flow behaves, for both of its ends.

use super::binomial::{Binomial, Power};
use tfrc::time::Duration;
use tfrc::units::Bytes;

/// Loss recovery and window growth, as the literature names them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Variant {
    /// Fast retransmit, then slow start from one packet (Jacobson 1988).
    Tahoe,
    /// Fast recovery, which the first new acknowledgement ends (RFC 5681 §3.2).
    Reno,
    /// Fast recovery through partial acknowledgements (RFC 6582).
    NewReno,
    /// Recovery by selective acknowledgements (RFC 6675).
    #[default]
    Sack,
    /// The window a cubic function of time (RFC 9438), recovery as with [`Sack`](Self::Sack).
    Cubic,
    /// AIMD with other constants than TCP's, or another binomial rule; recovery as with
    /// [`Sack`](Self::Sack).
    Binomial(Binomial),
}

impl Variant {
    /// True if recovery goes by SACK blocks.
    pub(super) fn uses_sack(self) -> bool {
        matches!(self, Self::Sack | Self::Cubic | Self::Binomial(_))
    }
}

/// The window before the first acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialWindow {
    /// So many packets: 1 in the early papers, 2 in ns-2, 10 in RFC 6928.
    Packets(u32),
    /// Two to four packets, according to their size (RFC 3390).
    Rfc3390,
}

impl InitialWindow {
    /// In packets of `segment` bytes of data.
    pub(super) fn packets(self, segment: Bytes) -> u32 {
        match self {
            Self::Packets(packets) => packets,
            // min(4·SMSS, max(2·SMSS, 4380 bytes)), in whole segments.
            Self::Rfc3390 => (4_380 / segment.get().max(1)).clamp(2, 4) as u32,
        }
    }
}

/// A flow in one direction. Both ends take the same.
// In this order what every packet asks for lies in one cache line.
#[derive(Clone, Debug, PartialEq)]
#[repr(C)]
pub struct Config {
    /// Which TCP.
    pub variant: Variant,
    /// Data in a full packet (SMSS), at least 1 byte.
    pub segment: Bytes,
    /// Headers of a packet, IP's included; also the size of an acknowledgement.
    pub header: Bytes,
    /// Data to be sent; `None` for a flow without end.
    pub length: Option<Bytes>,
    /// The receiver's window in packets, at least 1. The reading application keeps up, so it never
    /// shrinks.
    pub receive_window: u32,
    /// Offers ECN to the network, and takes a mark for a loss (RFC 3168).
    pub ecn: bool,
    /// Sends a new packet at each of the first two duplicate acknowledgements (RFC 3042).
    pub limited_transmit: bool,
    /// Cuts what congestion leaves of the window to whole packets, as ns-2 does. RFC 5681 counts bytes;
    /// at windows of ten packets the cut costs some 5 % of the throughput (`tests/tcp_ns2.rs`).
    pub whole_windows: bool,
    /// Grows the window by the packets that an acknowledgement covers, as Linux does (RFC 3465, without
    /// its limit on slow start), not by acknowledgements: delaying these then costs no growth.
    pub byte_counting: bool,
    /// The longest that an acknowledgement waits for a second packet (RFC 5681 §4.2: 500 ms at most);
    /// `None` acknowledges every packet at once, which is what TFRC's equation expects of its peers: with
    /// a delay TCP has about 3/4 of its share beside TFRC (`tests/tcp.rs`).
    pub delayed_ack: Option<Duration>,
    /// The window before the first acknowledgement, at least 1 packet.
    pub initial_window: InitialWindow,
    /// The retransmission timeout before the first round-trip time is known.
    pub initial_rto: Duration,
    /// The least retransmission timeout: 1 s in RFC 6298, 200 ms in Linux and ns-2. None is below 1 ms or
    /// above 60 s.
    pub min_rto: Duration,
    /// Any acknowledgement of new data ends the backing off of the timer, as in ns-2's SACK. RFC 6298
    /// keeps it until a packet that was sent once is acknowledged (§5).
    pub ends_backoff: bool,
    /// The tick of the clock that measures round trips and at which the timer expires; zero for an
    /// exact clock.
    pub clock_granularity: Duration,
}

/// SACK with the RFCs' own constants, the packets of the papers (1000 bytes, here without headers) and
/// ns-2's delay of acknowledgements; the receive window is beyond any path of theirs.
impl Default for Config {
    fn default() -> Self {
        Self {
            variant: Variant::Sack,
            segment: Bytes::new(1_000),
            header: Bytes::new(40),
            length: None,
            initial_window: InitialWindow::Rfc3390,
            receive_window: 10_000,
            delayed_ack: Some(Duration::from_millis(100)),
            initial_rto: Duration::from_secs(1),
            min_rto: Duration::from_secs(1),
            clock_granularity: Duration::ZERO,
            ecn: false,
            whole_windows: false,
            byte_counting: false,
            ends_backoff: false,
            limited_transmit: true,
        }
    }
}

/// A value that no flow can have, by the name of its field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// `segment` is zero.
    #[error("segment is 0 bytes; a packet carries at least 1")]
    Segment,
    /// `length` is zero.
    #[error("length is 0 bytes; leave it out for a flow without end")]
    Length,
    /// `initial_window` is zero.
    #[error("initial window is 0 packets; it is at least 1")]
    InitialWindow,
    /// `receive_window` is zero.
    #[error("receive window is 0 packets; it is at least 1")]
    ReceiveWindow,
    /// `alpha` of a binomial rule is not above 0.
    #[error("alpha of the binomial rule is no number above 0")]
    Alpha,
    /// `beta` of a binomial rule is not above 0, or takes the whole window.
    #[error("beta of the binomial rule is no number above 0, or 1 and more with l = 1")]
    Beta,
}

impl Config {
    /// Finds the first value that no flow can have.
    pub fn check(&self) -> Result<(), ConfigError> {
        let fields = [
            (self.segment.get(), ConfigError::Segment),
            (self.length.map_or(1, Bytes::get), ConfigError::Length),
            (
                self.initial_window.packets(self.segment).into(),
                ConfigError::InitialWindow,
            ),
            (self.receive_window.into(), ConfigError::ReceiveWindow),
        ];
        fields
            .into_iter()
            .find(|&(value, _)| value == 0)
            .map_or(Ok(()), |(_, error)| Err(error))?;
        match self.variant {
            Variant::Binomial(rule) => check_rule(rule),
            _ => Ok(()),
        }
    }

    /// The number of packets of the flow; `u64::MAX` without end.
    pub(super) fn packets(&self) -> u64 {
        self.length
            .map_or(u64::MAX, |length| length.get().div_ceil(self.segment.get()))
    }

    /// The data in the first `packets` packets.
    pub(super) fn data(&self, packets: u64) -> Bytes {
        let full = Bytes::new(packets.saturating_mul(self.segment.get()));
        self.length.map_or(full, |length| full.min(length))
    }
}

fn check_rule(rule: Binomial) -> Result<(), ConfigError> {
    let most = if rule.l == Power::One {
        1.0
    } else {
        f64::INFINITY
    };
    if !(rule.alpha > 0.0 && rule.alpha < f64::INFINITY) {
        return Err(ConfigError::Alpha);
    }
    if !(rule.beta > 0.0 && rule.beta < most) {
        return Err(ConfigError::Beta);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binomial_rule_without_sense_is_named() {
        let check = |rule| {
            let variant = Variant::Binomial(rule);
            Config {
                variant,
                ..Config::default()
            }
            .check()
        };
        for rule in [Binomial::TCP, Binomial::SQRT, Binomial::IIAD] {
            assert_eq!(check(rule), Ok(()));
            for alpha in [0.0, f64::NAN, f64::INFINITY] {
                assert_eq!(check(Binomial { alpha, ..rule }), Err(ConfigError::Alpha));
            }
            for beta in [0.0, f64::NAN, f64::INFINITY] {
                assert_eq!(check(Binomial { beta, ..rule }), Err(ConfigError::Beta));
            }
        }
        assert_eq!(check(Binomial::aimd(1.0, 1.0)), Err(ConfigError::Beta));
    }

    #[test]
    fn a_zero_is_named() {
        let check = |change: fn(&mut Config)| {
            let mut config = Config::default();
            change(&mut config);
            config.check()
        };
        assert_eq!(check(|_| ()), Ok(()));
        assert_eq!(
            check(|c| c.segment = Bytes::ZERO),
            Err(ConfigError::Segment)
        );
        assert_eq!(
            check(|c| c.length = Some(Bytes::ZERO)),
            Err(ConfigError::Length)
        );
        assert_eq!(
            check(|c| c.receive_window = 0),
            Err(ConfigError::ReceiveWindow)
        );
        assert_eq!(
            check(|c| c.initial_window = InitialWindow::Packets(0)),
            Err(ConfigError::InitialWindow)
        );
    }

    #[test]
    fn rfc_3390_gives_two_to_four_packets() {
        let packets = |bytes| InitialWindow::Rfc3390.packets(Bytes::new(bytes));
        assert_eq!(
            [500, 1_000, 1_095, 1_460, 2_190, 9_000].map(packets),
            [4, 4, 4, 3, 2, 2]
        );
    }

    #[test]
    fn the_last_packet_takes_what_is_left() {
        let config = Config {
            length: Some(Bytes::new(2_500)),
            ..Config::default()
        };
        assert_eq!(config.packets(), 3);
        assert_eq!([0, 2, 3].map(|n| config.data(n).get()), [0, 2_000, 2_500]);
    }
}
