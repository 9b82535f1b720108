//! Ingests reports without arrival times.

use core::time::Duration;

use super::super::ack_vector::{AckVector, Anchor};
use super::SentPacketTracker;
use crate::sender::Feedback;
use crate::time::Instant;
use crate::trust::MAX_STRETCH;
use crate::units::{Bytes, Rate};

impl<const N: usize> SentPacketTracker<N> {
    /// Handles a single report that arrived at `now`; `received` is true for each packet that had arrived.
    pub fn handle_vector(
        &mut self,
        now: Instant,
        vector: &AckVector,
        received: impl IntoIterator<
            Item = bool,
            IntoIter: ExactSizeIterator + DoubleEndedIterator + Clone,
        >,
    ) -> Option<Feedback> {
        self.ingest_vector(now, vector, received);
        self.settle(now)
    }

    /// Ingests a report that arrived at `now`, as [`SentPacketTracker::ingest_report`] does, with the receiver's
    /// X_recv.
    pub fn ingest_vector(
        &mut self,
        now: Instant,
        vector: &AckVector,
        received: impl IntoIterator<
            Item = bool,
            IntoIter: ExactSizeIterator + DoubleEndedIterator + Clone,
        >,
    ) {
        let Some(first) = self.extend(vector.first) else {
            return;
        };
        self.begin_report(first);
        self.resolution = Duration::ZERO;
        self.vector = Some(*vector);
        let remembered = self.remembered();
        let mut received = received.into_iter();
        let reported_of_sent = remembered.end.saturating_sub(first) as usize;
        let highest = received
            .clone()
            .take(reported_of_sent)
            .rposition(|received| received);
        let highest = highest.map_or(first, |index| first + index as u64);
        let highest = if remembered.contains(&highest) {
            highest
        } else {
            first
        };
        let came = now - vector.delay;
        let anchor = self.stretch(highest, vector.receive_rate, came);
        // Settled arrivals are skipped, because each packet is reported more than once.
        let known = self.final_range();
        let mut next = first;
        while next < known.start
            && let Some(received) = received.next()
        {
            self.ingest_bit(next, received, &anchor, came);
            next += 1;
        }
        if let Some(last) = known.end.checked_sub(next + 1) {
            received.nth(last as usize);
            next = known.end;
        }
        for (seq, received) in (next..).zip(received) {
            self.ingest_bit(seq, received, &anchor, came);
        }
        self.end_report();
    }

    /// Ingests the bit of a packet, which had arrived by `came` if the bit is set.
    #[inline]
    fn ingest_bit(&mut self, seq: u64, received: bool, anchor: &Anchor, came: Instant) {
        if received {
            self.ingest_arrived(seq, |sent_at| anchor.estimate(sent_at), came);
        } else {
            self.ingest_missing(seq..seq + 1);
        }
    }

