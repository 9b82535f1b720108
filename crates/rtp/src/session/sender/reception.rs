//! Evaluates reception reports (RFC 3550 §6.4), the only reports of a receiver with plain RTP.

use std::collections::VecDeque;
use std::time::Duration;

use tfrc::time::Instant;
use tfrc::units::{Bytes, Rate};

use crate::packet::rtcp::ReportBlock;
use crate::session::rtcp::timer::LEAST_MINIMUM;

/// The number of remembered intervals between reports: TFRC averages over as many (RFC 5348 §5.4).
pub(super) const REMEMBERED: usize = 8;
/// The weight of the newest round trip (RFC 8083 §3).
const WEIGHT: f64 = 0.2;
/// The time for which a proof keeps reports without proof from counting: three intervals of five seconds, in which a
/// receiver that still gets our reports answers one (RFC 8083 §4.1).
const PROOF_LASTS: Duration = Duration::from_secs(15);

/// What the sender knows when a report arrives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Circumstances {
    /// The round trip that the report shows.
    pub(super) round_trip: Option<Duration>,
    /// The report answers a sender report of ours, so its author receives from us.
    pub(super) is_proven: bool,
    /// The packets that left so far.
    pub(super) sent: u32,
    /// The sequence number of the next packet.
    pub(super) next: u32,
    /// The rate in force.
    pub(super) rate: Rate,
}

/// The effect of a report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Reading {
    /// The report does not count.
    Ignored,
    /// The report counts.
    Counted,
    /// The report counts, and refutes earlier ones, the first of which arrived at this rate.
    Refutes(Rate),
}

/// A report that counted.
#[derive(Clone, Copy, Debug)]
struct Counted {
    at: Instant,
    highest: u32,
    lost: i32,
    /// The packets that had left.
    sent: u32,
    /// The rate before the report.
    rate: Rate,
    /// The number of successive reports without a new packet, and the time of the last report with one.
    stalled: u32,
    progressed: Instant,
    has_lost: bool,
}

impl Counted {
    /// Returns true unless the counters of `block` can follow: the highest number never falls, and packets are neither
    /// lost nor found again in numbers that were not expected. Late packets are far fewer than half of those expected.
    fn is_refuted_by(&self, block: &ReportBlock) -> bool {
        let expected = i64::from(
            block
                .highest_sequence
                .wrapping_sub(self.highest)
                .cast_signed(),
        );
        let lost = i64::from(block.cumulative_lost) - i64::from(self.lost);
        expected < 0 || !(-expected / 2..=2 * expected).contains(&lost)
    }
}

/// The time from one report to the next.
#[derive(Clone, Copy, Debug)]
struct Interval {
    before: Counted,
    lasted: Duration,
    /// The packets lost in the interval, as a fraction of those expected.
    lost: f64,
    /// The packets received in the interval.
    received: u32,
    /// The packets sent in the interval.
    sent: u32,
}

impl Interval {
    fn receive_rate(&self, packet: Bytes) -> Rate {
        rate_of(packet, self.received, self.lasted)
    }
}

fn rate_of(packet: Bytes, packets: u32, time: Duration) -> Rate {
    if time.is_zero() {
        return Rate::ZERO;
    }
    Bytes::new(packet.get() * u64::from(packets)) / time
}

/// The reception reports about us.
///
/// Without a key a report counts if it answers a sender report of ours, which only a receiver of ours can know (RFC 3550
/// §6.4.1). A receiver that answered none lately may get none of ours, and any report of it counts. A number that never
/// left shows that forged media arrived there, so the report says nothing of our packets.
///
/// The counters of one receiver never contradict each other. Of two reports that do, the older is refuted with all that
/// followed from it, because a receiver goes on and its forger does not.
#[derive(Debug, Default)]
pub(super) struct Reception {
    intervals: VecDeque<Interval>,
    /// The last report that counted.
    last: Option<Counted>,
    /// The time of the last report of any kind, and of the last that answered a sender report.
    heard: Option<Instant>,
    proven: Option<Instant>,
    rtt: Option<Duration>,
}

impl Reception {
    /// Handles a report that arrived at `now`.
    pub(super) fn handle_block(
        &mut self,
        now: Instant,
        block: &ReportBlock,
        known: &Circumstances,
    ) -> Reading {
        self.heard = Some(now);
        if known.is_proven {
            self.proven = Some(now);
        }
        let is_lately = |at: Instant| now.saturating_since(at) < PROOF_LASTS;
        let lead = block.highest_sequence.wrapping_sub(known.next) as u16;
        if !known.is_proven && self.proven.is_some_and(is_lately) || lead.cast_signed() >= 0 {
            return Reading::Ignored;
        }
        if let Some(sample) = known.round_trip {
            self.rtt = Some(self.rtt.map_or(sample, |rtt| {
                rtt.mul_f64(1.0 - WEIGHT) + sample.mul_f64(WEIGHT)
            }));
        }
        // No receiver reports so often, so what follows at once is a copy or a forgery.
        let is_copy = |last: Counted| now.saturating_since(last.at) < LEAST_MINIMUM;
        if self.last.is_some_and(is_copy) {
            return Reading::Ignored;
        }
        let mut refuted = None;
        while let Some(last) = self.last.filter(|last| last.is_refuted_by(block)) {
            refuted = Some(last.rate);
            self.last = self.intervals.pop_back().map(|interval| interval.before);
        }
        self.count(now, block, known);
        refuted.map_or(Reading::Counted, Reading::Refutes)
    }

