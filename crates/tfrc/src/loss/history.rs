//! Which packets are missing, and when each must be called lost (RFC 5348 §5.1).

#[cfg(feature = "cache-layout")]
use core::mem::offset_of;
use core::time::Duration;

use super::reordering::{Lateness, Reordering};
use super::ring::Ring;
use crate::Standard;
use crate::time::Instant;

/// Arrivals above a hole that turn it into a loss (RFC 5348 §5.1).
const NDUPACK: u32 = 3;
/// Holes that are not losses yet. In-order traffic makes at most two, of fewer than [`NDUPACK`] arrivals
/// each; a path that reorders makes more, and late packets that split holes add a few. The last place
/// makes the oldest a loss.
const PENDING: usize = 16;
/// Losses remembered in case their packets come late. Beyond this the oldest stays lost.
const REMEMBERED: usize = 64;

/// A run of missing packets, and the two arrivals that bound it in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Hole {
    /// The first missing packet.
    pub(super) first: u64,
    /// The last missing packet.
    pub(super) last: u64,
    before: (u64, Instant),
    after: (u64, Instant),
    above: u32,
}

impl Hole {
    /// The nominal arrival time of one of its packets, interpolated (RFC 5348 §5.2).
    pub(super) fn nominal_time(&self, seq: u64) -> Instant {
        let (part, whole) = (seq - self.before.0, self.after.0 - self.before.0);
        let share = |span: Duration| {
            let nanos = span.as_nanos() as u64;
            Duration::from_nanos(match nanos.checked_mul(part) {
                Some(product) => product / whole,
                None => (u128::from(nanos) * u128::from(part) / u128::from(whole)) as u64,
            })
        };
        match self.after.1.checked_since(self.before.1) {
            Some(span) => self.before.1 + share(span),
            // Only RFC 3448 §5.2 lets the packet before come after the packet after.
            None => self.before.1 - share(self.before.1.saturating_since(self.after.1)),
        }
    }

    /// How many of its packets, from `seq` on, have a nominal time up to `until`. Exact: where many
    /// packets fall into one nanosecond, a count that is one short would be asked for again and again.
    pub(super) fn packets_until(&self, seq: u64, until: Instant) -> u64 {
        let Some(span) = self.after.1.checked_since(self.before.1) else {
            // Nominal times fall: with this packet's all that follow are up to `until`.
            let all = self.last + 1 - seq;
            return if self.nominal_time(seq) <= until {
                all
            } else {
                0
            };
        };
        let Some(left) = until.checked_since(self.before.1) else {
            return 0;
        };
        // ⌊span·k/distance⌋ ≤ left, solved for k; both factors are at most 2^64, and not both.
        let distance = u128::from(self.after.0 - self.before.0);
        let reach = ((left.as_nanos() + 1) * distance - 1)
            .checked_div(span.as_nanos())
            .unwrap_or(u128::MAX);
        let last =
            u64::try_from(reach).map_or(u64::MAX, |reach| self.before.0.saturating_add(reach));
        (last.min(self.last) + 1).saturating_sub(seq)
    }

    /// How many packets the interpolation puts into a time.
    pub(super) fn packets_in(&self, time: Duration) -> u64 {
        let span = self.after.1.saturating_since(self.before.1).as_nanos();
        if span == 0 {
            return u64::MAX;
        }
        let packets = time
            .as_nanos()
            .saturating_mul(u128::from(self.after.0 - self.before.0))
            / span;
        u64::try_from(packets).unwrap_or(u64::MAX)
    }
}

/// What one arrival means for the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recorded {
    /// Seen before, or too old to tell.
    Duplicate,
    /// In order, or above a new hole.
    New,
    /// Late, into a hole that was no loss yet.
    Late(Lateness),
    /// Late, and called lost meanwhile.
    Recovered(Lateness),
}

/// A run of packets called lost, in sixteen bytes.
#[derive(Clone, Copy, Debug)]
struct Lost {
    first: u64,
    /// Of a longer run only the last are remembered.
    count: u32,
    /// When its hole was seen: microseconds modulo 2^32, for lateness of an hour at most.
    seen: u32,
}

impl Lost {
    fn new(hole: &Hole) -> Self {
        let count = u32::try_from(hole.last - hole.first + 1).unwrap_or(u32::MAX);
        Self {
            first: hole.last - u64::from(count - 1),
            count,
            seen: hole.after.1.as_micros() as u32,
        }
    }

    const fn contains(&self, seq: u64) -> bool {
        seq >= self.first && seq - self.first < self.count as u64
    }

    /// What is left of it below and above `seq`, one of its packets.
    const fn split(self, seq: u64) -> (Self, Self) {
        let below = (seq - self.first) as u32;
        (
            Self {
                count: below,
                ..self
            },
            Self {
                first: seq + 1,
                count: self.count - below - 1,
                ..self
            },
        )
    }

    fn age(&self, now: Instant) -> Duration {
        Duration::from_micros((now.as_micros() as u32).wrapping_sub(self.seen).into())
    }
}

/// The reception record: constant in size, whatever is lost.
// The fields that every packet touches are first, as `Receiver` has them side by side.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "cache-layout", repr(C))]
pub(super) struct History {
    highest: Option<u64>,
    latest: (u64, Instant),
    pending: Ring<Hole, PENDING>,
    lost: Ring<Lost, REMEMBERED>,
    standard: Standard,
}

impl History {
    /// Where what a packet in sequence touches ends: it looks whether anything is missing.
    #[cfg(feature = "cache-layout")]
    pub(super) const CACHED: usize =
        offset_of!(Self, pending) + offset_of!(Ring<Hole, PENDING>, items);

