//! The one estimator: arrivals in, loss event rate out (RFC 5348 §5).

#[cfg(feature = "cache-layout")]
use core::mem::offset_of;
use core::time::Duration;

use super::average::{MAX_INTERVALS, Now};
use super::history::{History, Hole, Recorded};
use super::interval::{Intervals, Rules};
use super::past::Past;
use super::reordering::Reordering;
use super::tolerance::Tolerance;
use crate::Standard;
use crate::receiver::{Arrival, ReceiverConfig};
use crate::time::Instant;
use crate::units::LossEventRate;

/// The round-trip time assumed until the sender has told one: it sends one packet a second until then
/// (RFC 5348 §4.2), so losses a second apart are events of their own.
const RTT_BEFORE_ANY: Duration = Duration::from_secs(1);
/// Loss events of one gap in the sequence that are remembered: they bound all intervals that any average
/// looks back at.
const EVENTS_PER_GAP: u64 = MAX_INTERVALS as u64 + 1;

/// What one arrival meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrived {
    /// The packet had been received before, or is too old to tell; nothing else is set.
    pub duplicate: bool,
    /// Packets that this arrival revealed as lost.
    pub lost: u64,
    /// It had been called lost, and is not.
    pub recovered: bool,
    /// Loss events that began: of a gap of many round trips about as many as those.
    pub new_events: u64,
    /// A loss event is gone because its packets came after all, and two intervals are one.
    pub merged: bool,
}

/// Arrivals → loss events → p. Its state is a constant size, whatever is lost.
// The fields that every packet touches are first, as `Receiver` has them side by side.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "cache-layout", repr(C))]
pub struct LossEstimator {
    rtt: Option<Duration>,
    history: History,
    intervals: Intervals,
    reordering: Reordering,
    standard: Standard,
    tolerance: Tolerance,
}

impl LossEstimator {
    /// Where what a packet in sequence touches ends.
    #[cfg(feature = "cache-layout")]
    pub(crate) const CACHED: usize = offset_of!(Self, history) + History::CACHED;

    /// An estimator that has seen nothing.
    pub fn new(config: &ReceiverConfig) -> Self {
        Self {
            history: History::new(config.standard),
            intervals: Intervals::after(Rules::new(config), &config.past),
            reordering: Reordering::new(config.reordering),
            rtt: None,
            standard: config.standard,
            tolerance: Tolerance::default(),
        }
    }

    /// Leaves out so many losses per packet from now on ([`Receiver::tolerate_losses`](crate::Receiver::tolerate_losses)).
    pub(crate) fn tolerate_losses(&mut self, ratio: f64) {
        let highest = self.history.highest().unwrap_or_default();
        self.tolerance.set_ratio(ratio, highest);
    }

    /// Takes in a packet that tells nothing but that it came: the next in order with nothing missing
    /// below, not marked, with a round-trip time. False for any other, which
    /// [`LossEstimator::handle_arrival`] then takes in.
    #[inline]
    pub(crate) fn handle_next(&mut self, arrival: &Arrival) -> bool {
        let plain = arrival.rtt.is_some()
            && !arrival.ecn.is_marked()
            && self.history.record_next(arrival.seq, arrival.at);
        if plain {
            self.rtt = arrival.rtt;
        }
        plain
    }

    /// Is a packet of that number the next in order, with nothing missing below?
    #[inline]
    pub(crate) fn is_next(&self, seq: u64) -> bool {
        self.history.is_next(seq)
    }

    /// Takes in the next packets in order, up to `last`, as [`LossEstimator::handle_next`] would one by one.
    #[inline]
    pub(crate) fn handle_run(&mut self, last: u64, last_at: Instant, rtt: Duration) {
        self.history.record_up_to(last, last_at);
        self.rtt = Some(rtt);
    }

