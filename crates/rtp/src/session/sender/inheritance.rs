//! Passes the memory of a host to its next receiver, perhaps the same under another name: lies, the path and marks.

use std::net::IpAddr;

use tfrc::ReceiverConfig;
use tfrc::equation;
use tfrc::loss::{MAX_PAST, Past};
use tfrc::time::Instant;
use tfrc::units::{LossEventRate, Rate};

use super::outbound::Outbound;
use super::sending_rate::Control;

impl Outbound {
    /// Replaces the receiver at the host `from` by one at the host `to`. The successor of a receiver that lied is
    /// believed, but put to the test at once.
    pub(in crate::session) fn replace_receiver(&mut self, now: Instant, from: IpAddr, to: IpAddr) {
        if from != to {
            self.learn();
            self.host.change(from, to);
            self.feedback.has_feedback = false;
            self.begin(now);
        } else {
            self.restart(now);
        }
    }

    /// Records what the present receiver showed, before it is forgotten.
    pub(super) fn learn(&mut self) {
        self.host.known.suspicions = self.sent.suspicions().inherited();
        self.host.known.lie = None;
        // A round trip that feedback did not check permits no second flight above the checked rate. A receiver may
        // otherwise gain by leaving and returning.
        if self.feedback.has_feedback {
            self.host.known.least_claimed_rtt = self.rtt();
        } else if self.rate.reception.rtt().is_some() {
            self.host.known.least_claimed_rtt = None;
        }
        self.learn_path();
    }

    /// Records the loss intervals of the path. The end of its reports counts as a loss event, as all unreported
    /// packets do (RFC 8888 §5): a receiver that leaves after a loss gains nothing.
    fn learn_path(&mut self) {
        let Control::Tfrc(sender) = &self.rate.control else {
            return;
        };
        if !self.feedback.has_feedback || !self.config.verify {
            return;
        }
        if let Some(departures) = &self.sent.departures {
            self.host.known.past = departures.receiver().past();
            return;
        }
        let last = self.feedback.last();
        let reported = last.map_or(LossEventRate::ZERO, |last| last.p());
        self.host.known.past = if reported > self.inherited() {
            Past::of(reported, MAX_PAST)
        } else if self.host.known.past.is_empty() {
            // RFC 5348 §6.3.1 gives the interval for the last reported rate; the first report has no rate.
            let rtt = sender.rtt().unwrap_or_default();
            let received = sender.receive_rate();
            let rate = if received > Rate::ZERO {
                received
            } else {
                sender.allowed_rate()
            };
            let p = equation::loss_event_rate(sender.segment_size(), rtt, rate);
            Past::of(p, 1)
        } else {
            self.host.known.past.and(self.feedback.reported())
        };
    }

    /// Returns the estimator of p for the present receiver, where the sender computes p.
    pub(super) fn estimator(&self) -> ReceiverConfig {
        ReceiverConfig {
            past: self.host.known.past,
            ..self.config.estimator.clone()
        }
    }

    /// Returns the least p that a receiver which computes p may claim: p of the receivers before it, until later
    /// packets have outlived it.
    pub(super) fn inherited(&self) -> LossEventRate {
        self.host.inherited(self.feedback.reported())
    }

    /// Counts the packets that a new report can cover, which excludes those in flight.
    pub(super) fn count_reported(&mut self) {
        let path = self.path();
        let in_flight = path.allowed_rate * path.rtt.unwrap_or_default();
        let in_flight = in_flight.get() / self.config.packet_size.get().max(1);
        self.feedback
            .handle_report(self.numbering.transport(), in_flight);
    }
}

#[cfg(test)]
mod tests;