    fn count(&mut self, now: Instant, block: &ReportBlock, known: &Circumstances) {
        let mut counted = Counted {
            at: now,
            highest: block.highest_sequence,
            lost: block.cumulative_lost,
            sent: known.sent,
            rate: known.rate,
            stalled: 0,
            progressed: now,
            has_lost: false,
        };
        if let Some(before) = self.last {
            let expected = block.highest_sequence.wrapping_sub(before.highest);
            let sent = known.sent.wrapping_sub(before.sent);
            if expected == 0 {
                counted.stalled = before.stalled + u32::from(sent > 0);
                counted.progressed = before.progressed;
            }
            counted.has_lost = before.has_lost || block.fraction_lost > 0;
            let lost = f64::from(block.fraction_lost) / 256.0;
            if self.intervals.len() == REMEMBERED {
                self.intervals.pop_front();
            }
            self.intervals.push_back(Interval {
                before,
                lasted: now.saturating_since(before.at),
                lost,
                // The arrivals cannot exceed the packets sent; packets in flight at the last report may still be
                // among them.
                received: (f64::from(expected.min(known.sent)) * (1.0 - lost)) as u32,
                sent,
            });
        }
        self.last = Some(counted);
    }

    /// Returns when the last report arrived.
    pub(super) fn heard(&self) -> Option<Instant> {
        self.heard
    }

    /// Returns the smoothed round trip.
    pub(super) fn rtt(&self) -> Option<Duration> {
        self.rtt
    }

    /// Returns the number of successive reports without a new packet, if packets were sent before each, and the time
    /// since the last report with one.
    pub(super) fn stalled(&self) -> (u32, Duration) {
        self.last.map_or((0, Duration::ZERO), |last| {
            (last.stalled, last.at.saturating_since(last.progressed))
        })
    }

    /// Returns true if the last interval showed new packets.
    pub(super) fn has_progressed(&self) -> bool {
        self.intervals.back().is_some_and(|last| last.received > 0)
    }

    /// Returns true if a report ever showed a loss.
    pub(super) fn has_lost(&self) -> bool {
        self.last.is_some_and(|last| last.has_lost)
    }

    /// Returns the average fraction lost over the last intervals, each weighted by its length (RFC 8083 §4.3).
    pub(super) fn loss(&self, intervals: usize) -> f64 {
        let (mut lost, mut time) = (0.0, 0.0);
        for interval in self.intervals.iter().rev().take(intervals) {
            let seconds = interval.lasted.as_secs_f64();
            lost += interval.lost * seconds;
            time += seconds;
        }
        if time > 0.0 { lost / time } else { 0.0 }
    }

    /// Returns the share lost over the last intervals that both the fractions and the counters of reports show.
    pub(super) fn confirmed_loss(&self, intervals: usize) -> f64 {
        let first = self.intervals.len().saturating_sub(intervals);
        let (Some(first), Some(last)) = (self.intervals.get(first), self.last) else {
            return 0.0;
        };
        let expected = last.highest.wrapping_sub(first.before.highest);
        let lost = f64::from(last.lost) - f64::from(first.before.lost);
        let counted = lost / f64::from(expected.max(1));
        self.loss(intervals).min(counted.max(0.0))
    }

    /// Returns the time of the last intervals.
    pub(super) fn time(&self, intervals: usize) -> Duration {
        let last = self.intervals.iter().rev().take(intervals);
        last.map(|interval| interval.lasted).sum()
    }

    /// Returns the number of whole intervals since `at`.
    pub(super) fn intervals_since(&self, at: Instant) -> usize {
        let last = self.intervals.iter().rev();
        last.take_while(|interval| interval.before.at >= at).count()
    }

    /// Returns the rate at which packets of this size left in the last interval.
    pub(super) fn send_rate(&self, packet: Bytes) -> Rate {
        let newest = self.intervals.back();
        newest.map_or(Rate::ZERO, |last| rate_of(packet, last.sent, last.lasted))
    }

    /// Returns the length of the last interval.
    pub(super) fn newest(&self) -> Duration {
        let newest = self.intervals.back();
        newest.map_or(Duration::ZERO, |interval| interval.lasted)
    }

    /// Returns the measured average time between reports, Tdr.
    pub(super) fn spacing(&self) -> Duration {
        self.time(REMEMBERED) / u32::try_from(self.intervals.len().max(1)).unwrap_or(1)
    }

    /// Returns the rate at which packets of this size arrived in the last interval.
    pub(super) fn receive_rate(&self, packet: Bytes) -> Rate {
        let newest = self.intervals.back();
        newest.map_or(Rate::ZERO, |interval| interval.receive_rate(packet))
    }

    /// Returns the largest rate at which packets of this size arrived in one of the last intervals.
    pub(super) fn best_receive_rate(&self, packet: Bytes) -> Rate {
        let rates = self
            .intervals
            .iter()
            .map(|interval| interval.receive_rate(packet));
        rates.fold(Rate::ZERO, Rate::max)
    }
}

#[cfg(test)]
pub(in crate::session) mod tests;
