//! The terms for which a client asks and on which a server agrees.

use evenkeel_rtp::session::{Config, FeedbackMode};
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, Rate};
use tfrc::{SenderConfig, Standard};

/// Who sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The client.
    Forward,
    /// The server.
    Reverse,
    /// Both, in one session a flow.
    Both,
}

impl Direction {
    /// True if the client sends.
    pub fn client_sends(self) -> bool {
        self != Self::Reverse
    }

    /// True if the server sends.
    pub fn server_sends(self) -> bool {
        self != Self::Forward
    }
}

/// What sets the rate of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// TFRC by RFC 5348.
    Rfc5348,
    /// TFRC by RFC 3448, its first edition.
    Rfc3448,
    /// TFRC-SP, for small packets (RFC 4828).
    SmallPackets,
    /// Nothing but [`Terms::rate`]: plain UDP, for comparison.
    Fixed,
}

/// A test as a client asks for it. The client keeps to the same terms as the server.
#[derive(Clone, Debug, PartialEq)]
pub struct Terms {
    /// Who sends.
    pub direction: Direction,
    /// How many flows, 1 to [`Terms::MAX_FLOWS`].
    pub flows: u16,
    /// The most that each flow sends, in whole bits a second; `None` leaves it to TFRC.
    pub rate: Option<Rate>,
    /// How long they send, in whole milliseconds.
    pub duration: Duration,
    /// The UDP payload of each packet, [`Terms::MIN_LENGTH`] to [`Terms::MAX_LENGTH`].
    pub length: u16,
    /// TFRC's s, the packet size that X is in proportion to: a fair share is the share of a flow of such packets,
    /// which are others' for [`Mode::SmallPackets`]. [`Mode::Fixed`] has none.
    pub segment_size: u16,
    /// What sets the rate.
    pub mode: Mode,
    /// What receivers report, and so where TFRC computes p.
    pub feedback: FeedbackMode,
    /// Packets carry ECT(0).
    pub ecn: bool,
    /// The most data that leaves at once, as the time in which the rate would send it, in whole
    /// microseconds; one packet always may.
    pub burst: Duration,
    /// A floor under the nofeedback timer, in whole microseconds ([`SenderConfig::min_nofeedback`]).
    pub min_nofeedback: Duration,
    /// When receivers report.
    pub reports: ReportTiming,
}

/// When receivers report: as TFRC has it, unless an experiment wants to know what else would do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReportTiming {
    /// Quarters of a round trip from a report to the next, 1 to [`ReportTiming::MAX_QUARTERS`]
    /// ([`tfrc::ReceiverConfig::report_quarters`]).
    pub quarters: u16,
    /// What RTCP's compounds take a twentieth of (RFC 3550 §6.2), in whole bits a second; `None` for what the
    /// flow's rate comes to, and at least that of sessions.
    pub session_bandwidth: Option<Rate>,
    /// Reports leave with compounds alone ([`Config::reduced_size`]).
    ///
    /// [`Config::reduced_size`]: evenkeel_rtp::session::Config::reduced_size
    pub piggy_backed: bool,
}

impl ReportTiming {
    /// The longest time between two reports, a hundred round trips.
    pub const MAX_QUARTERS: u16 = 400;
}

impl Default for ReportTiming {
    /// Once a round trip, and at once when there is news.
    fn default() -> Self {
        Self {
            quarters: 4,
            session_bandwidth: None,
            piggy_backed: false,
        }
    }
}

impl Terms {
    /// Flows that one test may have: half the room that their names have.
    pub const MAX_FLOWS: u16 = 10_000;
    /// The shortest packet: its headers take 24 bytes.
    pub const MIN_LENGTH: u16 = 32;
    /// The longest packet: a jumbo frame less the headers of IPv6 and UDP.
    pub const MAX_LENGTH: u16 = 8_952;
    /// The longest burst.
    pub const MAX_BURST: Duration = Duration::from_millis(100);
    /// The longest floor under the nofeedback timer.
    pub const MAX_NOFEEDBACK: Duration = Duration::from_secs(10);

    /// How TFRC behaves on these terms.
    pub(crate) fn sender(&self) -> SenderConfig {
        SenderConfig {
            max_credit: self.burst,
            min_nofeedback: self.min_nofeedback,
            small_packets: self.mode == Mode::SmallPackets,
            standard: self.standard(),
            ..SenderConfig::default()
        }
    }

    /// The edition of the standard.
    pub(crate) fn standard(&self) -> Standard {
        match self.mode {
            Mode::Rfc3448 => Standard::Rfc3448,
            Mode::Rfc5348 | Mode::SmallPackets | Mode::Fixed => Standard::Rfc5348,
        }
    }

    /// When a flow begins: not all at once, or a thousand packets of one moment would leave together.
    pub(crate) fn start_of(&self, now: Instant, flow: u16) -> Instant {
        now + self.spacing() * u32::from(flow) / u32::from(self.flows.max(1))
    }

    /// The least time between two bursts: three fifths of what a burst holds, so that a host that wakes up as
    /// late as the other two still keeps the rate. Each burst costs a wake-up, which may be all that sending costs.
    pub(crate) fn gather(&self) -> Duration {
        self.burst * 3 / 5
    }

    /// How long a packet takes at the rate that was asked for; zero without one.
    pub(crate) fn spacing(&self) -> Duration {
        self.rate
            .map_or(Duration::ZERO, |rate| Bytes::new(self.length.into()) / rate)
    }
}