    /// Takes in one packet. `first_interval` gives the synthetic interval before the first loss event
    /// (RFC 5348 §6.3.1) and is called at most once between resets to no loss at all.
    pub fn handle_arrival(
        &mut self,
        arrival: &Arrival,
        first_interval: impl Fn() -> f64,
    ) -> Arrived {
        let highest = self.history.highest();
        if highest.is_none() {
            self.intervals.begin_at(arrival.seq, arrival.at);
        }
        let before = highest.unwrap_or(arrival.seq);
        let mut arrived = Arrived::default();
        match self.history.record(arrival.seq, arrival.at) {
            Recorded::Duplicate => {
                return Arrived {
                    duplicate: true,
                    ..arrived
                };
            }
            Recorded::New => {}
            Recorded::Late(lateness) => self.reordering.handle_late(lateness, self.rtt()),
            Recorded::Recovered(lateness) => {
                self.reordering.handle_late(lateness, self.rtt());
                arrived.recovered = true;
                arrived.merged = self.intervals.take_back(arrival.seq);
            }
        }
        if arrival.seq >= before && arrival.rtt.is_some() {
            self.rtt = arrival.rtt;
        }
        while let Some(hole) = self.history.next_loss(&self.reordering, self.rtt()) {
            self.reordering.handle_loss();
            self.lose(&hole, before, &first_interval, &mut arrived);
        }
        if arrival.ecn.is_marked() {
            if self.standard.mark_confirms_holes() {
                while let Some(hole) = self.history.next_hole_below(arrival.seq) {
                    self.lose(&hole, before, &first_interval, &mut arrived);
                }
            }
            let joins = self.intervals.event_time().is_some_and(|event| {
                event + self.rtt() >= arrival.at || self.intervals.reaches_beyond(arrival.seq)
            });
            if !joins {
                let before = self.when(before, arrival.at);
                self.intervals
                    .begin_event(arrival.seq, arrival.at, before, &first_interval);
                arrived.new_events += 1;
            }
            self.intervals.add_losses(1, arrival.seq);
        }
        arrived
    }

    /// When the last packet arrived; the zero of time before the first.
    pub(crate) const fn latest_arrival(&self) -> Instant {
        self.history.latest_arrival()
    }

    /// p: zero before the first loss event.
    pub fn loss_event_rate(&self) -> LossEventRate {
        self.history
            .highest()
            .map_or(LossEventRate::ZERO, |highest| {
                let now = self.when(highest, self.history.latest_arrival());
                self.intervals.loss_event_rate(now)
            })
    }

    /// What it leaves behind; `first_interval` as in [`LossEstimator::handle_arrival`].
    pub(crate) fn past(&self, first_interval: impl FnOnce() -> f64) -> Past {
        let highest = self.history.highest().unwrap_or_default();
        let now = self.when(highest, self.history.latest_arrival());
        self.intervals.clone().past(now, first_interval)
    }

    /// The round-trip time that the sender told with its highest packet.
    pub const fn round_trip_time(&self) -> Option<Duration> {
        self.rtt
    }

    fn rtt(&self) -> Duration {
        self.rtt.unwrap_or(RTT_BEFORE_ANY)
    }

    fn when(&self, highest: u64, at: Instant) -> Now {
        Now {
            highest,
            at,
            rtt: self.rtt(),
        }
    }

    /// How many packets of a hole, from `seq` on, belong to the present loss event: they lower the rate no further.
    fn joining(&self, hole: &Hole, seq: u64) -> u64 {
        let event = self.intervals.event_time();
        event.map_or(0, |event| hole.packets_until(seq, event + self.rtt()))
    }

