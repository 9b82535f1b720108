//! The receiver's side without arrival times, as in the `light` paper: a bit a packet, for four round trips and more,
//! and X_recv.

use core::mem;
use core::ops::Range;
use core::time::Duration;

use super::ack_vector::AckVector;
use super::arrivals::{Arrivals, ReportSpan};
use super::packet_status::PacketStatus;
use crate::receiver::{Arrival, RateMeter};
use crate::time::{Instant, Nanos};
use crate::units::Bytes;

/// A vector tells again what the last so many round trips brought: the sender's nofeedback timer waits for four, and
/// until it runs out no lost report loses anything (`light` §III.A).
const ROUNDS: usize = 4;
/// Packets of which a bit is kept: a vector of 1,024 and those that share its first byte and its last.
const BITS: usize = 2_048;

/// A receiver that reports so: [`Arrivals`], of which N is at most 1,024, and X_recv.
#[derive(Clone, Debug)]
pub struct MeteredArrivals<const N: usize> {
    arrivals: Arrivals<N>,
    /// Bytes since the last report.
    bytes: u64,
    meter: RateMeter,
    rounds: Rounds,
    bits: Bits,
}

impl<const N: usize> MeteredArrivals<N> {
    const FITS: () = assert!(N <= BITS / 2);

    /// A receiver that has seen nothing, for reports of `limit` packets at most.
    ///
    /// # Panics
    ///
    /// Panics unless `limit` is from 4 to N.
    #[track_caller]
    pub fn new(limit: usize) -> Self {
        let () = Self::FITS;
        Self {
            arrivals: Arrivals::new(limit),
            bytes: 0,
            meter: RateMeter::new(),
            rounds: Rounds::default(),
            bits: Bits([0; BITS / 8]),
        }
    }

    /// Takes in a packet, as [`Arrivals::handle_data`] does.
    #[inline]
    pub fn handle_data(&mut self, arrival: &Arrival) -> bool {
        if !self.arrivals.is_next(arrival) {
            return self.handle_news(arrival);
        }
        self.bytes = self.bytes.wrapping_add(arrival.size.get());
        self.arrivals.handle_data(arrival)
    }

    #[inline(never)]
    fn handle_news(&mut self, arrival: &Arrival) -> bool {
        let is_new = self.arrivals.handle_data(arrival);
        if is_new {
            self.bytes = self.bytes.wrapping_add(arrival.size.get());
        }
        is_new
    }

    /// What came, and when a report is due.
    pub const fn arrivals(&self) -> &Arrivals<N> {
        &self.arrivals
    }

    /// The report that is due, if one is. It tells what came since the last, and what came in four round trips before,
    /// up to the limit.
    #[inline]
    pub fn poll_report(&mut self, now: Instant) -> Option<(ReportSpan, AckVector)> {
        self.arrivals.is_due(now).then(|| self.report(now))
    }

    #[inline(never)]
    fn report(&mut self, now: Instant) -> (ReportSpan, AckVector) {
        let (first, last) = self.arrivals.arrival_bounds();
        self.meter.handle_first(first);
        let bytes = Bytes::new(mem::take(&mut self.bytes));
        self.meter.handle_run(last, bytes, Bytes::ZERO);
        let span = self.arrivals.report(now);
        let end = span.first + span.count as u64;
        let news = self.arrivals.again;
        self.arrivals.again = self.rounds.again(now, self.arrivals.interval, news);
        let arrivals = &self.arrivals;
        let new = end.saturating_sub(news).max(span.first)..end;
        self.bits.append(new, |first| arrivals.eight_bits(first));
        let delay = match arrivals.status(end - 1) {
            PacketStatus::Arrived { at: Some(at), .. } => now.saturating_since(at),
            PacketStatus::Arrived { at: None, .. } | PacketStatus::Missing => Duration::ZERO,
        };
        let vector = AckVector {
            first: span.first as u16,
            receive_rate: self.meter.report(arrivals.round_trip_time()),
            delay,
        };
        (span, vector)
    }

    /// The bits of the report that was given last: eight packets a byte from the most significant bit on, 1 for a packet
    /// that came; what is left of the last byte is 0.
    #[inline]
    pub fn bits(&self, span: ReportSpan) -> impl Iterator<Item = u8> {
        self.bits.of(span)
    }
}

