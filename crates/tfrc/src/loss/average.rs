//! The averages of loss intervals that give p: the method of RFC 5348 §5.4, and the alternatives of the 2000 paper.
//!
//! The paper is Floyd, Handley, Padhye, Widmer, "Equation-Based Congestion Control for Unicast Applications", extended version,
//! §3.3.

use core::time::Duration;

use super::interval::Interval;
use crate::config_error::TfrcConfigError;
use crate::time::Instant;
use crate::units::LossEventRate;

/// The most closed loss intervals that are remembered; figure 18 of the paper uses as many.
pub const MAX_INTERVALS: usize = 32;

/// The method that computes the loss event rate from loss intervals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Average {
    /// The average loss interval method of RFC 5348 §5.4: weights for the newest closed intervals. The current
    /// interval replaces the oldest of them where that lowers p.
    Weighted(Weights),
    /// The naive average loss interval method: the mean of this many intervals, the current one included, all of
    /// the same weight. From 1 to [`MAX_INTERVALS`].
    Plain(u8),
    /// The EWMA loss interval method: the newest closed interval has this weight in (0, 1], and the older mean has
    /// the rest. The paper leaves the treatment of the current interval open; here the interval counts where it
    /// lowers p, because the rate would never rise again otherwise. The mean is exact except for intervals older
    /// than [`MAX_INTERVALS`].
    Ewma(f64),
    /// The dynamic history window method: loss events per packet in a window. The window is as long as the present
    /// rate delivers in this many round trips. The window contains at least one event and at most
    /// [`MAX_INTERVALS`].
    Window(u32),
}

impl Default for Average {
    fn default() -> Self {
        Self::Weighted(Weights::default())
    }
}

impl Average {
    /// Checks the ranges of the variants.
    pub(crate) fn validate(&self) -> Result<(), TfrcConfigError> {
        match *self {
            Self::Weighted(_) | Self::Window(_) => Ok(()),
            Self::Plain(n) => {
                let is_valid = (1..=MAX_INTERVALS).contains(&n.into());
                TfrcConfigError::unless(is_valid, "average", n.into(), "from 1 to 32 intervals")
            }
            Self::Ewma(weight) => {
                let is_valid = weight > 0.0 && weight <= 1.0;
                TfrcConfigError::unless(is_valid, "average", weight, "above 0, at most 1")
            }
        }
    }
}

/// The weights w_0 … w_(n−1) of loss intervals, the newest interval first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights(&'static [f64]);

impl Weights {
    /// Returns the weights of RFC 5348 §5.4: 1 for the newer half, then falling evenly. n = 8 is RECOMMENDED, and
    /// more SHOULD NOT be used beside TCP.
    ///
    /// # Panics
    ///
    /// Panics unless `n` is from 1 to [`MAX_INTERVALS`].
    #[track_caller]
    pub const fn falling(n: usize) -> Self {
        const ROWS: [[f64; MAX_INTERVALS]; MAX_INTERVALS + 1] = falling_rows();
        assert!(n >= 1, "there must be 1 weight or more");
        assert!(n <= MAX_INTERVALS, "there must be 32 weights or fewer");
        Self(ROWS[n].split_at(n).0)
    }

    /// Returns weights that are all 1, as in the left half of the paper's figure 18.
    ///
    /// # Panics
    ///
    /// Panics unless `n` is from 1 to [`MAX_INTERVALS`].
    #[track_caller]
    pub const fn equal(n: usize) -> Self {
        assert!(n >= 1, "there must be 1 weight or more");
        assert!(n <= MAX_INTERVALS, "there must be 32 weights or fewer");
        Self([1.0; MAX_INTERVALS].as_slice().split_at(n).0)
    }

    /// Returns other weights: 1 to [`MAX_INTERVALS`] of them, the first positive, none negative and all finite.
    /// Returns `None` where they are not.
    pub fn new(weights: &'static [f64]) -> Option<Self> {
        let are_weights = weights.iter().all(|w| w.is_finite() && *w >= 0.0);
        let any = weights.first().is_some_and(|first| *first > 0.0);
        (any && are_weights && weights.len() <= MAX_INTERVALS).then_some(Self(weights))
    }
}

impl Default for Weights {
    /// Returns the weights for n = 8 (RFC 5348 §5.4).
    fn default() -> Self {
        Self(&[1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2])
    }
}

/// Returns w_i = 1 − (i − (n/2 − 1))/(n/2 + 1) for i ≥ n/2, written so that each is one rounded quotient.
const fn falling_rows() -> [[f64; MAX_INTERVALS]; MAX_INTERVALS + 1] {
    let mut rows = [[1.0; MAX_INTERVALS]; MAX_INTERVALS + 1];
    let mut n = 1;
    while n <= MAX_INTERVALS {
        let mut i = n.div_ceil(2);
        while i < n {
            rows[n][i] = (2 * (n - i)) as f64 / (n + 2) as f64;
            i += 1;
        }
        n += 1;
    }
    rows
}