/// What a server agrees to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Flows of all tests together. One host has at most half of what the others leave.
    pub flows: u16,
    /// What one flow may send; `None` for any rate.
    pub rate: Option<Rate>,
    /// How long a test may last.
    pub duration: Duration,
}

impl Default for Limits {
    /// A thousand flows of a host that is alone, an hour, at any rate.
    fn default() -> Self {
        Self {
            flows: 2_000,
            rate: None,
            duration: Duration::from_secs(3_600),
        }
    }
}

/// Why a server refused, and what it would have allowed.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// The token is old, or was given to another address: ask for one again.
    #[error("the server takes the token for an old one")]
    Token,
    /// More flows than so many, which is what is left of the limit.
    #[error("{}", no_more_flows(.0))]
    Flows(u16),
    /// A flow faster than this, or of no stated rate, or with more for RTCP than such a flow has.
    #[error(
        "the server allows {} Mbit/s a flow: ask for no more with -b or --session-bandwidth",
        .0.bits_per_sec() / 1e6
    )]
    Rate(Rate),
    /// A test longer than this.
    #[error("the server allows tests of {} s: ask for no longer one with -t", .0.as_secs_f64())]
    Duration(Duration),
    /// Any but the one that the server was started for.
    #[error(
        "the server serves one test, and has begun it: ask again once it was started anew, or start it without -1"
    )]
    OneOff,
    /// Any, for some seconds: too many tests have ended just now.
    #[error("too many of the server's tests have ended just now: ask again in 20 s")]
    TooOften,
}

fn no_more_flows(left: &u16) -> String {
    match left {
        0 => "the server is busy: it has no flow to spare".to_owned(),
        left => format!("the server allows {left} flows at this time: ask for fewer with -P"),
    }
}

impl Limits {
    /// Refuses what goes beyond; `used` flows are at work already.
    pub(crate) fn check(&self, terms: &Terms, used: usize) -> Result<(), Refusal> {
        let used = u16::try_from(used).unwrap_or(u16::MAX);
        let left = self.flows.saturating_sub(used);
        if terms.flows > left {
            return Err(Refusal::Flows(left));
        }
        match self.rate {
            Some(most) if terms.rate.is_none_or(|rate| rate > most) => {
                return Err(Refusal::Rate(most));
            }
            // Reports that follow one another too closely are as good as a rate too high.
            Some(most) if terms.reports.session_bandwidth > Some(most.max(Config::BANDWIDTH)) => {
                return Err(Refusal::Rate(most));
            }
            _ => {}
        }
        if terms.duration > self.duration {
            return Err(Refusal::Duration(self.duration));
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn terms() -> Terms {
        Terms {
            direction: Direction::Forward,
            flows: 1,
            rate: Some(Rate::from_bits_per_sec(1e6)),
            duration: Duration::from_secs(10),
            length: 1_400,
            segment_size: 1_400,
            mode: Mode::Rfc5348,
            feedback: FeedbackMode::Tfrc,
            ecn: false,
            burst: Duration::from_micros(250),
            min_nofeedback: Duration::from_millis(20),
            reports: ReportTiming::default(),
        }
    }

    fn limits() -> Limits {
        Limits {
            flows: 10,
            rate: Some(Rate::from_bits_per_sec(1e6)),
            duration: Duration::from_secs(10),
        }
    }

    #[test]
    fn what_is_within_the_limits_is_agreed_to() {
        assert_eq!(limits().check(&terms(), 9), Ok(()));
    }

    #[test]
    fn more_flows_than_are_left_are_refused() {
        assert_eq!(limits().check(&terms(), 10), Err(Refusal::Flows(0)));
        let two = Terms {
            flows: 2,
            ..terms()
        };
        assert_eq!(limits().check(&two, 9), Err(Refusal::Flows(1)));
    }

    #[test]
    fn a_rate_above_the_limit_is_refused_and_so_is_none_at_all() {
        let most = Rate::from_bits_per_sec(1e6);
        for rate in [Some(Rate::from_bits_per_sec(1.1e6)), None] {
            let terms = Terms { rate, ..terms() };
            assert_eq!(limits().check(&terms, 0), Err(Refusal::Rate(most)));
        }
    }

    #[test]
    fn a_session_bandwidth_above_the_limit_and_above_that_of_all_sessions_is_refused() {
        let check = |most, asked| {
            let limits = Limits {
                rate: Some(most),
                ..limits()
            };
            let mut terms = terms();
            terms.rate = Some(most);
            terms.reports.session_bandwidth = Some(asked);
            limits.check(&terms, 0)
        };
        for most in [1e5, 1e7].map(Rate::from_bits_per_sec) {
            let allowed = most.max(Config::BANDWIDTH);
            assert_eq!(check(most, allowed), Ok(()));
            let refusal = Err(Refusal::Rate(most));
            assert_eq!(check(most, allowed * 1.1), refusal);
            assert_eq!(check(most, Rate::from_bits_per_sec(1e18)), refusal);
        }
    }

    #[test]
    fn a_test_that_lasts_too_long_is_refused() {
        let long = Terms {
            duration: Duration::from_millis(10_001),
            ..terms()
        };
        assert_eq!(
            limits().check(&long, 0),
            Err(Refusal::Duration(Duration::from_secs(10)))
        );
    }
}
