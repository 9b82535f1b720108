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
    /// The discount factor DF_i.
    pub(super) discount: f64,
    /// Packets lost or marked in the event; none in the synthetic first interval.
    pub(super) losses: u32,
    /// Every loss of this interval counts, not only the event (RFC 4828 §3).
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

    /// Returns the packets in the closed interval, or N/K in a short one of N packets and K losses (RFC 4828 §3).
    pub(super) fn counted(&self) -> f64 {
        if self.short {
            self.length / f64::from(self.losses.max(1))
        } else {
            self.length
        }
    }
}

/// The rules that apply to the intervals.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) average: Average,
    /// The least DF; 1 disables history discounting (RFC 5348 §5.5).
    pub(super) discount_floor: f64,
    /// Intervals of at most two round trips count every loss (RFC 4828 §3).
    pub(super) small_packets: bool,
    /// An event that is undone restores the intervals that it changed. The standard does not specify this; a path
    /// that reorders would otherwise forget its intervals one by one.
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

/// The changes of older intervals by the current event.
#[derive(Clone, Copy, Debug)]
struct Change {
    /// The DF that became part of each DF_i.
    discount: f64,
    /// The interval that had no room any more.
    forgotten: Option<Interval>,
}

/// The intervals I_0 … I_n: the current one and the n before it.
#[derive(Clone, Debug)]
pub(super) struct Intervals {
    rules: Rules,
    recent: [Interval; MAX_INTERVALS + 1],
    /// The length of the used part of `recent`: zero, or the current interval and at least one closed.
    len: usize,
    /// The sums over the closed intervals.
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

    /// Takes over the intervals of a receiver that is gone; its departure began the current interval.
    pub(super) fn after(rules: Rules, past: &Past) -> Self {
        let mut intervals = Self::new(rules);
        let closed = past.intervals().iter().take(rules.average.intervals());
        for ((length, discount), place) in closed.zip(&mut intervals.recent[1..]) {
            (place.length, place.discount) = (*length, *discount);
            intervals.len += 1;
        }
        if intervals.len > 0 {
            intervals.len += 1;
            // No late packet may undo this event.
            intervals.recent[0].losses = 1;
            intervals.sum_up();
        }
        intervals
    }

    /// Sets the first packet since the intervals were taken over.
    pub(super) fn begin_at(&mut self, seq: u64, at: Instant) {
        let event = &mut self.recent[0];
        (event.start, event.last, event.at) = (seq, seq, at);
    }

    /// Returns the past if no packet follows; `first` gives the synthetic interval if there is no interval yet.
    pub(super) fn past(mut self, now: Now, first: impl FnOnce() -> f64) -> Past {
        self.begin_event(now.highest.saturating_add(1), now.at, now, first);
        let closed = self.recent[1..self.len].iter();
        Past::new(closed.map(|interval| (interval.counted(), interval.discount)))
    }

    /// Returns when the current loss event began; `None` before the first.
    pub(super) fn event_time(&self) -> Option<Instant> {
        (self.len > 0).then_some(self.recent[0].at)
    }

    /// Returns true if packet `seq` lies below a lost or marked packet of the current event. No event begins with
    /// such a packet, because each event begins above all packets of the event before.
    pub(super) fn reaches_beyond(&self, seq: u64) -> bool {
        self.len > 0 && seq < self.recent[0].last
    }

    #[cfg(test)]
    pub(super) fn event_start(&self) -> Option<u64> {
        (self.len > 0).then_some(self.recent[0].start)
    }

    /// Begins a loss event. `before` is the position of the stream before the event was detected; `first` gives the
    /// synthetic interval before the very first event (RFC 5348 §6.3.1).
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

    /// Sums the closed intervals; each change of them must be followed by a call.
    fn sum_up(&mut self) {
        if let Some(closed) = self.recent[..self.len].get(1..) {
            self.sum = self.rules.average.sum(closed);
        }
    }

    /// Adds lost or marked packets, the last of which is `last`, to the current event.
    pub(super) fn add_losses(&mut self, count: u64, last: u64) {
        let event = &mut self.recent[0];
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        event.losses = event.losses.saturating_add(count);
        event.last = event.last.max(last);
    }

    /// Undoes one loss of the remembered event that contains packet `seq`. Returns true if no loss of that event
    /// remains, so that two intervals became one (RFC 5348 §6.1).
    pub(super) fn undo_loss(&mut self, seq: u64) -> bool {
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

    /// Returns p.
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

    /// Returns true if the current interval would be a short one if it ended at `end`.
    fn is_short(&self, end: Instant, rtt: Duration) -> bool {
        self.rules.small_packets && end.saturating_since(self.recent[0].at) <= rtt.saturating_mul(2)
    }

    /// Undoes the changes that the former current event made to older intervals.
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

    /// Removes an event all of whose packets arrived late, and joins its interval to the one before.
    fn merge(&mut self, index: usize) {
        let newer = self.recent[index];
        if let Some(older) = self.recent[..self.len].get_mut(index + 1)
            && older.losses > 0
        {
            older.length += newer.length;
            older.discount = newer.discount;
            // Two short intervals may make a long one. The standard does not say; here the joined interval
            // counts as long.
            older.short = false;
        }
        self.recent.copy_within(index + 1..self.len, index);
        self.len -= 1;
        // Only the synthetic interval remains, so there has been no loss event.
        if self.len < 2 {
            self.len = 0;
        }
    }
}

#[cfg(test)]
mod tests;