/// The input of an average: the loss intervals.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    /// I_0, or `None` where it must not count (RFC 4828 §3).
    pub(super) current: Option<f64>,
    /// The current loss event.
    pub(super) event: &'a Interval,
    pub(super) closed: &'a [Interval],
    /// The result of [`Estimate::sum`] for the closed intervals.
    pub(super) sum: &'a Closed,
    pub(super) now: Now,
}

/// The present position of the stream: its highest packet, the time and the round trip.
#[derive(Clone, Copy, Debug)]
pub(super) struct Now {
    /// The highest packet that was received.
    pub(super) highest: u64,
    /// The time of the last arrival.
    pub(super) at: Instant,
    pub(super) rtt: Duration,
}

/// A method that computes p from loss intervals.
pub(super) trait Estimate {
    /// Returns how many closed intervals the method uses.
    fn intervals(&self) -> usize;

    /// Returns the part of the computation of p that depends on the closed intervals alone.
    fn sum(&self, _closed: &[Interval]) -> Closed {
        Closed::NONE
    }

    /// Returns p.
    fn loss_event_rate(&self, view: &View<'_>, discount_floor: f64) -> LossEventRate;

    /// Returns DF, the factor by which a long current interval devalues the closed ones (RFC 5348 §5.5), at least
    /// `floor`. Only the standard's method discounts.
    fn discount(&self, _view: &View<'_>, _floor: f64) -> f64 {
        1.0
    }
}

impl Estimate for Average {
    fn intervals(&self) -> usize {
        match self {
            Self::Weighted(weights) => weights.intervals(),
            Self::Plain(n) => Plain(*n).intervals(),
            Self::Ewma(weight) => Ewma(*weight).intervals(),
            Self::Window(round_trips) => Window(*round_trips).intervals(),
        }
    }

    fn sum(&self, closed: &[Interval]) -> Closed {
        match self {
            Self::Weighted(weights) => weights.sum(closed),
            Self::Plain(_) | Self::Ewma(_) | Self::Window(_) => Closed::NONE,
        }
    }

    #[inline]
    fn loss_event_rate(&self, view: &View<'_>, discount_floor: f64) -> LossEventRate {
        match self {
            Self::Weighted(weights) => weights.loss_event_rate(view, discount_floor),
            Self::Plain(n) => Plain(*n).loss_event_rate(view, discount_floor),
            Self::Ewma(weight) => Ewma(*weight).loss_event_rate(view, discount_floor),
            Self::Window(round_trips) => Window(*round_trips).loss_event_rate(view, discount_floor),
        }
    }

    fn discount(&self, view: &View<'_>, floor: f64) -> f64 {
        match self {
            Self::Weighted(weights) => weights.discount(view, floor),
            Self::Plain(_) | Self::Ewma(_) | Self::Window(_) => 1.0,
        }
    }
}

impl Estimate for Weights {
    fn intervals(&self) -> usize {
        self.0.len()
    }

    fn sum(&self, closed: &[Interval]) -> Closed {
        // I_tot1 and W_tot (RFC 5348 §5.4). `discounted` is I_tot1 again, multiplied in the order of §5.5, because
        // the two orders round differently.
        let (mut total, mut weight, mut discounted) = (0.0, 0.0, 0.0);
        for (interval, w) in closed.iter().zip(self.0) {
            let (length, weighted) = (interval.counted(), w * interval.discount);
            total += length * weighted;
            weight += weighted;
            discounted += length * w * interval.discount;
        }
        let (without, mean) = (weight / total, discounted / weight);
        let (newer, newer_weight) = self.with_current(0.0, closed, 1.0);
        // At this I_0, p is the same with and without I_0: (w_0 + W_newer) / (w_0·I_0 + I_newer) = W_tot / I_tot1.
        let joins = (newer_weight / without * ROUNDING_FACTOR - newer) / self.0[0];
        Closed {
            without,
            mean,
            joins: joins.min(2.0 * mean),
        }
    }

    #[inline]
    fn loss_event_rate(&self, view: &View<'_>, discount_floor: f64) -> LossEventRate {
        let Closed { without, joins, .. } = *view.sum;
        let current = match view.current {
            None => return LossEventRate::new(without),
            Some(current) if current < joins => return LossEventRate::new(without),
            Some(current) => current,
        };
        let discount = view.sum.discount(current, discount_floor);
        let (with, with_weight) = self.with_current(current, view.closed, discount);
        LossEventRate::new((with_weight / with).min(without))
    }

