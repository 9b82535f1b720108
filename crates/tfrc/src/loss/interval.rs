//! Loss events and the intervals between them (RFC 5348 §5.3).

use core::time::Duration;

use super::average::{Average, Closed, Estimate, MAX_INTERVALS, Now, View};
use super::past::Past;
use crate::receiver::ReceiverConfig;
use crate::time::Instant;
use crate::units::LossEventRate;

/// A loss event and the interval that it begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interval {
    /// The packet that started the event.
    pub(super) start: u64,
    /// Its nominal arrival time, T_old.
    pub(super) at: Instant,
    /// The last packet lost or marked in the event.
    last: u64,
    /// Packets in the interval, once closed.
    length: f64,
    /// DF_i.
    pub(super) discount: f64,
    /// Packets lost or marked in the event; none in the synthetic first interval.
    pub(super) losses: u32,
    /// Every loss counts, not the event alone (RFC 4828 §3).
    short: bool,
}

impl Interval {
    const EMPTY: Self = Self {
        start: 0,
        at: Instant::ZERO,
        last: 0,
        length: 0.0,
        discount: 1.0,
        losses: 0,
        short: false,
    };

    /// Packets in the closed interval; in a short one of N packets and K losses N/K (RFC 4828 §3).
    pub(super) fn counted(&self) -> f64 {
        if self.short {
            self.length / f64::from(self.losses.max(1))
        } else {
            self.length
        }
    }
}

/// What is made of the intervals.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) average: Average,
    /// The least value of DF; 1 without history discounting (RFC 5348 §5.5).
    pub(super) discount_floor: f64,
    /// Intervals of two round trips at most count every loss (RFC 4828 §3).
    pub(super) small_packets: bool,
    /// Taking the current event back restores what it changed in the intervals before it. The standard
    /// says nothing of that; a path that reorders would else forget its intervals one by one.
    pub(super) restores: bool,
}

impl Rules {
    pub(super) const fn new(config: &ReceiverConfig) -> Self {
        Self {
            average: config.average,
            discount_floor: if config.discounting {
                config.standard.discount_floor()
            } else {
                1.0
            },
            small_packets: config.small_packets,
            restores: config.reordering,
        }
    }
}

/// What the current event changed in the intervals before it.
#[derive(Clone, Copy, Debug)]
struct Change {
    /// DF, which became part of each DF_i.
    discount: f64,
    /// The interval that no longer had room.
    forgotten: Option<Interval>,
}

/// I_0 … I_n: the current interval and the n before it.
#[derive(Clone, Debug)]
pub(super) struct Intervals {
    rules: Rules,
    recent: [Interval; MAX_INTERVALS + 1],
    /// How many of `recent` are in use: none, or the current and at least one closed.
    len: usize,
    /// Of the closed intervals as they are.
    sum: Closed,
    change: Option<Change>,
}

impl Intervals {
    pub(super) const fn new(rules: Rules) -> Self {
        Self {
            rules,
            recent: [Interval::EMPTY; MAX_INTERVALS + 1],
            len: 0,
            sum: Closed::NONE,
            change: None,
        }
    }

    /// Those of a receiver that is gone, whose going began the current one.
    pub(super) fn after(rules: Rules, past: &Past) -> Self {
        let mut intervals = Self::new(rules);
        let closed = past.intervals().iter().take(rules.average.intervals());
        for ((length, discount), place) in closed.zip(&mut intervals.recent[1..]) {
            (place.length, place.discount) = (*length, *discount);
            intervals.len += 1;
        }
        if intervals.len > 0 {
            intervals.len += 1;
            // No packet that comes takes it back.
            intervals.recent[0].losses = 1;
            intervals.sum_up();
        }
        intervals
    }

    /// The first packet since they were taken over.
    pub(super) fn begin_at(&mut self, seq: u64, at: Instant) {
        let event = &mut self.recent[0];
        (event.start, event.last, event.at) = (seq, seq, at);
    }

    /// What is left of them when nothing more comes; `first` gives the synthetic interval if there is none.
    pub(super) fn past(mut self, now: Now, first: impl FnOnce() -> f64) -> Past {
        self.begin_event(now.highest.saturating_add(1), now.at, now, first);
        let closed = self.recent[1..self.len].iter();
        Past::new(closed.map(|interval| (interval.counted(), interval.discount)))
    }

    /// When the current loss event began; `None` before the first.
    pub(super) fn event_time(&self) -> Option<Instant> {
        (self.len > 0).then_some(self.recent[0].at)
    }

    /// True if packet `seq` lies below one that was lost or marked in the current event, so that no
    /// event can begin with it: each begins above all packets of the one before.
    pub(super) fn reaches_beyond(&self, seq: u64) -> bool {
        self.len > 0 && seq < self.recent[0].last
    }