    pub(super) const fn new(standard: Standard) -> Self {
        Self {
            highest: None,
            latest: (0, Instant::ZERO),
            pending: Ring::new(Hole {
                first: 0,
                last: 0,
                before: (0, Instant::ZERO),
                after: (0, Instant::ZERO),
                above: 0,
            }),
            lost: Ring::new(Lost {
                first: 0,
                count: 0,
                seen: 0,
            }),
            standard,
        }
    }

    /// The highest packet so far.
    pub(super) const fn highest(&self) -> Option<u64> {
        self.highest
    }

    /// When the last packet arrived.
    pub(super) const fn latest_arrival(&self) -> Instant {
        self.latest.1
    }

    /// Records the packet after the highest if nothing is missing below it; false if `seq` is another one
    /// or something is.
    #[inline]
    pub(super) fn record_next(&mut self, seq: u64, at: Instant) -> bool {
        let Some(highest) = &mut self.highest else {
            return false;
        };
        // Nothing comes after the last number of all.
        if self.pending.len() != 0 || seq.wrapping_sub(1) != *highest || seq == 0 {
            return false;
        }
        *highest = seq;
        self.latest = (seq, at);
        true
    }

    /// Would [`History::record_next`] record that packet?
    #[inline]
    pub(super) fn is_next(&self, seq: u64) -> bool {
        self.pending.len() == 0 && seq != 0 && self.highest == Some(seq.wrapping_sub(1))
    }

    /// Records the packets after the highest, up to this one, as [`History::record_next`] would one by one.
    #[inline]
    pub(super) fn record_up_to(&mut self, last: u64, at: Instant) {
        (self.highest, self.latest) = (Some(last), (last, at));
    }

    /// Records an arrival. Losses that it reveals are then taken with [`History::next_loss`].
    pub(super) fn record(&mut self, seq: u64, at: Instant) -> Recorded {
        let Some(highest) = self.highest else {
            (self.highest, self.latest) = (Some(seq), (seq, at));
            return Recorded::New;
        };
        let recorded = if seq > highest {
            if seq > highest + 1 {
                self.pending.push(Hole {
                    first: highest + 1,
                    last: seq - 1,
                    before: self.latest,
                    after: (seq, at),
                    above: 0,
                });
            }
            self.highest = Some(seq);
            Recorded::New
        } else if let Some(time) = self.fill_pending(seq, at) {
            let places = highest - seq;
            Recorded::Late(Lateness { places, time })
        } else if let Some(time) = self.fill_lost(seq, at) {
            let places = highest - seq;
            Recorded::Recovered(Lateness { places, time })
        } else {
            return Recorded::Duplicate;
        };
        if recorded != Recorded::New && self.standard.late_packet_bounds_holes() {
            self.pending.for_each(|hole| {
                if hole.first > seq {
                    hole.before = (seq, at);
                }
            });
        }
        self.pending.for_each(|hole| {
            if hole.last < seq {
                hole.above = hole.above.saturating_add(1);
            }
        });
        self.latest = (seq, at);
        recorded
    }

    /// Takes the oldest hole that has become a loss: three packets have arrived above it, and what the
    /// path's reordering asks for has been waited.
    #[inline]
    pub(super) fn next_loss(&mut self, path: &Reordering, rtt: Duration) -> Option<Hole> {
        let oldest = self.pending.first()?;
        let highest = self.highest?;
        let is_lost = oldest.above >= NDUPACK && {
            let passed = Lateness {
                places: highest - oldest.last,
                time: self.latest.1.saturating_since(oldest.after.1),
            };
            path.is_outlasted(passed, rtt)
        };
        // A full ring has no room for the next hole.
        if !is_lost && self.pending.len() < PENDING {
            return None;
        }
        Some(self.lose_first())
    }

    /// Takes the oldest hole below `seq`, lost or not: what a marked packet confirms (RFC 5348 §5.1).
    pub(super) fn next_hole_below(&mut self, seq: u64) -> Option<Hole> {
        (self.pending.first()?.last < seq).then(|| self.lose_first())
    }

    #[inline(never)]
    fn lose_first(&mut self) -> Hole {
        let hole = self.pending.remove(0);
        if self.lost.len() == REMEMBERED {
            self.lost.remove(0);
        }
        self.lost.push(Lost::new(&hole));
        hole
    }

    /// Takes a packet out of the hole that waits for it; how old that hole is.
    fn fill_pending(&mut self, seq: u64, now: Instant) -> Option<Duration> {
        let index = self
            .pending
            .newest(|hole| (hole.first..=hole.last).contains(&seq))?;
        let hole = self.pending.remove(index);
        // The upper part goes in first, so that the lower comes before it.
        if seq < hole.last {
            self.pending.insert(
                index,
                Hole {
                    first: seq + 1,
                    ..hole
                },
            );
        }
        if seq > hole.first {
            self.pending.insert(
                index,
                Hole {
                    last: seq - 1,
                    ..hole
                },
            );
        }
        Some(now.saturating_since(hole.after.1))
    }

    /// Takes a packet out of those called lost; how old its hole is.
    fn fill_lost(&mut self, seq: u64, now: Instant) -> Option<Duration> {
        let index = self.lost.newest(|lost| lost.contains(seq))?;
        let lost = self.lost.remove(index);
        let (below, above) = lost.split(seq);
        for part in [above, below] {
            if part.count > 0 && self.lost.len() < REMEMBERED {
                self.lost.insert(index, part);
            }
        }
        Some(lost.age(now))
    }
}

#[cfg(test)]
mod tests;