    /// Returns the anchor for packets up to `highest`. The next estimate begins at `highest` if that is a new
    /// maximum.
    fn stretch(&mut self, highest: u64, receive_rate: Rate, came: Instant) -> Anchor {
        let remembered = self.remembered();
        let sent_at = self.slot(highest).at;
        let Some(mut anchor) = self.anchor else {
            let anchor = Anchor {
                seq: highest,
                sent_at,
                arrived_at: came,
                stretch: 1.0,
            };
            self.anchor = remembered.contains(&highest).then_some(anchor);
            return anchor;
        };
        if highest > anchor.seq && remembered.contains(&highest) && remembered.contains(&anchor.seq)
        {
            let sizes = (anchor.seq + 1..=highest).map(|seq| self.size(seq).get());
            let bytes = Bytes::new(sizes.sum());
            let earliest = self.earliest(sent_at);
            let sending = sent_at.saturating_since(anchor.sent_at);
            anchor.stretch = if receive_rate > Rate::ZERO && !sending.is_zero() {
                let ratio = bytes / sending / receive_rate;
                ratio.clamp(1.0 / MAX_STRETCH, MAX_STRETCH)
            } else {
                1.0
            };
            self.anchor = Some(Anchor {
                seq: highest,
                sent_at,
                arrived_at: anchor.estimate(sent_at).max(earliest),
                ..anchor
            });
        }
        anchor
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ReceiverConfig;
    use proptest::prelude::*;
    use std::boxed::Box;
    use std::vec::Vec;

    const SIZE: Bytes = Bytes::new(1_000);
    const RTT: Option<Duration> = Some(Duration::from_millis(100));

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn vector(first: u16, kilobytes_per_sec: f64) -> AckVector {
        AckVector {
            first,
            receive_rate: Rate::from_bytes_per_sec(kilobytes_per_sec * 1e3),
            delay: Duration::ZERO,
        }
    }

    /// Creates a tracker that has sent `count` packets, one every 10 ms.
    fn sender(count: u64) -> SentPacketTracker<512> {
        let mut tracker = SentPacketTracker::new(0, ReceiverConfig::default());
        for seq in 0..count {
            tracker.handle_sent(at(seq * 10), SIZE, RTT);
        }
        tracker
    }

    #[test]
    fn what_is_received_at_half_the_rate_is_twice_as_far_apart() {
        let mut tracker = sender(40);
        tracker.handle_vector(at(150), &vector(0, 0.0), [true; 10]);
        let before = tracker.anchor.unwrap();
        tracker.handle_vector(at(450), &vector(10, 50.0), [true; 20]);
        let after = tracker.anchor.unwrap();
        assert_eq!((before.seq, after.seq), (9, 29));
        assert_eq!(after.stretch, 2.0);
        assert_eq!(
            after.arrived_at - before.arrived_at,
            Duration::from_millis(400)
        );
    }

    #[test]
    fn no_rate_that_is_claimed_bends_time_by_more_than_two() {
        for (claimed, expected) in [(1e-3, 2.0), (1e9, 0.5), (100.0, 1.0)] {
            let mut tracker = sender(40);
            tracker.handle_vector(at(150), &vector(0, 0.0), [true; 10]);
            tracker.handle_vector(at(450), &vector(10, claimed), [true; 20]);
            let stretch = tracker.anchor.unwrap().stretch;
            assert!((stretch - expected).abs() < 1e-9, "{claimed}: {stretch}");
        }
    }

    /// The losses of the paper's figure 4 are two events, although three reports cover losses.
    #[test]
    fn losses_that_three_reports_tell_are_the_events_that_a_receiver_sees() {
        let lost = [103, 106, 119, 125, 127];
        let mut tracker = SentPacketTracker::<512>::new(90, ReceiverConfig::default());
        for seq in 90..160 {
            tracker.handle_sent(at(seq * 10), SIZE, Some(Duration::from_millis(120)));
        }
        for (first, end) in [(90, 100), (100, 112), (112, 124), (124, 136), (136, 148)] {
            let reported: Vec<bool> = (first..end).map(|seq| !lost.contains(&seq)).collect();
            tracker.handle_vector(at(end * 10 + 50), &vector(first as u16, 100.0), reported);
        }
        assert_eq!(tracker.counters().lost, 5);
        assert_eq!(tracker.counters().loss_events, 2);
    }

    #[test]
    fn a_packet_told_lost_that_a_later_vector_tells_as_come_is_counted() {
        let mut tracker = sender(40);
        let reported = (0..10).map(|seq| seq != 3).collect::<Vec<_>>();
        tracker.handle_vector(at(150), &vector(0, 0.0), reported);
        let counters = tracker.counters();
        assert_eq!((counters.received, counters.lost), (9, 1));
        tracker.handle_vector(at(250), &vector(1, 100.0), [true; 19]);
        let counters = tracker.counters();
        assert_eq!((counters.received, counters.lost), (20, 0));
    }

    proptest! {
        /// The property must hold for any number of repeated packets at the start of a report.
        #[test]
        fn what_was_told_before_changes_nothing_when_it_is_told_again(
            came in prop::collection::vec(prop::bool::weighted(0.9), 300..301),
            reports in prop::collection::vec((1usize..40, 0usize..80, 50.0..200.0), 1..8),
        ) {
            let [mut repeated, mut once] = [Box::new(sender(300)), Box::new(sender(300))];
            let mut reported = 0;
            for (count, more, kilobytes_per_sec) in reports {
                let end = (reported + count).min(300);
                let now = at(10 * end as u64 + 100);
                let first = reported.saturating_sub(more);
                let of = |first: usize| (vector(first as u16, kilobytes_per_sec), came[first..end].to_vec());
                let [(vector, received), (shorter, rest)] = [of(first), of(reported)];
                // Without new packets the highest is another packet, from whose arrival the delay counts.
                if rest.contains(&true) {
                    let feedback = repeated.handle_vector(now, &vector, received);
                    prop_assert_eq!(feedback, once.handle_vector(now, &shorter, rest));
                    prop_assert_eq!(repeated.counters(), once.counters());
                    prop_assert_eq!(repeated.refused(), once.refused());
                    reported = end;
                }
            }
        }
    }
}
