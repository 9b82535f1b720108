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

/// The time from one report to the next.
#[derive(Clone, Copy, Debug)]
struct Interval {
    lasted: Duration,
    /// The packets lost in the interval, as a fraction of those expected.
    lost: f64,
    /// The packets received in the interval.
    received: u32,
}

impl Interval {
    fn receive_rate(&self, packet: Bytes) -> Rate {
        if self.lasted.is_zero() {
            return Rate::ZERO;
        }
        Bytes::new(packet.get() * u64::from(self.received)) / self.lasted
    }
}

/// The reception reports about us.
#[derive(Debug, Default)]
pub(super) struct Reception {
    intervals: VecDeque<Interval>,
    /// The time of the last report, the highest number in it, and the number of packets sent until then.
    last: Option<(Instant, u32, u32)>,
    rtt: Option<Duration>,
    stalled: u32,
    has_lost: bool,
}

impl Reception {
    /// Handles a report that arrived at `now`, with the round trip that it shows, if any, after `sent` packets had
    /// left.
    pub(super) fn handle_block(
        &mut self,
        now: Instant,
        block: &ReportBlock,
        round_trip: Option<Duration>,
        sent: u32,
    ) {
        if let Some(sample) = round_trip {
            self.rtt = Some(self.rtt.map_or(sample, |rtt| {
                rtt.mul_f64(1.0 - WEIGHT) + sample.mul_f64(WEIGHT)
            }));
        }
        let block_state = (now, block.highest_sequence, sent);
        let Some((then, highest, sent_then)) = self.last else {
            self.last = Some(block_state);
            return;
        };
        // No receiver reports so often, so what follows at once is a copy or a forgery.
        if now.saturating_since(then) < LEAST_MINIMUM {
            return;
        }
        self.last = Some(block_state);
        let expected = block.highest_sequence.wrapping_sub(highest);
        let sent_since = sent.wrapping_sub(sent_then);
        let is_stalled = expected == 0 || expected.cast_signed() < 0;
        self.stalled = match (is_stalled, sent_since) {
            (true, 0) => self.stalled,
            (true, _) => self.stalled + 1,
            (false, _) => 0,
        };
        let lost = f64::from(block.fraction_lost) / 256.0;
        self.has_lost |= block.fraction_lost > 0;
        // The arrivals cannot exceed the packets sent; packets in flight at the last report may still be among
        // them.
        let came = if is_stalled { 0 } else { expected.min(sent) };
        if self.intervals.len() == REMEMBERED {
            self.intervals.pop_front();
        }
        self.intervals.push_back(Interval {
            lasted: now.saturating_since(then),
            lost,
            received: (f64::from(came) * (1.0 - lost)) as u32,
        });
    }

    /// Returns when the last report arrived.
    pub(super) fn heard(&self) -> Option<Instant> {
        self.last.map(|(at, _, _)| at)
    }

    /// Returns the smoothed round trip.
    pub(super) fn rtt(&self) -> Option<Duration> {
        self.rtt
    }

    /// Returns the number of successive reports without a new packet, if packets were sent before each.
    pub(super) fn stalled(&self) -> u32 {
        self.stalled
    }

    /// Returns true if a report ever showed a loss.
    pub(super) fn has_lost(&self) -> bool {
        self.has_lost
    }

    /// Returns the number of remembered intervals.
    pub(super) fn intervals(&self) -> usize {
        self.intervals.len()
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

    /// Returns the length of the last interval.
    pub(super) fn newest(&self) -> Duration {
        let newest = self.intervals.back();
        newest.map_or(Duration::ZERO, |interval| interval.lasted)
    }

    /// Returns the measured average time between reports, Tdr.
    pub(super) fn spacing(&self) -> Duration {
        let total: Duration = self.intervals.iter().map(|interval| interval.lasted).sum();
        total / u32::try_from(self.intervals.len().max(1)).unwrap_or(1)
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
pub(in crate::session) mod tests {
    use super::*;

    pub(crate) fn block(highest_sequence: u32, fraction_lost: u8) -> ReportBlock {
        ReportBlock {
            ssrc: 1,
            fraction_lost,
            cumulative_lost: 0,
            highest_sequence,
            jitter: 0,
            last_sender_report: 0,
            delay_since: 0,
        }
    }

    #[test]
    fn losses_are_weighted_by_the_time_that_they_took() {
        let mut reception = Reception::default();
        for (at, highest, lost) in [(0, 0, 0), (1, 100, 128), (4, 400, 0)] {
            reception.handle_block(Instant::from_secs(at), &block(highest, lost), None, highest);
        }
        assert_eq!(reception.loss(2), 0.125);
        assert_eq!(reception.loss(1), 0.0);
        assert_eq!(reception.spacing(), Duration::from_secs(2));
        let rate = reception.receive_rate(Bytes::new(1_000));
        assert_eq!(rate, Rate::from_bytes_per_sec(100_000.0));
    }

    #[test]
    fn a_number_that_stands_still_counts_while_packets_leave() {
        let mut reception = Reception::default();
        let mut report = |at, highest, sent| {
            reception.handle_block(Instant::from_secs(at), &block(highest, 0), None, sent);
            reception.stalled()
        };
        assert_eq!(report(0, 10, 10), 0);
        assert_eq!(report(5, 10, 10), 0);
        assert_eq!(report(10, 10, 20), 1);
        assert_eq!(report(15, 10, 30), 2);
        assert_eq!(report(20, 11, 40), 0);
    }

    #[test]
    fn a_claim_to_have_more_than_was_sent_raises_no_rate() {
        let mut reception = Reception::default();
        for (at, highest) in [(0, 0), (1, 1 << 30)] {
            reception.handle_block(Instant::from_secs(at), &block(highest, 0), None, 50);
        }
        let rate = reception.receive_rate(Bytes::new(1_000));
        assert_eq!(rate, Rate::from_bytes_per_sec(50_000.0));
    }
}