    #[cfg(test)]
    pub(super) fn event_start(&self) -> Option<u64> {
        (self.len > 0).then_some(self.recent[0].start)
    }

    /// Begins a loss event. `before` is where the stream was before the event was detected; `first` gives
    /// the synthetic interval before the very first event (RFC 5348 §6.3.1).
    pub(super) fn begin_event(
        &mut self,
        start: u64,
        at: Instant,
        before: Now,
        first: impl FnOnce() -> f64,
    ) {
        if self.len == 0 {
            self.recent[1] = Interval {
                length: first(),
                ..Interval::EMPTY
            };
            self.len = 2;
            self.change = None;
        } else {
            let average = self.rules.average;
            let discount = average.discount(&self.view(before), self.rules.discount_floor);
            if discount < 1.0 {
                for interval in &mut self.recent[1..self.len] {
                    interval.discount *= discount;
                }
            }
            let short = self.is_short(at, before.rtt);
            let current = &mut self.recent[0];
            current.length = start.saturating_sub(current.start) as f64;
            current.short = short;
            let full = self.len > average.intervals();
            self.change = self.rules.restores.then(|| Change {
                discount,
                forgotten: full.then(|| self.recent[self.len - 1]),
            });
            self.len = (self.len + 1).min(average.intervals() + 1);
            self.recent.copy_within(0..self.len - 1, 1);
        }
        self.recent[0] = Interval {
            start,
            at,
            ..Interval::EMPTY
        };
        self.sum_up();
    }

    /// Sums the closed intervals up; to be called when they have changed.
    fn sum_up(&mut self) {
        if let Some(closed) = self.recent[..self.len].get(1..) {
            self.sum = self.rules.average.sum(closed);
        }
    }

    /// Adds lost or marked packets, of which `last` is the last, to the current event.
    pub(super) fn add_losses(&mut self, count: u64, last: u64) {
        let event = &mut self.recent[0];
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        event.losses = event.losses.saturating_add(count);
        event.last = event.last.max(last);
    }

    /// Takes back one loss of the event that packet `seq` belongs to, if it is remembered. True if no loss of that event is
    /// left, so that two intervals became one (RFC 5348 §6.1).
    pub(super) fn take_back(&mut self, seq: u64) -> bool {
        let events = &mut self.recent[..self.len];
        let Some(index) = events
            .iter()
            .position(|event| event.losses > 0 && event.start <= seq)
            .filter(|index| seq <= events[*index].last)
        else {
            return false;
        };
        events[index].losses -= 1;
        let merged = events[index].losses == 0;
        if merged {
            self.merge(index);
            if index == 0 && self.len > 0 {
                self.restore();
            }
        }
        self.sum_up();
        merged
    }

    /// p.
    pub(super) fn loss_event_rate(&self, now: Now) -> LossEventRate {
        if self.len == 0 {
            return LossEventRate::ZERO;
        }
        let Rules {
            average,
            discount_floor,
            ..
        } = &self.rules;
        average.loss_event_rate(&self.view(now), *discount_floor)
    }

    fn view(&self, now: Now) -> View<'_> {
        // I_0 = S_C − S_A + 1 (RFC 5348 §5.3).
        let length = now.highest.saturating_sub(self.recent[0].start) as f64 + 1.0;
        View {
            current: (!self.is_short(now.at, now.rtt)).then_some(length),
            event: &self.recent[0],
            closed: &self.recent[1..self.len],
            sum: &self.sum,
            now,
        }
    }

    /// Would the current interval, did it end then, be a short one?
    fn is_short(&self, end: Instant, rtt: Duration) -> bool {
        self.rules.small_packets && end.saturating_since(self.recent[0].at) <= rtt.saturating_mul(2)
    }

    /// Undoes what the event that was the current one had changed.
    fn restore(&mut self) {
        let Some(change) = self.change.take() else {
            return;
        };
        if let Some(forgotten) = change.forgotten {
            self.recent[self.len] = forgotten;
            self.len += 1;
        }
        for interval in &mut self.recent[1..self.len] {
            interval.discount = (interval.discount / change.discount).min(1.0);
        }
    }

    /// Removes an event whose packets all came after all, and joins its interval to the one before.
    fn merge(&mut self, index: usize) {
        let newer = self.recent[index];
        if let Some(older) = self.recent[..self.len].get_mut(index + 1)
            && older.losses > 0
        {
            older.length += newer.length;
            older.discount = newer.discount;
            // Two short ones may make a long one; the standard does not say, and a long one is longer.
            older.short = false;
        }
        self.recent.copy_within(index + 1..self.len, index);
        self.len -= 1;
        // Only the synthetic interval is left: there has been no loss event after all.
        if self.len < 2 {
            self.len = 0;
        }
    }
}

#[cfg(test)]
mod tests;
