//! Traffic that heeds no congestion.

use evenkeel_link::Random;
use evenkeel_sim::{Law, Pattern, Sink, Source, SourceError, Traffic};
use serde::Deserialize;
use tfrc::time::Instant;

use super::stacks::require_packet;
use crate::error::{Impossible, RunError, broken, require};
use crate::units::{BitRate, Size, Time};

/// UDP that heeds nothing. Sizes are those on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Udp {
    /// Always at one rate.
    Constant {
        /// Of every packet.
        packet: Size,
        /// Of the flow.
        rate: BitRate,
    },
    /// On and off by turns, for times of a Pareto distribution: many of them make traffic that is
    /// self-similar (`sigcomm` §4.1.3).
    OnOff {
        /// Of every packet.
        packet: Size,
        /// While it is on.
        rate: BitRate,
        /// For how long it is on, on average.
        on: Time,
        /// For how long it is off, on average.
        off: Time,
        /// Of both distributions; up to 2 their variance is infinite.
        shape: f64,
    },
    /// Gaps of a Pareto distribution (`thesis` §5.2.7).
    Pareto {
        /// Of every packet.
        packet: Size,
        /// From packet to packet, on average.
        gap: Time,
        /// Of the distribution; up to 2 its variance is infinite.
        shape: f64,
    },
}

impl Udp {
    pub(crate) fn verify(self) -> Result<(), Impossible> {
        let times = |times: &[Time]| times.iter().all(|time| !time.0.is_zero());
        let heavy = |shape: f64| shape.is_finite() && shape > 1.0;
        match self {
            Self::Constant { packet, .. } => require_packet(packet),
            Self::OnOff {
                packet,
                on,
                off,
                shape,
                ..
            } => {
                require_packet(packet)?;
                require(times(&[on]), "on", "above 0")?;
                require(times(&[off]), "off", "above 0")?;
                require(heavy(shape), "shape", "above 1")
            }
            Self::Pareto { packet, gap, shape } => {
                require_packet(packet)?;
                require(times(&[gap]), "gap", "above 0")?;
                require(heavy(shape), "shape", "above 1")
            }
        }
    }

    fn pattern(self) -> Pattern {
        let pareto = |mean: Time, shape| Law::Pareto {
            mean: mean.secs(),
            shape,
        };
        match self {
            Self::Constant { packet, rate } => Pattern::Constant {
                size: packet.0,
                rate: rate.0,
            },
            Self::OnOff {
                packet,
                rate,
                on,
                off,
                shape,
            } => Pattern::OnOff {
                size: packet.0,
                rate: rate.0,
                on: pareto(on, shape),
                off: pareto(off, shape),
            },
            Self::Pareto { packet, gap, shape } => Pattern::Drawn {
                size: Law::Constant(packet.0.as_f64()),
                gap: pareto(gap, shape),
            },
        }
    }

    pub(super) fn ends(
        self,
        times: [Instant; 2],
        random: Random,
    ) -> Result<[Traffic; 2], RunError> {
        let source = self.source(times, random).map_err(|error| broken(&error))?;
        Ok([Traffic::from(source), Traffic::from(Sink::default())])
    }

    /// What sends from `start` to `stop`, on whichever clock.
    pub fn source(
        self,
        [start, stop]: [Instant; 2],
        random: Random,
    ) -> Result<Source, SourceError> {
        Source::new(self.pattern(), start, stop, random)
    }
}
