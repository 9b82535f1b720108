//! Sources that send datagrams whatever the network does.

use crate::agent::{Agent, Packet};
use crate::body::Body;
use crate::distribution::Law;
use evenkeel_link::Random;
use tfrc::Ecn;
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, Rate, duration_from_secs};

/// When datagrams leave, and how large they are on the wire.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// Packets of one size, evenly spaced.
    Constant {
        /// The size.
        size: Bytes,
        /// The rate.
        rate: Rate,
    },
    /// The same while it is on, nothing while it is off, by turns; it begins with being on.
    OnOff {
        /// The size.
        size: Bytes,
        /// The rate while it is on.
        rate: Rate,
        /// For how many seconds it is on.
        on: Law,
        /// For how many seconds it is off.
        off: Law,
    },
    /// Sizes and gaps drawn apart, as in `thesis` §5.2.7.
    Drawn {
        /// The size in bytes; what is drawn below 1 or above [`LARGEST`] counts as that.
        size: Law,
        /// The seconds from one packet to the next.
        gap: Law,
    },
}

/// The largest datagram that [`Pattern::Drawn`] sends: a full Ethernet packet.
pub const LARGEST: Bytes = Bytes::new(1_500);

/// What a source cannot be like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("source: {field} must be {remedy}")]
pub struct SourceError {
    /// The field of the [`Pattern`].
    pub field: &'static str,
    /// What it must be.
    pub remedy: &'static str,
}

impl Pattern {
    fn check(&self) -> Result<(), SourceError> {
        const ABOVE_ZERO: &str = "above zero";
        const LAW: &str = "a distribution with a mean above zero, a Pareto's shape above 1";
        let conditions: &[(&'static str, bool, &'static str)] = match self {
            Self::Constant { size, rate } => &[
                ("size", *size > Bytes::ZERO, ABOVE_ZERO),
                ("rate", *rate > Rate::ZERO && rate.is_finite(), ABOVE_ZERO),
            ],
            Self::OnOff {
                size,
                rate,
                on,
                off,
            } => &[
                ("size", *size > Bytes::ZERO, ABOVE_ZERO),
                ("rate", *rate > Rate::ZERO && rate.is_finite(), ABOVE_ZERO),
                ("on", on.is_valid(), LAW),
                ("off", off.is_valid(), LAW),
            ],
            Self::Drawn { size, gap } => {
                &[("size", size.is_valid(), LAW), ("gap", gap.is_valid(), LAW)]
            }
        };
        match conditions.iter().find(|(_, holds, _)| !holds) {
            None => Ok(()),
            Some(&(field, _, remedy)) => Err(SourceError { field, remedy }),
        }
    }
}

/// A source from `start` until `stop`.
#[derive(Clone, Debug)]
pub struct Source {
    pattern: Pattern,
    random: Random,
    next: Option<Instant>,
    stop: Instant,
    /// When it is off next; [`Pattern::OnOff`].
    off_at: Instant,
    sequence: u64,
}

impl Source {
    /// A source that waits for its start. One that stops before it starts sends nothing. `random` is
    /// its own stream.
    pub fn new(
        pattern: Pattern,
        start: Instant,
        stop: Instant,
        mut random: Random,
    ) -> Result<Self, SourceError> {
        pattern.check()?;
        let off_at = match &pattern {
            Pattern::OnOff { on, .. } => start + seconds(*on, &mut random),
            Pattern::Constant { .. } | Pattern::Drawn { .. } => Instant::MAX,
        };
        Ok(Self {
            pattern,
            random,
            next: (start < stop).then_some(start),
            stop,
            off_at,
            sequence: 0,
        })
    }

    /// How many datagrams it has sent.
    pub fn packets_sent(&self) -> u64 {
        self.sequence
    }

    /// The size of the datagram that is due, and when the one after it is.
    fn draw(&mut self, due: Instant) -> (Bytes, Instant) {
        match &self.pattern {
            Pattern::Constant { size, rate } => (*size, due + *size / *rate),
            Pattern::OnOff {
                size,
                rate,
                on,
                off,
            } => {
                let mut next = due + *size / *rate;
                if next >= self.off_at {
                    next = self.off_at + seconds(*off, &mut self.random);
                    self.off_at = next + seconds(*on, &mut self.random);
                }
                (*size, next)
            }
            Pattern::Drawn { size, gap } => {
                let size = Bytes::new(size.draw(&mut self.random) as u64);
                let size = size.clamp(Bytes::new(1), LARGEST);
                (size, due + seconds(*gap, &mut self.random))
            }
        }
    }
}

