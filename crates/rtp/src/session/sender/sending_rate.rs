//! The source of the sending rate: TFRC, the caller, or reception reports under RFC 8083's circuit breakers.

use tfrc::Sender;
use tfrc::pacer::Pacer;
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, LossEventRate, Rate};

use super::breakers::Breakers;
use super::fallback;
use super::path::Path;
use super::rate_source::RateSource;
use super::reception::{Circumstances, Reading, Reception};
use crate::packet::rtcp::ReportBlock;

/// The longest burst of a sender at a fixed rate after it was late: two timer errors of a busy host.
const FIXED_RATE_CREDIT: Duration = Duration::from_millis(10);

/// The loss in an interval between reception reports that contradicts feedback: X is at most twice X_recv (RFC 5348
/// §4.3), so more is lost only while a path narrows.
const CONTRADICTING_LOSS: f64 = 0.5;

/// The growth of X in an interval between reception reports while it is held against them: slower than slow start, and
/// fast enough for an honest receiver that a forged report contradicted. It was tested from 1.25 to 2.
const HELD_GROWTH: f64 = 1.5;

/// The source of departure times.
#[derive(Debug)]
pub(super) enum Control {
    Tfrc(Box<Sender>),
    Plain(Pacer, RateSource),
}

/// The control in force, the reception reports, and the circuit breakers.
#[derive(Debug)]
pub(super) struct SendingRate {
    pub(super) control: Control,
    pub(super) reception: Reception,
    pub(super) breakers: Breakers,
    /// True once reception reports contradicted feedback.
    is_contradicted: bool,
}

impl SendingRate {
    pub(super) fn new(control: Control) -> Self {
        Self {
            control,
            reception: Reception::default(),
            breakers: Breakers::default(),
            is_contradicted: false,
        }
    }

    /// Starts anew towards a receiver.
    pub(super) fn restart(&mut self, sender: Box<Sender>) {
        self.control = Control::Tfrc(sender);
        self.reception = Reception::default();
        self.breakers = Breakers::default();
        self.is_contradicted = false;
    }

    /// Handles a reception report, and returns true if it counts. `known` gets the rate in force.
    pub(super) fn handle_block(
        &mut self,
        now: Instant,
        block: &ReportBlock,
        known: Circumstances,
    ) -> bool {
        let rate = match &self.control {
            Control::Plain(pacer, _) => pacer.rate(),
            Control::Tfrc(_) => Rate::ZERO,
        };
        let reading = self
            .reception
            .handle_block(now, block, &Circumstances { rate, ..known });
        if let (Reading::Refutes(before), Control::Plain(pacer, RateSource::ReceptionReports)) =
            (reading, &mut self.control)
        {
            pacer.set_rate(before.max(rate), Some(FIXED_RATE_CREDIT));
        }
        reading != Reading::Ignored
    }

    /// Holds X against reception reports, once one showed that less than half of the packets arrived.
    ///
    /// Feedback that permits more than twice the rate of arrivals contradicts these reports, as forged feedback does.
    /// From then on X stays near the best rate of the last intervals, and may grow from one interval to the next.
    pub(super) fn hold(&mut self, packet: Bytes) {
        let Control::Tfrc(sender) = &mut self.control else {
            return;
        };
        let best = self.reception.best_receive_rate(packet);
        self.is_contradicted |= self.reception.loss(1) > CONTRADICTING_LOSS;
        // Reports of nothing new give no rate: the highest number may be a forged packet's.
        if self.is_contradicted && best > Rate::ZERO {
            sender.hold(best * HELD_GROWTH);
        }
    }

    /// Returns true if TFRC is in force.
    pub(super) fn is_tfrc(&self) -> bool {
        matches!(self.control, Control::Tfrc(_))
    }

    /// Returns the source of the rate.
    pub(super) fn source(&self) -> RateSource {
        match self.control {
            Control::Tfrc(_) => RateSource::Feedback,
            Control::Plain(_, source) => source,
        }
    }

    /// Returns when the next packet may leave; `None` while a breaker ends the media.
    pub(super) fn next_departure(&self, now: Instant) -> Option<Instant> {
        if self.breakers.has_ceased() {
            return None;
        }
        Some(match &self.control {
            Control::Tfrc(sender) => sender.next_departure(now),
            Control::Plain(pacer, _) => pacer.next_departure(now),
        })
    }

    /// Records that a packet leaves.
    pub(super) fn handle_sent(&mut self, now: Instant, size: Bytes) {
        match &mut self.control {
            Control::Tfrc(sender) => sender.handle_sent(now, size),
            Control::Plain(pacer, _) => {
                pacer.handle_sent(now, size);
            }
        }
    }

    /// Returns the round-trip time, once TFRC knows it.
    pub(super) fn rtt(&self) -> Option<Duration> {
        match &self.control {
            Control::Tfrc(sender) => sender.rtt(),
            Control::Plain(..) => None,
        }
    }

    /// Returns the present rates, and the state of the path by feedback.
    pub(super) fn path(&self) -> Path {
        match &self.control {
            Control::Tfrc(sender) => Path {
                allowed_rate: sender.allowed_rate(),
                instantaneous_rate: sender.instantaneous_rate(),
                rtt: self.rtt(),
                loss_event_rate: sender.loss_event_rate(),
                receive_rate: sender.receive_rate(),
                rate_source: RateSource::Feedback,
            },
            Control::Plain(pacer, source) => Path {
                allowed_rate: pacer.rate(),
                instantaneous_rate: pacer.rate(),
                rtt: self.rtt(),
                loss_event_rate: LossEventRate::ZERO,
                receive_rate: Rate::ZERO,
                rate_source: *source,
            },
        }
    }

    /// Falls back to a fixed low rate, from which `source` may raise it.
    pub(super) fn fall_back(&mut self, source: RateSource) {
        self.control = Control::plain(fallback::BLIND_RATE, source);
    }

    /// Sets the rate by the reception reports so far, unless the caller fixed it; returns true if so.
    pub(super) fn follow_reports(&mut self, packet: Bytes, inherited: LossEventRate) -> bool {
        match &mut self.control {
            Control::Tfrc(_) | Control::Plain(_, RateSource::Fixed) => false,
            Control::Plain(pacer, source) => {
                *source = RateSource::ReceptionReports;
                let rate = fallback::next_rate(pacer.rate(), packet, &self.reception, inherited);
                pacer.set_rate(rate, Some(FIXED_RATE_CREDIT));
                true
            }
        }
    }

    /// Applies the circuit breakers to a report that counted. Feedback that arrived since the last report is to agree.
    pub(super) fn check_breakers(&mut self, now: Instant, packet: Bytes, has_feedback: bool) {
        match &mut self.control {
            Control::Plain(pacer, _) => {
                let rate = pacer.rate();
                let cut = self
                    .breakers
                    .handle_report(now, rate, packet, &self.reception);
                if let Some(rate) = cut {
                    pacer.set_rate(rate, Some(FIXED_RATE_CREDIT));
                }
            }
            Control::Tfrc(_) => {
                self.breakers
                    .compare_feedback(now, packet, &self.reception, has_feedback);
            }
        }
    }
}

impl Control {
    /// Returns a control whose rate only `source` changes.
    pub(super) fn plain(rate: Rate, source: RateSource) -> Self {
        let pacer = Pacer::new(FIXED_RATE_CREDIT, rate, Some(FIXED_RATE_CREDIT));
        Self::Plain(pacer, source)
    }
}
