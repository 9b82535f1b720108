//! The one estimator: it takes arrivals and computes the loss event rate (RFC 5348 §5).

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

/// The round-trip time that is assumed until the sender states one. The sender sends one packet a second until then
/// (RFC 5348 §4.2), so losses a second apart are separate events.
const RTT_BEFORE_ANY: Duration = Duration::from_secs(1);
/// The most loss events of one gap in the sequence that are remembered: one more than any average uses intervals.
const EVENTS_PER_GAP: u64 = MAX_INTERVALS as u64 + 1;

/// The effects of one arrival on the estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrived {
    /// The packet had been received before, or is too old to decide; no other field is set.
    pub duplicate: bool,
    /// Packets that this arrival revealed as lost.
    pub lost: u64,
    /// The packet had counted as lost, and no longer does.
    pub recovered: bool,
    /// The loss events that began: a gap of many round trips begins about one a round trip.
    pub new_events: u64,
    /// A loss event was undone because its packets arrived late, and two intervals became one.
    pub merged: bool,
}

/// Turns arrivals into loss events and p. Its state has a constant size, whatever is lost.
// The fields that every packet touches come first, because `Receiver` places them side by side.
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
    /// The end of the bytes that a packet in sequence touches.
    #[cfg(feature = "cache-layout")]
    pub(crate) const CACHED: usize = offset_of!(Self, history) + History::CACHED;

    /// Creates an estimator without arrivals.
    ///
    /// # Panics
    ///
    /// Panics if [`ReceiverConfig::validate`] refuses `config`.
    #[track_caller]
    pub fn new(config: &ReceiverConfig) -> Self {
        if let Err(error) = config.validate() {
            panic!("{error}");
        }
        Self {
            history: History::new(config.standard),
            intervals: Intervals::after(Rules::new(config), &config.past),
            reordering: Reordering::new(config.reordering),
            rtt: None,
            standard: config.standard,
            tolerance: Tolerance::default(),
        }
    }

    /// Excludes `ratio` losses per packet from loss events
    /// ([`Receiver::tolerate_losses`](crate::Receiver::tolerate_losses)).
    pub(crate) fn tolerate_losses(&mut self, ratio: f64) {
        let highest = self.history.highest().unwrap_or_default();
        self.tolerance.set_ratio(ratio, highest);
    }

    /// Takes a plain packet: the next in order with nothing missing below, not marked, with a round-trip time.
    /// Returns false for any other packet, which must go to [`LossEstimator::handle_arrival`].
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

    /// Returns true if packet `seq` is the next in order, with nothing missing below.
    #[inline]
    pub(crate) fn is_next(&self, seq: u64) -> bool {
        self.history.is_next(seq)
    }

    /// Takes the next packets in order, up to `last`, as [`LossEstimator::handle_next`] would one by one.
    #[inline]
    pub(crate) fn handle_run(&mut self, last: u64, last_at: Instant, rtt: Duration) {
        self.history.record_up_to(last, last_at);
        self.rtt = Some(rtt);
    }

    /// Takes one packet. `first_interval` gives the synthetic interval before the first loss event (RFC 5348
    /// §6.3.1). It is called again only if every loss event has been undone.
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
                arrived.merged = self.intervals.undo_loss(arrival.seq);
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

    /// Returns when the last packet arrived, and the zero of time before the first packet.
    pub(crate) const fn latest_arrival(&self) -> Instant {
        self.history.latest_arrival()
    }

    /// Returns p, which is zero before the first loss event.
    pub fn loss_event_rate(&self) -> LossEventRate {
        self.history
            .highest()
            .map_or(LossEventRate::ZERO, |highest| {
                let now = self.when(highest, self.history.latest_arrival());
                self.intervals.loss_event_rate(now)
            })
    }

    /// Returns the past that the estimator leaves; `first_interval` is as in [`LossEstimator::handle_arrival`].
    pub(crate) fn past(&self, first_interval: impl FnOnce() -> f64) -> Past {
        let highest = self.history.highest().unwrap_or_default();
        let now = self.when(highest, self.history.latest_arrival());
        self.intervals.clone().past(now, first_interval)
    }

    /// Returns the round-trip time that the sender stated in its highest packet.
    pub const fn round_trip_time(&self) -> Option<Duration> {
        self.rtt
    }

    /// Replaces R, which was wrong.
    pub(crate) fn set_round_trip(&mut self, rtt: Duration) {
        self.rtt = Some(rtt);
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

    /// Returns how many packets of a hole, from `seq` on, join the present loss event and so lower the rate no
    /// further.
    fn joining(&self, hole: &Hole, seq: u64) -> u64 {
        let event = self.intervals.event_time();
        event.map_or(0, |event| hole.packets_until(seq, event + self.rtt()))
    }

    /// Sorts the packets of a hole into loss events (RFC 5348 §5.2), all packets of one event in one step.
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
        // A gap of many round trips begins many events, and only the last ones are remembered.
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
mod tests;