/// What was told first, round trip by round trip.
#[derive(Clone, Debug, Default)]
struct Rounds {
    /// Packets, the newest first; that round trip is not over.
    told: [u64; ROUNDS + 1],
    /// A report from then on ends it.
    until: Instant,
}

impl Rounds {
    /// How many packets the next report tells again, if one at `now` tells so many first.
    fn again(&mut self, now: Instant, round: Nanos, news: u64) -> u64 {
        self.told[0] += news;
        if now >= self.until {
            self.told.rotate_right(1);
            self.told[0] = 0;
            self.until = now + round;
        }
        self.told.iter().sum()
    }
}

/// Which of the last packets that were reported came: a vector as it lies in a ring.
#[derive(Clone, Debug)]
struct Bits([u8; BITS / 8]);

impl Bits {
    /// Notes which of these packets came, and of those that share a byte with them.
    fn append(&mut self, seqs: Range<u64>, eight: impl Fn(u64) -> u8) {
        for byte in seqs.start / 8..seqs.end.div_ceil(8) {
            self.0[byte as usize % (BITS / 8)] = eight(byte * 8);
        }
    }

    /// The vector about these.
    #[inline]
    fn of(&self, span: ReportSpan) -> impl Iterator<Item = u8> {
        let place = |byte: u64| u16::from(self.0[byte as usize % (BITS / 8)]);
        let (mut byte, shift) = (span.first / 8, span.first % 8);
        let mut two = place(byte);
        (0..span.count.div_ceil(8)).map(move |index| {
            byte += 1;
            two = two << 8 | place(byte);
            let bits = (two << shift >> 8) as u8;
            // Those above the last are of packets long ago.
            let left = span.count - 8 * index;
            if left < 8 {
                bits & !(0xff >> left)
            } else {
                bits
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;
    use crate::units::Rate;
    use proptest::prelude::*;
    use std::boxed::Box;
    use std::vec::Vec;

    const SIZE: Bytes = Bytes::new(1_000);
    const RTT: Option<Duration> = Some(Duration::from_millis(100));

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn packet(seq: u64, at: Instant, size: Bytes) -> Arrival {
        Arrival {
            seq,
            at,
            timestamp: 0,
            rtt: RTT,
            size,
            ecn: Ecn::NotEct,
        }
    }

    fn check_bits<const N: usize>(receiver: &MeteredArrivals<N>, span: ReportSpan) {
        let told: Vec<u8> = receiver.bits(span).collect();
        let known = receiver
            .arrivals()
            .arrivals_in(span)
            .map(|told| told.is_some());
        let known: Vec<bool> = known.collect();
        let bits = known.chunks(8).map(|eight| {
            (0..8).fold(0, |bits, bit| {
                bits << 1 | u8::from(eight.get(bit) == Some(&true))
            })
        });
        assert_eq!(bits.collect::<Vec<_>>(), told, "{span:?}");
    }

    #[test]
    fn the_first_byte_of_the_longest_vector_is_not_the_last() {
        let mut receiver = MeteredArrivals::<1_024>::new(1_024);
        let mut longest = 0;
        for seq in (3..9_000).filter(|seq| seq % 5 != 0) {
            let now = Instant::from_micros(seq * 50);
            receiver.handle_data(&packet(seq, now, SIZE));
            if let Some((span, _)) = receiver.poll_report(now) {
                check_bits(&receiver, span);
                longest = longest.max(span.count);
            }
        }
        assert_eq!(longest, 1_024);
    }

    #[test]
    fn a_vector_tells_what_came_and_how_fast() {
        let mut receiver = MeteredArrivals::<64>::new(64);
        let mut reports = Vec::new();
        for seq in (0..25).filter(|seq| *seq != 12) {
            receiver.handle_data(&packet(seq, at(seq * 10), SIZE));
            reports.extend(receiver.poll_report(at(seq * 10 + 3)));
        }
        assert_eq!(reports[0].1.receive_rate, Rate::ZERO);
        let (span, last) = reports.last().unwrap();
        assert_eq!(last.delay, Duration::from_millis(3));
        assert!((last.receive_rate.bytes_per_sec() - 1e5).abs() < 1e4);
        assert!(span.first <= 12);
        assert_eq!(receiver.arrivals().status(12), PacketStatus::Missing);
    }

    /// All packets of a round trip come in the last quarter of it. Of more than four full reports in one none that is
    /// looked back at is a round trip old, and a receive rate is up to four times what it is.
    #[test]
    fn a_receive_rate_is_over_a_round_trip_where_four_reports_are_one() {
        for count in [500, 1_000, 2_000, 3_000, 3_500] {
            let mut receiver = Box::new(MeteredArrivals::<1_024>::new(1_024));
            let rate = Bytes::new(count * SIZE.get()) / RTT.unwrap();
            for seq in 0..20 * count {
                let (round, place) = (seq / count, seq % count);
                let now = at(100 * round + 75) + Duration::from_micros(25_000 * place / count);
                receiver.handle_data(&packet(seq, now, SIZE));
                if let Some((_, vector)) = receiver.poll_report(now)
                    && round >= 5
                {
                    let share = vector.receive_rate / rate;
                    assert!((0.5..=1.5).contains(&share), "{count}: {share}");
                }
            }
        }
    }

    proptest! {
        /// Whatever is lost, and however many reports leave early for it.
        #[test]
        fn a_vector_tells_the_packets_of_four_round_trips(
            came in prop::collection::vec(prop::bool::weighted(0.8), 50..300),
            spacing in 5u64..40,
        ) {
            let mut receiver = MeteredArrivals::<256>::new(256);
            let mut times = Vec::new();
            for (seq, came) in (0..).zip(came) {
                let now = at(seq * spacing);
                if !came {
                    continue;
                }
                receiver.handle_data(&packet(seq, now, SIZE));
                times.push((seq, now));
                if let Some((span, _)) = receiver.poll_report(now) {
                    let recent = times.iter().find(|(_, at)| now.saturating_since(*at) <= 4 * RTT.unwrap());
                    prop_assert!(recent.is_some_and(|(seq, _)| span.first <= *seq), "{span:?} at {now:?}");
                }
            }
        }

        /// Though its bits are noted once and lie in a ring.
        #[test]
        fn a_vector_is_what_is_known_of_each_packet(
            packets in prop::collection::vec((0u64..100, 0u64..30), 1..800),
            limit in 4usize..64,
        ) {
            let mut receiver = MeteredArrivals::<64>::new(limit);
            let (mut now, mut next) = (0, 3_000);
            for (kind, later) in packets {
                now += later;
                let seq = match kind {
                    0..80 => next,
                    80..90 => next + kind % 4,
                    90 => next + 500,
                    _ => next - kind % 10,
                };
                receiver.handle_data(&packet(seq, at(now), SIZE));
                next = next.max(seq + 1);
                if let Some((span, _)) = receiver.poll_report(at(now)) {
                    check_bits(&receiver, span);
                }
            }
        }

        /// Though it notes no times but in the ring, and those of packets that are not the next.
        #[test]
        fn a_receive_rate_is_that_of_a_meter_which_is_told_of_each_packet(
            packets in prop::collection::vec((0u64..100, prop_oneof![8 => 0u64..20, 1 => 0u64..400], 0u64..2_000), 1..200),
        ) {
            let mut receiver = MeteredArrivals::<64>::new(40);
            let mut meter = RateMeter::new();
            let (mut now, mut next) = (0, 10);
            for (kind, later, size) in packets {
                now += later;
                // As a rule the next, else one that comes late or after some that are lost.
                let seq = match kind {
                    0..80 => next,
                    80..90 => next + kind % 4,
                    _ => next - kind % 10,
                };
                let packet = packet(seq, at(now), Bytes::new(size));
                if receiver.handle_data(&packet) {
                    meter.handle_first(packet.at);
                    meter.handle_data(packet.at, packet.size);
                }
                next = next.max(seq + 1);
                if let Some((_, vector)) = receiver.poll_report(at(now)) {
                    prop_assert_eq!(vector.receive_rate, meter.report(RTT));
                }
            }
        }
    }
}
