//! The receiver without arrival times, as in the `light` paper: X_recv, and one bit for each packet of four round
//! trips or more.

use core::mem;
use core::ops::Range;
use core::time::Duration;

use super::ack_vector::AckVector;
use super::arrivals::{Arrivals, ReportSpan};
use crate::receiver::{Arrival, RateMeter};
use crate::time::{Instant, Nanos};
use crate::units::Bytes;

/// The round trips that a vector repeats: the sender's nofeedback timer waits for four, so until it expires no lost
/// report loses anything (`light` §III.A).
const ROUNDS: usize = 4;
/// The number of remembered bits: a vector of 1,024 and the packets that share its first and its last byte.
const BITS: usize = 2_048;

/// A receiver that reports without arrival times: [`Arrivals`] with N of at most 1,024, and X_recv.
#[derive(Clone, Debug)]
pub struct MeteredArrivals<const N: usize> {
    arrivals: Arrivals<N>,
    /// The bytes since the last report.
    bytes: u64,
    meter: RateMeter,
    rounds: Rounds,
    bits: Bits,
}

impl<const N: usize> MeteredArrivals<N> {
    const FITS: () = assert!(N <= BITS / 2);

    /// Creates a receiver without arrivals, for reports of at most `limit` packets.
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

    /// Records a packet, as [`Arrivals::handle_data`] does.
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

    /// Replaces R, which was wrong, as [`Arrivals::correct_round_trip`] does.
    pub fn correct_round_trip(&mut self, at: Instant, rtt: Duration) {
        self.arrivals.correct_round_trip(at, rtt);
        self.rounds.until = self.rounds.until.min(at);
    }

    /// Returns the record of arrivals, which also decides when a report is due.
    pub const fn arrivals(&self) -> &Arrivals<N> {
        &self.arrivals
    }

    /// Returns the report that is due, if one is. The report covers the arrivals since the last report and those of
    /// the four round trips before, up to the limit.
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
        let new_count = self.arrivals.repeated;
        self.arrivals.repeated = self
            .rounds
            .next_repeated(now, self.arrivals.interval, new_count);
        let arrivals = &self.arrivals;
        let new = end.saturating_sub(new_count).max(span.first)..end;
        self.bits.append(new, |first| arrivals.eight_bits(first));
        let vector = AckVector {
            first: span.first as u16,
            receive_rate: self.meter.report(arrivals.round_trip_time()),
            // The highest number may be a forged packet's, after which others arrived.
            delay: now.saturating_since(last),
        };
        (span, vector)
    }

    /// Returns the bits of the last report: eight packets a byte, the most significant bit first, 1 for an arrival.
    /// Unused bits of the last byte are 0.
    #[inline]
    pub fn bits(&self, span: ReportSpan) -> impl Iterator<Item = u8> {
        self.bits.of(span)
    }
}

/// The number of packets that were first reported in each of the last round trips.
#[derive(Clone, Debug, Default)]
struct Rounds {
    /// The packets of each round trip, the newest first; the newest round trip is not over.
    reported: [u64; ROUNDS + 1],
    /// The first report from this time on ends the newest round trip.
    until: Instant,
}

impl Rounds {
    /// Returns how many packets the next report repeats, if the report at `now` covers `new_count` packets first.
    fn next_repeated(&mut self, now: Instant, round: Nanos, new_count: u64) -> u64 {
        self.reported[0] += new_count;
        if now >= self.until {
            self.reported.rotate_right(1);
            self.reported[0] = 0;
            self.until = now + round;
        }
        self.reported.iter().sum()
    }
}

/// The bits of a vector in a ring: 1 for each of the last reported packets that arrived.
#[derive(Clone, Debug)]
struct Bits([u8; BITS / 8]);

impl Bits {
    /// Stores the bits of these packets, and of the packets that share a byte with them.
    fn append(&mut self, seqs: Range<u64>, eight: impl Fn(u64) -> u8) {
        for byte in seqs.start / 8..seqs.end.div_ceil(8) {
            self.0[byte as usize % (BITS / 8)] = eight(byte * 8);
        }
    }

    /// Returns the bits of the packets of a span.
    #[inline]
    fn of(&self, span: ReportSpan) -> impl Iterator<Item = u8> {
        let place = |byte: u64| u16::from(self.0[byte as usize % (BITS / 8)]);
        let (mut byte, shift) = (span.first / 8, span.first % 8);
        let mut two = place(byte);
        (0..span.count.div_ceil(8)).map(move |index| {
            byte += 1;
            two = two << 8 | place(byte);
            let bits = (two << shift >> 8) as u8;
            // The bits above the last packet belong to packets of long ago.
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
    use crate::sent_packets::PacketStatus;
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
        let reported: Vec<u8> = receiver.bits(span).collect();
        let known = receiver
            .arrivals()
            .arrivals_in(span)
            .map(|reported| reported.is_some());
        let known: Vec<bool> = known.collect();
        let bits = known.chunks(8).map(|eight| {
            (0..8).fold(0, |bits, bit| {
                bits << 1 | u8::from(eight.get(bit) == Some(&true))
            })
        });
        assert_eq!(bits.collect::<Vec<_>>(), reported, "{span:?}");
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

    /// All packets of a round trip arrive in its last quarter. If more than four full reports leave in a round
    /// trip, none of the remembered ones is a round trip old, and X_recv is up to four times the true rate.
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
        /// The property must hold for any losses and any number of early reports.
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

        /// The bits are stored once and lie in a ring, and must still equal the status of each packet.
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

        /// The receiver stores times only in the ring and for packets that are not next in order, and must still
        /// agree.
        #[test]
        fn a_receive_rate_is_that_of_a_meter_which_is_told_of_each_packet(
            packets in prop::collection::vec((0u64..100, prop_oneof![8 => 0u64..20, 1 => 0u64..400], 0u64..2_000), 1..200),
        ) {
            let mut receiver = MeteredArrivals::<64>::new(40);
            let mut meter = RateMeter::new();
            let (mut now, mut next) = (0, 10);
            for (kind, later, size) in packets {
                now += later;
                // The packet is usually the next, or else one that is late or follows losses.
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