    fn discount(&self, view: &View<'_>, floor: f64) -> f64 {
        let current = view.current;
        current.map_or(1.0, |current| view.sum.discount(current, floor))
    }
}

impl Weights {
    /// Returns I_tot0 and its weight (RFC 5348 §5.4). The oldest interval does not count: n intervals have weights,
    /// and the current one is among them.
    #[inline]
    fn with_current(&self, current: f64, closed: &[Interval], discount: f64) -> (f64, f64) {
        let (mut total, mut total_weight) = (current * self.0[0], self.0[0]);
        let newer = &closed[..closed.len() - 1];
        for (interval, weight) in newer.iter().zip(&self.0[1..]) {
            let weight = weight * interval.discount * discount;
            total += interval.counted() * weight;
            total_weight += weight;
        }
        (total, total_weight)
    }
}

/// A factor below one by more than the rounding error of sums over [`MAX_INTERVALS`] intervals.
const ROUNDING_FACTOR: f64 = 1.0 - 1e-9;

/// The sums over the closed intervals with their weights and discounts, so that p need not be summed anew for each
/// packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Closed {
    /// p without the current interval.
    without: f64,
    /// I_mean (RFC 5348 §5.5).
    mean: f64,
    /// The length below which the current interval certainly neither lowers p nor discounts the closed ones.
    joins: f64,
}

impl Closed {
    /// The sums before any interval was closed.
    pub(super) const NONE: Self = Self {
        without: 0.0,
        mean: 0.0,
        joins: 0.0,
    };

    /// Returns DF (RFC 5348 §5.5, steps 1 and 2).
    fn discount(&self, current: f64, floor: f64) -> f64 {
        if current > 2.0 * self.mean {
            (2.0 * self.mean / current).max(floor)
        } else {
            1.0
        }
    }
}

struct Plain(u8);

impl Estimate for Plain {
    fn intervals(&self) -> usize {
        usize::from(self.0)
    }

    fn loss_event_rate(&self, view: &View<'_>, _: f64) -> LossEventRate {
        let closed = match view.current {
            Some(_) => &view.closed[..view.closed.len().min(self.intervals() - 1)],
            None => view.closed,
        };
        let lengths = view
            .current
            .into_iter()
            .chain(closed.iter().map(Interval::counted));
        let (total, count) = lengths.fold((0.0, 0.0), |(total, count), length| {
            (total + length, count + 1.0)
        });
        LossEventRate::new(count / total)
    }
}

struct Ewma(f64);

impl Estimate for Ewma {
    fn intervals(&self) -> usize {
        MAX_INTERVALS
    }

    fn loss_event_rate(&self, view: &View<'_>, _: f64) -> LossEventRate {
        let weight = self.0;
        let lengths = view.closed.iter().rev().map(Interval::counted);
        let mean = lengths.reduce(|mean, length| mean + weight * (length - mean));
        let mean = mean.unwrap_or(1.0);
        let current = view.current.unwrap_or(mean);
        LossEventRate::new(1.0 / mean.max(mean + weight * (current - mean)))
    }
}

struct Window(u32);

impl Window {
    /// Returns how many packets the present rate delivers in a round trip. The rate is measured since the newest
    /// loss event that is a round trip old, or else since the oldest event. The result is infinite where no time
    /// has passed since.
    fn packets_in_round_trip(view: &View<'_>) -> f64 {
        let real = view.closed.iter().filter(|interval| interval.losses > 0);
        let mut events = core::iter::once(view.event).chain(real);
        let age = |event: &Interval| view.now.at.saturating_since(event.at);
        let event = events
            .clone()
            .find(|event| age(event) >= view.now.rtt)
            .or(events.next_back())
            .unwrap_or(view.event);
        let packets = view.now.highest.saturating_sub(event.start) as f64;
        let elapsed = age(event).as_secs_f64();
        if elapsed > 0.0 {
            packets * (view.now.rtt.as_secs_f64() / elapsed)
        } else {
            f64::INFINITY
        }
    }
}

impl Estimate for Window {
    fn intervals(&self) -> usize {
        MAX_INTERVALS
    }

    fn loss_event_rate(&self, view: &View<'_>, _: f64) -> LossEventRate {
        let window = f64::from(self.0) * Self::packets_in_round_trip(view);
        // The event that is `distance` packets back belongs to the window if `distance` does not exceed the window.
        let (mut distance, mut events) = (view.current.unwrap_or(0.0), 1.0);
        for interval in view.closed {
            let next = distance + interval.counted();
            if next > window {
                return LossEventRate::new(events / window.max(distance).max(1.0));
            }
            (distance, events) = (next, events + 1.0);
        }
        LossEventRate::new(events / distance.max(1.0))
    }
}

#[cfg(test)]
mod tests;
