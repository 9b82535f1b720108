//! Records which packets are missing, and when each counts as lost (RFC 5348 §5.1).

#[cfg(feature = "cache-layout")]
use core::mem::offset_of;
use core::time::Duration;

use super::reordering::{Lateness, Reordering};
use super::ring::Ring;
use crate::Standard;
use crate::time::Instant;

/// The arrivals above a hole that make it a loss (RFC 5348 §5.1).
const NDUPACK: u32 = 3;
/// The most holes that are not yet losses. In-order traffic makes at most two, of fewer than [`NDUPACK`] arrivals
/// each; a path that reorders makes more, and late packets split some. If all places are taken, the oldest hole
/// becomes a loss.
const PENDING: usize = 16;
/// The most losses that a late packet can undo. The oldest of more losses stay lost.
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
    /// Returns the nominal arrival time of a packet in the hole, interpolated (RFC 5348 §5.2).
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
            // Only RFC 3448 §5.2 permits the packet before the hole to arrive after the packet above the hole.
            None => self.before.1 - share(self.before.1.saturating_since(self.after.1)),
        }
    }

    /// Returns how many packets of the hole, from `seq` on, have a nominal time up to `until`. The count is exact:
    /// many packets may have the same nanosecond, and a count that is one short would repeat a request once for
    /// each of them.
    pub(super) fn packets_until(&self, seq: u64, until: Instant) -> u64 {
        let Some(span) = self.after.1.checked_since(self.before.1) else {
            // Nominal times fall here, so if this packet is up to `until`, all later ones are.
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
        // The result is ⌊span·k/distance⌋ ≤ left, solved for k; each factor is at most 2^64, and never both.
        let distance = u128::from(self.after.0 - self.before.0);
        let reach = ((left.as_nanos() + 1) * distance - 1)
            .checked_div(span.as_nanos())
            .unwrap_or(u128::MAX);
        let last =
            u64::try_from(reach).map_or(u64::MAX, |reach| self.before.0.saturating_add(reach));
        (last.min(self.last) + 1).saturating_sub(seq)
    }

    /// Returns how many packets of the hole the interpolation places into `time`.
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

/// The class of an arrival in the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recorded {
    /// The packet was recorded before, or is too old to decide.
    Duplicate,
    /// The packet is the next in order, or above a new hole.
    New,
    /// The packet is late, and its hole was not yet a loss.
    Late(Lateness),
    /// The packet is late, and its hole had become a loss.
    Recovered(Lateness),
}

/// A run of lost packets, in sixteen bytes.
#[derive(Clone, Copy, Debug)]
struct Lost {
    first: u64,
    /// The number of packets; of a longer run only the last ones are remembered.
    count: u32,
    /// The time at which the hole appeared: microseconds modulo 2^32, which suffices for lateness of an hour.
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

    /// Returns the rest of the run below and above `seq`, which is one of its packets.
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

/// The reception record, whose size is constant whatever is lost.
// The fields that every packet touches come first, because `Receiver` places them side by side.
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
    /// The end of the bytes that a packet in sequence touches, which include the number of holes.
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

    /// Returns the highest packet so far.
    pub(super) const fn highest(&self) -> Option<u64> {
        self.highest
    }

    /// Returns when the last packet arrived.
    pub(super) const fn latest_arrival(&self) -> Instant {
        self.latest.1
    }

    /// Records the packet after the highest if nothing is missing below it. Returns false, and records nothing, if
    /// `seq` is another packet or a packet is missing.
    #[inline]
    pub(super) fn record_next(&mut self, seq: u64, at: Instant) -> bool {
        let Some(highest) = &mut self.highest else {
            return false;
        };
        // The last 64-bit number has no successor.
        if self.pending.len() != 0 || seq.wrapping_sub(1) != *highest || seq == 0 {
            return false;
        }
        *highest = seq;
        self.latest = (seq, at);
        true
    }

    /// Returns true if [`History::record_next`] would record that packet.
    #[inline]
    pub(super) fn is_next(&self, seq: u64) -> bool {
        self.pending.len() == 0 && seq != 0 && self.highest == Some(seq.wrapping_sub(1))
    }

    /// Records the packets after the highest, up to `last`, as [`History::record_next`] would one by one.
    #[inline]
    pub(super) fn record_up_to(&mut self, last: u64, at: Instant) {
        (self.highest, self.latest) = (Some(last), (last, at));
    }

    /// Records an arrival. [`History::next_loss`] then returns the losses that this arrival revealed.
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

    /// Takes the oldest hole that has become a loss: three packets have arrived above it, and the wait for
    /// reordered packets is over.
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
        // A full ring would have no room for the next hole.
        if !is_lost && self.pending.len() < PENDING {
            return None;
        }
        Some(self.lose_first())
    }

    /// Takes the oldest hole below `seq`, lost or not, because a marked packet confirms it (RFC 5348 §5.1).
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

    /// Removes a packet from the hole that contains it, and returns the age of that hole.
    fn fill_pending(&mut self, seq: u64, now: Instant) -> Option<Duration> {
        let index = self
            .pending
            .newest(|hole| (hole.first..=hole.last).contains(&seq))?;
        let hole = self.pending.remove(index);
        // The upper part is inserted first, so that the lower part precedes it.
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

    /// Removes a packet from the losses, and returns the age of its hole.
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
