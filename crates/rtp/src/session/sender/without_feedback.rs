//! Sets the rate where no feedback arrives, and applies the circuit breakers.

use tfrc::time::{Duration, Instant};
use tfrc::units::Rate;

use super::breakers;
use super::fallback;
use super::lie::Lie;
use super::outbound::Outbound;
use super::rate_source::{Breach, RateSource};
use super::reception::Circumstances;
use super::sending_rate::Control;
use crate::packet::rtcp::ReportBlock;
use crate::session::statistics::Ignored;

impl Outbound {
    /// Handles a reception report about us, with the round trip that it shows. `is_proven` says that it answers a sender
    /// report of ours.
    ///
    /// The round trip sets the initial rate of TFRC (RFC 5348 §4.2) for receivers that report arrivals, because
    /// their first report may be late. Without feedback the report sets the rate.
    pub(in crate::session) fn handle_block(
        &mut self,
        now: Instant,
        block: &ReportBlock,
        round_trip: Option<Duration>,
        is_proven: bool,
    ) {
        self.count_reported();
        let (packet, inherited) = (self.config.packet_size, self.inherited());
        self.feedback.has_rtcp = true;
        let known = Circumstances {
            round_trip,
            is_proven,
            sent: self.numbering.packets(),
            next: self.numbering.sequence(),
            rate: Rate::ZERO,
        };
        let counts = self.rate.handle_block(now, block, known);
        if self.wants_feedback(fallback::REPORTS_AFTER, now) {
            self.rate.fall_back(RateSource::ReceptionReports);
        }
        if let Control::Tfrc(sender) = &mut self.rate.control {
            // With TFRC's own reports, only feedback determines R (RFC 5348 §4.3).
            let applies = self.sent.departures.is_some() && self.host.known.lie.is_none();
            let sample = round_trip
                .filter(|_| applies)
                .zip(self.host.known.least_claimed_rtt);
            if let Some((sample, least)) = sample {
                sender.handle_round_trip(now, sample.max(least));
            }
            self.rate.hold(packet);
        }
        if !counts {
            return;
        }
        if self.rate.follow_reports(packet, inherited) {
            self.liveness.handle_answer();
        }
        let is_tested = self.config.verify || !self.rate.is_tfrc();
        if self.config.circuit_breakers && is_tested {
            let has_feedback = std::mem::take(&mut self.feedback.is_since_report);
            self.rate.check_breakers(now, packet, has_feedback);
        }
    }

    /// Records that feedback arrived, and refuses it while reception reports refute it: only the nofeedback timer then
    /// sets the rate.
    pub(super) fn compare_with_reports(&mut self) -> Result<(), Ignored> {
        self.feedback.is_since_report = true;
        if self.rate.breakers.refutes_feedback() {
            return Err(Ignored::Refuted);
        }
        Ok(())
    }

    /// Returns true if no feedback arrived for `after` since the first packet, and the fallback may replace it.
    fn wants_feedback(&self, after: Duration, now: Instant) -> bool {
        self.config.fallback
            && !self.feedback.has_feedback
            && self.lie().is_none()
            && self.rate.is_tfrc()
            && self
                .liveness
                .started
                .is_some_and(|started| now.saturating_since(started) >= after)
    }

    /// Records feedback, after which TFRC sets the rate.
    pub(super) fn accept_feedback(&mut self, now: Instant) {
        (self.feedback.has_feedback, self.feedback.has_rtcp) = (true, true);
        self.liveness.handle_answer();
        self.host.known.handle_feedback(now);
        self.leave_fallback(now);
    }

    /// Records whether the receiver lies: without believed feedback, only the nofeedback timer sets the rate. Returns
    /// an error while it lies.
    pub(super) fn judge(&mut self, now: Instant, lie: Option<Lie>) -> Result<(), Ignored> {
        let known = &mut self.host.known.lie;
        if lie.is_none() {
            *known = None;
            return Ok(());
        }
        if known.is_none() {
            *known = lie;
            self.leave_fallback(now);
        }
        Err(Ignored::Distrusted)
    }

    fn leave_fallback(&mut self, now: Instant) {
        if let Control::Plain(_, RateSource::ReceptionReports | RateSource::Nothing) =
            self.rate.control
        {
            self.rate.control = Control::Tfrc(self.new_sender(now));
        }
    }

    /// Returns when missing RTCP, or missing further reports, are no longer expected.
    pub(in crate::session) fn fallback_expiry(&self) -> Option<Instant> {
        match &self.rate.control {
            _ if self.rate.breakers.has_ceased() || self.liveness.has_given_up() => None,
            Control::Tfrc(_)
                if self.config.fallback && !self.feedback.has_rtcp && self.lie().is_none() =>
            {
                self.liveness
                    .started
                    .map(|started| started + fallback::BLIND_AFTER)
            }
            Control::Plain(..) if self.config.circuit_breakers => {
                breakers::report_expiry(&self.rate.reception)
            }
            Control::Plain(..) | Control::Tfrc(_) => None,
        }
    }

    /// Handles the expiry of [`Outbound::fallback_expiry`].
    pub(in crate::session) fn check_fallback(&mut self, now: Instant) {
        if self.fallback_expiry().is_none_or(|expiry| expiry > now) {
            return;
        }
        if let Control::Tfrc(_) = self.rate.control {
            self.rate.fall_back(RateSource::Nothing);
        } else {
            self.rate.breakers.cease(Breach::NoReports);
        }
    }

    /// Returns the source of the rate.
    pub(in crate::session) fn rate_source(&self) -> RateSource {
        self.rate.source()
    }

    /// Returns the circuit breaker that tripped last, if one did, and whether it ended the media.
    pub(in crate::session) fn breach(&self) -> Option<(Breach, bool)> {
        self.rate.breakers.breach()
    }
}
