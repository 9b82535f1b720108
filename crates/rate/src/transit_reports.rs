//! Handles reports without single arrivals: TFRC's own, with bounds of transit times or without.

use tfrc::time::{Duration, Instant};
use tfrc::units::Rate;

use crate::clock::{ClockReading, OffsetBounds};
use crate::coarse::TransitRange;
use crate::model::{LeastDelayed, PathModel, ReportFormat};
use crate::number::{HIGHEST_RATE, seconds};
use crate::window::RATE_INTERVALS;

/// TFRC's report with the least and the largest transit time of the packets since the report before.
///
/// A transit time is the arrival on the receiver's clock less the departure on any other, in microseconds modulo 2^32.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransitReport {
    /// The departure of the last packet that the report covers.
    pub sent_at: Instant,
    /// The round trip of that packet, without the receiver's delay.
    pub round_trip: Duration,
    /// The least transit time.
    pub least: u32,
    /// The largest transit time.
    pub largest: u32,
    /// The rate at which packets arrived.
    pub receive_rate: Rate,
}

impl PathModel {
    /// Handles a report without transit times: the round trip of the packet that left at `sent_at`, without the
    /// receiver's delay, and the receive rate. A queue on the path of reports counts as a queue on the path of
    /// data.
    pub fn handle_round_trip(
        &mut self,
        now: Instant,
        sent_at: Instant,
        round_trip: Duration,
        received: Rate,
    ) {
        let (now, sent) = (seconds(now), seconds(sent_at));
        let round_trip = round_trip.as_secs_f64();
        self.follow_format(ReportFormat::RoundTrip);
        // A round trip is measured by one clock.
        let offset = OffsetBounds {
            at: now,
            least: 0.0,
            most: 0.0,
        };
        if self.clock.observe(offset) == ClockReading::Set {
            self.set_clock(sent, round_trip - self.least.queue);
        }
        self.observe_transit(sent, round_trip);
        self.least = LeastDelayed {
            queue: round_trip - self.base.get(),
            sent,
            sent_before: self.sent.report_until(sent, |_| {}),
        };
        self.burst += 1;
        self.delivery_rate = received.bytes_per_sec().min(HIGHEST_RATE);
        self.settle(now, round_trip);
    }

    /// Handles a report of transit times. A report that contradicts those before is ignored.
    pub fn handle_transit_bounds(&mut self, now: Instant, report: &TransitReport) {
        let (now, sent) = (seconds(now), seconds(report.sent_at));
        let round_trip = report.round_trip.as_secs_f64();
        self.follow_format(ReportFormat::TransitBounds);
        let range = self.range_of(report, sent);
        match self.read_transit_clock(now, round_trip, &range) {
            ClockReading::Consistent => {}
            ClockReading::Contradictory => return,
            ClockReading::Set => {
                self.coarse.ranges.clear();
                self.set_clock(sent, range.least - self.least.queue);
            }
        }
        self.observe_transit(sent, range.least);
        self.coarse.push(range);
        let sent_before = self.take_departures(&range);
        self.coarse.expire();
        self.least = LeastDelayed {
            queue: (range.least - self.base.get()).max(0.0),
            sent,
            sent_before,
        };
        let gain = ((now - self.reported) / (RATE_INTERVALS * self.interval)).clamp(0.0, 1.0);
        let received = report.receive_rate.bytes_per_sec().min(HIGHEST_RATE);
        self.delivery_rate += (received - self.delivery_rate) * gain;
        self.settle(now, round_trip);
    }

    fn range_of(&mut self, report: &TransitReport, sent: f64) -> TransitRange {
        let zero = *self.coarse.zero.get_or_insert(report.least);
        let between = |from: u32, to: u32| f64::from(to.wrapping_sub(from).cast_signed()) * 1e-6;
        let least = between(zero, report.least);
        let spread = between(report.least, report.largest).max(0.0);
        TransitRange {
            sent,
            least,
            largest: least + spread,
        }
    }

    /// Checks a report's transit times against the clock. The last packet took at most its round trip. Any earlier packet took at
    /// most the time since the last packet of the report before left.
    fn read_transit_clock(
        &mut self,
        now: f64,
        round_trip: f64,
        range: &TransitRange,
    ) -> ClockReading {
        let longest = now - self.least.sent.min(range.sent);
        self.clock.observe(OffsetBounds {
            at: now,
            least: (range.least - round_trip).max(range.largest - longest),
            most: range.least,
        })
    }

    /// Counts the packets of a report as delivered after its least transit time. The newest whole frame counts as
    /// stretched by the difference to the largest transit time. Returns the bytes that had left before the next
    /// packet.
    fn take_departures(&mut self, range: &TransitRange) -> f64 {
        let (coarse, window, newest) = (&mut self.coarse, &mut self.window, &mut self.burst);
        let mut whole = None;
        let sent_before = self.sent.report_until(range.sent, |packet| {
            window.observe(packet.at + range.least, packet.at, packet.size);
            *newest = packet.burst.max(*newest);
            whole = coarse.depart(packet).or(whole);
        });
        if let Some(frame) = whole {
            let [least, largest] = self.coarse.range_since(frame.sent[0]);
            let arrived = [frame.sent[0] + least, frame.sent[1] + largest];
            self.bursts
                .observe_frame(&frame, arrived, self.interval, &self.params);
        }
        self.window.expire(self.interval);
        self.bursts
            .expire(self.window.latest_arrival(), self.interval);
        sent_before
    }
}
