//! What a receiver inherits from the one before it at the same host, which it may be under another name: its lies, what
//! the path bore, and whether it keeps marks.

use std::net::IpAddr;

use tfrc::ReceiverConfig;
use tfrc::equation;
use tfrc::loss::{MAX_PAST, Past};
use tfrc::time::Instant;
use tfrc::units::{LossEventRate, Rate};

use super::outbound::Outbound;
use super::sending_rate::Control;

impl Outbound {
    /// Another receiver takes over at the host `to`, where the last one was at `from`. One that was caught stays at the
    /// nofeedback rate.
    pub(in crate::session) fn replace_receiver(&mut self, now: Instant, from: IpAddr, to: IpAddr) {
        if from != to {
            self.learn();
            self.host.change(from, to);
            self.feedback.has_feedback = false;
            self.begin(now);
        } else if !self.has_caught_a_lie() {
            self.restart(now);
        }
    }

    /// Takes in what the receiver leaves that is about to be forgotten.
    pub(super) fn learn(&mut self) {
        self.host.known.suspicions = self.sent.suspicions();
        // What cannot be checked gives no second flight above what was checked: a receiver may go and come back as
        // often as it likes.
        if self.feedback.has_feedback {
            self.host.known.least_told = self.rtt();
        } else if self.rate.reception.rtt().is_some() {
            self.host.known.least_told = None;
        }
        self.learn_path();
    }

    /// What it said of the path. That it stopped saying it is a loss event, as all is of which no report spoke (RFC 8888
    /// §5): who leaves when it misses a packet gains nothing by it.
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
        let told = last.map_or(LossEventRate::ZERO, |last| last.p());
        self.host.known.past = if told > self.inherited() {
            Past::of(told, MAX_PAST)
        } else if self.host.known.past.is_empty() {
            // RFC 5348 §6.3.1, of the rate that was told last; the first report tells none.
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

    /// How p is computed here for the present receiver.
    pub(super) fn estimator(&self) -> ReceiverConfig {
        ReceiverConfig {
            past: self.host.known.past,
            ..self.config.estimator.clone()
        }
    }

    /// The least p that is believed of a receiver that computes it: what the ones before it left, as long as it has not
    /// outlived that.
    pub(super) fn inherited(&self) -> LossEventRate {
        self.host.inherited(self.feedback.reported())
    }

    /// A report came about what left a round trip ago: of what is under way nobody knows yet.
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
