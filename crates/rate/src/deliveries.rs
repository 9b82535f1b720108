//! Handles reports of single arrivals.

use tfrc::sent_packets::Delivery;
use tfrc::time::Instant;

use crate::clock::{ClockReading, OffsetBounds};
use crate::law_state::Mode;
use crate::model::{LeastDelayed, PathModel, ReportFormat};
use crate::number::{larger, seconds, smaller};
use crate::random_loss::LossReport;
use crate::sent::SentPacket;

impl PathModel {
    /// Handles a report of arrivals. Packets that were not sent, or that arrived before, are ignored.
    pub fn handle_report(&mut self, now: Instant, deliveries: impl IntoIterator<Item = Delivery>) {
        let now = seconds(now);
        self.follow_format(ReportFormat::Deliveries);
        if let Some((newest, delivered)) = self.ingest(now, deliveries) {
            self.delivery_rate = self.window.delivery_rate(self.interval);
            let elapsed = self.elapsed(now);
            let queue = self.settle(now, (now - newest).max(0.0));
            if self.random_loss.is_sought() {
                let report = LossReport {
                    elapsed,
                    delivered,
                    lost: core::mem::take(&mut self.lost),
                    newest: self.sent.reported() - 1,
                    next: self.sent.next(),
                    is_clear: self.law.mode == Mode::Delay && queue <= self.target(),
                    is_bound: self.law.rate >= self.law.bound,
                };
                self.random_loss.observe(&report, &self.params);
            }
        }
    }

    /// Records deliveries. Returns the newest time of departure and the number of packets; `None` if all were known
    /// or false.
    fn ingest(
        &mut self,
        now: f64,
        deliveries: impl IntoIterator<Item = Delivery>,
    ) -> Option<(f64, f64)> {
        let (mut newest, mut least_transit) = (f64::NEG_INFINITY, f64::INFINITY);
        let mut delivered = 0.0;
        let queue_before = self.least.queue;
        for delivery in deliveries {
            let Some(packet) = self.sent.deliver(delivery.number) else {
                continue;
            };
            delivered += 1.0;
            let arrived = seconds(delivery.arrived_at);
            let transit = arrived - packet.at;
            let serialisation = self.bursts.serialisation(packet.size);
            match self.read_clock(now, &packet, arrived) {
                ClockReading::Consistent => {}
                ClockReading::Contradictory => continue,
                ClockReading::Set => {
                    self.set_clock(packet.at, transit - queue_before);
                    (self.base_serialisation, least_transit) = (serialisation, f64::INFINITY);
                }
            }
            self.base_serialisation = if self.observe_transit(packet.at, transit) {
                serialisation
            } else {
                smaller(self.base_serialisation, serialisation)
            };
            // A longer packet than the one that set the base delay takes longer without any queue.
            let transit = transit - (serialisation - self.base_serialisation);
            if transit < least_transit {
                least_transit = transit;
                self.least = LeastDelayed {
                    queue: 0.0,
                    sent: packet.at,
                    sent_before: packet.sent_before,
                };
            }
            self.burst = self.burst.max(packet.burst);
            self.bursts
                .observe(&packet, arrived, self.interval, &self.params);
            self.window.observe(arrived, packet.at, packet.size);
            newest = larger(newest, packet.at);
        }
        if newest == f64::NEG_INFINITY {
            return None;
        }
        self.window.expire(self.interval);
        self.bursts
            .expire(self.window.latest_arrival(), self.interval);
        self.least.queue = (least_transit - self.base.get()).max(0.0);
        Some((newest, delivered))
    }

    fn read_clock(&mut self, now: f64, packet: &SentPacket, arrived: f64) -> ClockReading {
        self.clock.observe(OffsetBounds {
            at: now,
            least: arrived - larger(now, packet.at),
            most: arrived - packet.at,
        })
    }
}
