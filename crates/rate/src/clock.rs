//! Bounds the offset of the receiver's clock from the sender's by arrival times.
//!
//! A packet arrives between its departure and the arrival of its report. So each arrival time bounds the offset from both sides,
//! and the bounds of all arrivals overlap. An arrival time that contradicts the others is false, or the receiver's clock was
//! set: then the next arrival time contradicts them, too, and agrees with the first.

use crate::number::{larger, smaller};

/// Bounds on the offset of the receiver's clock, in seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OffsetBounds {
    /// Time of the measurement, on the sender's clock.
    pub(crate) at: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

/// The agreement of an arrival time with those before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClockReading {
    /// The arrival time agrees with those before.
    Consistent,
    /// The arrival time contradicts those before and is ignored.
    Contradictory,
    /// The clock was set: the arrival time agrees with the contradictory one before, or is the first of another clock.
    Set,
}

/// The offset of the receiver's clock, as far as arrival times agree.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReceiverClock {
    believed: OffsetBounds,
    suspected: Option<OffsetBounds>,
    is_another: bool,
}

/// Bound on the drift between clocks, seconds per second: twice the adjustment by adjtime(3).
const MAX_DRIFT: f64 = 1e-3;
/// Tolerance of contradictions, in seconds: two units of an arrival time in RFC 8888 §3.1.
const TOLERANCE: f64 = 0.002;

impl Default for OffsetBounds {
    /// Creates a clock without bounds.
    fn default() -> Self {
        Self {
            at: 0.0,
            least: f64::NEG_INFINITY,
            most: f64::INFINITY,
        }
    }
}

impl OffsetBounds {
    fn overlaps(&self, other: &Self) -> bool {
        let slack = TOLERANCE + self.drift(other);
        self.least <= other.most + slack && other.least <= self.most + slack
    }

    /// Returns the bounds that follow from both.
    fn narrowed(&self, newer: &Self) -> Self {
        let drift = self.drift(newer);
        Self {
            at: newer.at,
            least: larger(newer.least, self.least - drift),
            most: smaller(newer.most, self.most + drift),
        }
    }

    fn drift(&self, other: &Self) -> f64 {
        (other.at - self.at).abs() * MAX_DRIFT
    }
}

impl ReceiverClock {
    /// Forgets the offset: transit times belong to another clock from now on.
    pub(crate) fn change(&mut self) {
        *self = Self {
            is_another: true,
            ..Self::default()
        };
    }

    /// Records the bounds that an arrival time gives.
    #[inline]
    pub(crate) fn observe(&mut self, bounds: OffsetBounds) -> ClockReading {
        if !self.is_another && self.believed.overlaps(&bounds) {
            self.believed = self.believed.narrowed(&bounds);
            self.suspected = None;
            return ClockReading::Consistent;
        }
        self.doubt(bounds)
    }

    /// Handles bounds that contradict those before, or belong to another clock.
    #[cold]
    fn doubt(&mut self, bounds: OffsetBounds) -> ClockReading {
        if core::mem::take(&mut self.is_another) {
            self.believed = bounds;
            return ClockReading::Set;
        }
        match self.suspected.take() {
            Some(suspected) if suspected.overlaps(&bounds) => {
                self.believed = suspected.narrowed(&bounds);
                ClockReading::Set
            }
            _ => {
                self.suspected = Some(bounds);
                ClockReading::Contradictory
            }
        }
    }
}