impl Agent for Source {
    type Body = Body;

    fn handle_packet(&mut self, _now: Instant, _packet: &Packet<Body>) {}

    fn handle_timeout(&mut self, _now: Instant) {}

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<Body>> {
        let due = self.next.filter(|&due| due <= now)?;
        let (size, next) = self.draw(due);
        self.next = Some(next).filter(|&next| next < self.stop);
        let sequence = self.sequence;
        self.sequence += 1;
        Some(Packet {
            size,
            ecn: Ecn::NotEct,
            body: Body::Datagram {
                sequence,
                sent: now,
            },
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.next
    }
}

/// A time of this many seconds, at least a nanosecond, so that no source holds time up.
fn seconds(law: Law, random: &mut Random) -> Duration {
    duration_from_secs(law.draw(random)).max(Duration::from_nanos(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Bytes = Bytes::new(500);

    /// What a source sends in its first `secs` seconds.
    fn sent(pattern: Pattern, secs: u64) -> Vec<(Instant, Bytes)> {
        let stop = Instant::from_secs(secs);
        let mut source = Source::new(pattern, Instant::ZERO, stop, Random::new(1, 7)).unwrap();
        let mut sent = Vec::new();
        while let Some(at) = source.poll_timeout() {
            sent.extend(source.poll_transmit(at).map(|packet| (at, packet.size)));
        }
        assert_eq!(source.packets_sent(), sent.len() as u64);
        sent
    }

    fn rate(sent: &[(Instant, Bytes)], secs: u64) -> f64 {
        let bytes: Bytes = sent.iter().map(|(_, size)| *size).sum();
        (bytes / Duration::from_secs(secs)).bits_per_sec()
    }

    #[test]
    fn a_constant_rate_is_evenly_spaced() {
        let pattern = Pattern::Constant {
            size: SIZE,
            rate: Rate::from_bits_per_sec(4e5),
        };
        let times: Vec<u64> = sent(pattern, 1)
            .iter()
            .map(|(at, _)| at.as_micros())
            .collect();
        assert!(times.iter().copied().eq((0..100).map(|n| n * 10_000)));
    }

    #[test]
    fn an_on_off_source_is_on_for_its_share_of_the_time() {
        // As in sigcomm §4.1.3: 1 s on, 2 s off, 500 kb/s while on.
        for law in [
            |mean| Law::Exponential { mean },
            |mean| Law::Pareto { mean, shape: 1.9 },
        ] {
            let pattern = Pattern::OnOff {
                size: SIZE,
                rate: Rate::from_bits_per_sec(5e5),
                on: law(1.0),
                off: law(2.0),
            };
            let sent = sent(pattern, 50_000);
            let share = rate(&sent, 50_000) / 5e5;
            assert!((share - 1.0 / 3.0).abs() < 0.03, "{share}");
            let spacing = Duration::from_millis(8);
            let gaps = sent.windows(2).map(|pair| pair[1].0 - pair[0].0);
            let pauses = gaps.filter(|gap| *gap > 2 * spacing).count();
            assert!((12_000..20_000).contains(&pauses), "{pauses}");
        }
    }

    #[test]
    fn drawn_packets_have_the_means_of_their_laws() {
        let pattern = Pattern::Drawn {
            size: Law::Pareto {
                mean: 300.0,
                shape: 3.0,
            },
            gap: Law::Pareto {
                mean: 0.01,
                shape: 3.0,
            },
        };
        let sent = sent(pattern, 2_000);
        let count = sent.len() as f64;
        assert!((count / 200_000.0 - 1.0).abs() < 0.02, "{count}");
        let mean = rate(&sent, 2_000) / 8.0 / (count / 2_000.0);
        assert!((290.0..305.0).contains(&mean), "{mean}");
        assert!(sent.iter().all(|(_, size)| *size <= LARGEST));
    }

    #[test]
    fn what_would_hold_time_up_is_refused() {
        let zero = Pattern::Constant {
            size: SIZE,
            rate: Rate::ZERO,
        };
        let refused = Source::new(zero, Instant::ZERO, Instant::MAX, Random::new(1, 1));
        let error = refused.map(|_| ()).unwrap_err();
        assert_eq!(error.field, "rate");
        assert_eq!(error.to_string(), "source: rate must be above zero");
    }
}