    /// Sorts the packets of a hole into loss events (RFC 5348 §5.2), as many at a time as one holds.
    fn lose(
        &mut self,
        hole: &Hole,
        before: u64,
        first_interval: &impl Fn() -> f64,
        arrived: &mut Arrived,
    ) {
        let count = hole.last - hole.first + 1;
        arrived.lost = arrived.lost.saturating_add(count);
        let is_tolerated = self.tolerance.is_open()
            && self.joining(hole, hole.first) == 0
            && self.tolerance.covers(hole.last, count);
        if is_tolerated {
            return;
        }
        let mut seq = hole.first;
        // A gap of many round trips begins many events, of which only the last ones are remembered.
        if count > EVENTS_PER_GAP {
            let per_event = hole.packets_in(self.rtt()).saturating_add(1);
            let skipped = (count / per_event).saturating_sub(EVENTS_PER_GAP);
            arrived.new_events += skipped;
            seq += skipped * per_event;
        }
        while seq <= hole.last {
            let joining = self.joining(hole, seq);
            if joining == 0 {
                let before = self.when(before, self.history.latest_arrival());
                self.intervals
                    .begin_event(seq, hole.nominal_time(seq), before, first_interval);
                self.intervals.add_losses(1, seq);
                arrived.new_events += 1;
                seq += 1;
            } else {
                self.intervals.add_losses(joining, seq + (joining - 1));
                seq += joining;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;
    use crate::loss::Average;
    use crate::units::Bytes;
    use proptest::prelude::*;

    fn estimator() -> LossEstimator {
        LossEstimator::new(&ReceiverConfig::default())
    }

    fn packet(seq: u64, ms: u64) -> Arrival {
        Arrival {
            seq,
            at: Instant::from_millis(ms),
            timestamp: 0,
            rtt: Some(Duration::from_millis(100)),
            size: Bytes::new(1_000),
            ecn: Ecn::Ect0,
        }
    }

    /// One packet every 10 ms, those in `lost` missing; the events that began, by the packet that told.
    fn events(lost: &[u64], upto: u64) -> std::vec::Vec<u64> {
        let mut estimator = estimator();
        (0..upto)
            .filter(|seq| !lost.contains(seq))
            .filter(|seq| {
                let arrived = estimator.handle_arrival(&packet(*seq, seq * 10), || 50.0);
                arrived.new_events > 0
            })
            .collect()
    }

    /// A tolerated loss inside an event would take the event back when its packet arrives late.
    #[test]
    fn late_packets_take_no_event_back_with_tolerance() {
        let mut estimator = estimator();
        estimator.tolerate_losses(0.1);
        let lost = [6, 17, 21];
        let in_order = (0..40).filter(|seq| !lost.contains(seq));
        for seq in in_order {
            estimator.handle_arrival(&packet(seq, seq * 5), || 50.0);
        }
        assert!(!estimator.loss_event_rate().is_zero());
        for late in [17, 6] {
            estimator.handle_arrival(&packet(late, 200), || 50.0);
        }
        assert!(!estimator.loss_event_rate().is_zero());
    }

    #[test]
    fn losses_within_a_round_trip_are_one_event() {
        assert_eq!(events(&[20, 21, 25, 30], 60), [24]);
        // Packet 31 would have come 110 ms after packet 20.
        assert_eq!(events(&[20, 31], 60), [23, 34]);
    }

    #[test]
    fn a_loss_exactly_one_round_trip_later_still_belongs_to_the_event() {
        assert_eq!(events(&[20, 30], 60), [23]);
    }

    #[test]
    fn a_mark_is_an_event_at_once() {
        let mut estimator = estimator();
        estimator.handle_arrival(&packet(0, 0), || 50.0);
        let marked = Arrival {
            ecn: Ecn::Ce,
            ..packet(1, 10)
        };
        assert_eq!(estimator.handle_arrival(&marked, || 50.0).new_events, 1);
        assert_eq!(estimator.loss_event_rate().get(), 0.02);
    }

    #[test]
    fn what_is_missing_below_a_mark_begins_the_event() {
        let mut estimator = estimator();
        estimator.handle_arrival(&packet(10, 0), || 50.0);
        estimator.handle_arrival(&packet(12, 20), || 50.0);
        let marked = Arrival {
            ecn: Ecn::Ce,
            ..packet(13, 30)
        };
        let arrived = estimator.handle_arrival(&marked, || 50.0);
        assert_eq!((arrived.lost, arrived.new_events), (1, 1));
        assert_eq!(estimator.intervals.event_start(), Some(11));
    }

    #[test]
    fn in_rfc_3448_a_mark_says_nothing_of_what_is_missing_below() {
        let mut estimator = LossEstimator::new(&ReceiverConfig {
            standard: Standard::Rfc3448,
            ..ReceiverConfig::default()
        });
        estimator.handle_arrival(&packet(10, 0), || 50.0);
        estimator.handle_arrival(&packet(12, 20), || 50.0);
        let marked = Arrival {
            ecn: Ecn::Ce,
            ..packet(13, 30)
        };
        let arrived = estimator.handle_arrival(&marked, || 50.0);
        assert_eq!((arrived.lost, arrived.new_events), (0, 1));
        assert_eq!(estimator.intervals.event_start(), Some(13));
    }

    /// RFC 4828 §3, at a packet every 10 ms and a round trip of 100 ms: an interval is short up to 200 ms.
    #[test]
    fn with_small_packets_every_loss_of_a_short_interval_counts() {
        let p = |small_packets, lost: &[u64], upto| {
            let mut estimator = LossEstimator::new(&ReceiverConfig {
                small_packets,
                discounting: false,
                ..ReceiverConfig::default()
            });
            for seq in (0..upto).filter(|seq| !lost.contains(seq)) {
                estimator.handle_arrival(&packet(seq, seq * 10), || 5.0);
            }
            1.0 / estimator.loss_event_rate().get()
        };
        // Events at 20 and 40; three of the twenty packets of the interval between are lost.
        let lost = [20, 21, 25, 40];
        let close = |mean: f64, expected: f64| assert!((mean - expected).abs() < 1e-9, "{mean}");
        close(p(true, &lost, 45), (20.0 / 3.0 + 5.0) / 2.0);
        close(p(false, &lost, 45), (20.0 + 5.0) / 2.0);
        // One packet, and so 10 ms, longer it is not short.
        close(p(true, &[20, 21, 25, 41], 45), (21.0 + 5.0) / 2.0);
        // The current interval counts once it is longer than two round trips.
        close(p(true, &[20, 41], 62), (21.0 + 5.0) / 2.0);
        close(p(true, &[20, 41], 63), (22.0 + 21.0) / 2.0);
    }

    #[test]
    fn a_late_packet_takes_its_loss_event_back() {
        let mut estimator = estimator();
        for seq in [0, 1, 3, 4, 5] {
            estimator.handle_arrival(&packet(seq, seq * 10), || 50.0);
        }
        assert_eq!(estimator.loss_event_rate().get(), 0.02);
        let arrived = estimator.handle_arrival(&packet(2, 60), || 50.0);
        assert!(arrived.recovered && arrived.merged);
        assert!(estimator.loss_event_rate().is_zero());
    }

    #[test]
    fn a_late_mark_below_what_is_lost_belongs_to_its_event() {
        let mut estimator = estimator();
        // 11 to 13 are lost at 40 ms; 11 comes a second later, marked, and then 12 and 13.
        for (seq, ms) in [(10, 0), (14, 40), (15, 41), (16, 42)] {
            estimator.handle_arrival(&packet(seq, ms), || 50.0);
        }
        let marked = Arrival {
            ecn: Ecn::Ce,
            ..packet(11, 1_000)
        };
        assert_eq!(estimator.handle_arrival(&marked, || 50.0).new_events, 0);
        for seq in [12, 13] {
            // The mark stands, so that the event does.
            let arrived = estimator.handle_arrival(&packet(seq, 1_001), || 50.0);
            assert!(arrived.recovered && !arrived.merged);
        }
        assert_eq!(estimator.loss_event_rate().get(), 0.02);
    }

    #[test]
    fn a_blackout_of_many_round_trips_is_many_events_and_bounded_work() {
        for average in [Average::default(), Average::Plain(MAX_INTERVALS as u8)] {
            let mut estimator = LossEstimator::new(&ReceiverConfig {
                average,
                ..ReceiverConfig::default()
            });
            estimator.handle_arrival(&packet(0, 0), || 50.0);
            let mut events = 0;
            for seq in [1_u64 << 40, (1 << 40) + 1, (1 << 40) + 2, (1 << 40) + 3] {
                let arrival = packet(seq, 3_600_000 + (seq & 3));
                events += estimator.handle_arrival(&arrival, || 50.0).new_events;
            }
            // An hour is 36,000 round trips of 2^40 / 36,000 packets.
            assert!((35_998..=36_000).contains(&events), "{events}");
            let mean = 1.0 / estimator.loss_event_rate().get() / (1_u64 << 40) as f64;
            assert!((0.99..1.01).contains(&(mean * 36_000.0)), "{mean}");
        }
    }

    proptest! {
        #[test]
        fn any_arrivals_leave_a_probability(
            arrivals in prop::collection::vec((0u64..300, 0u64..100_000, any::<bool>(), 0u64..2_000), 1..200),
            [discounting, reordering] in any::<[bool; 2]>(),
        ) {
            let config = ReceiverConfig { discounting, reordering, ..ReceiverConfig::default() };
            let mut estimator = LossEstimator::new(&config);
            let mut previous = 0.0;
            for (seq, ms, marked, rtt) in arrivals {
                let arrival = Arrival {
                    rtt: (rtt > 0).then(|| Duration::from_millis(rtt)),
                    ecn: if marked { Ecn::Ce } else { Ecn::Ect0 },
                    ..packet(seq, ms)
                };
                let arrived = estimator.handle_arrival(&arrival, || 30.0);
                let p = estimator.loss_event_rate().get();
                prop_assert!((0.0..=1.0).contains(&p));
                // p rises on a new loss event, or where a merge takes a long interval's discount away.
                prop_assert!(p <= previous * (1.0 + 1e-12) || arrived.new_events > 0 || arrived.merged, "{previous} to {p}");
                previous = p;
            }
        }

        /// Numbers, times and round trips of any size: no panic, bounded work, still a probability.
        #[test]
        fn extremes_leave_a_probability(
            arrivals in prop::collection::vec((extreme(), extreme(), any::<bool>(), extreme()), 1..60),
        ) {
            let mut estimator = estimator();
            for (seq, nanos, marked, rtt) in arrivals {
                let arrival = Arrival {
                    at: Instant::from_nanos(nanos),
                    rtt: Some(Duration::from_nanos(rtt)),
                    ecn: if marked { Ecn::Ce } else { Ecn::NotEct },
                    ..packet(seq, 0)
                };
                estimator.handle_arrival(&arrival, || 1.0);
                prop_assert!((0.0..=1.0).contains(&estimator.loss_event_rate().get()));
            }
        }
    }

    /// Any number, often one near an end of the range.
    fn extreme() -> impl Strategy<Value = u64> {
        prop_oneof![any::<u64>(), 0..20u64, u64::MAX - 20..=u64::MAX]
    }
}
