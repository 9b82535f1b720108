//! What sets the rate where no feedback comes, and which circuit breakers end it.

use tfrc::time::{Duration, Instant};

use super::super::event::Lie;
use super::super::fallback::{self, Breach, RateSource};
use super::super::reception::Reception;
use super::{Control, FIXED_RATE_CREDIT, Outbound, plain_pacer};
use crate::packet::rtcp::ReportBlock;

impl Outbound {
    /// Takes in a reception report about us, and the round trip that it shows. It sets the initial rate of
    /// TFRC (RFC 5348 §4.2) for receivers that report what came, as theirs may be late; and the rate where no
    /// feedback comes.
    pub(in crate::session) fn handle_block(
        &mut self,
        now: Instant,
        block: &ReportBlock,
        round_trip: Option<Duration>,
    ) {
        self.note_reported();
        let (packet, inherited) = (self.config.packet_size, self.inherited());
        self.has_rtcp = true;
        self.reception
            .handle_block(now, block, round_trip, self.packets);
        if self.wants_feedback(fallback::REPORTS_AFTER, now) {
            self.fall_back(RateSource::ReceptionReports);
        }
        match &mut self.control {
            Control::Tfrc(sender) => {
                // TFRC's own feedback tells R, and alone does (RFC 5348 §4.3).
                let counts = self.departures.is_some() && self.known.lie.is_none();
                let sample = round_trip.filter(|_| counts).zip(self.known.least_told);
                if let Some((sample, least)) = sample {
                    sender.handle_round_trip(now, sample.max(least));
                }
                return;
            }
            Control::Plain(_, RateSource::Fixed) => {}
            Control::Plain(pacer, source) => {
                *source = RateSource::ReceptionReports;
                let rate = fallback::next_rate(pacer.rate(), packet, &self.reception, inherited);
                pacer.set_rate(rate, Some(FIXED_RATE_CREDIT));
                self.waiting_since = None;
            }
        }
        if self.config.circuit_breakers {
            self.check_breakers();
        }
    }

    /// Cuts the rate at the first breach by congestion (RFC 8083 §4.3); what else breaches ends the media.
    fn check_breakers(&mut self) {
        let Control::Plain(pacer, _) = &mut self.control else {
            return;
        };
        let breach = fallback::breach(pacer.rate(), self.config.packet_size, &self.reception);
        match (breach, self.breach) {
            (None, _) => {}
            (Some(Breach::Congestion), None) => {
                self.breach = breach;
                pacer.set_rate(fallback::cut(pacer.rate()), Some(FIXED_RATE_CREDIT));
                self.reception = Reception::default();
            }
            (Some(breach), _) => self.cease(breach),
        }
    }

    fn cease(&mut self, breach: Breach) {
        self.breach = Some(breach);
        self.has_ceased = true;
    }

    /// True if no feedback has come so long after the first packet, and there is another way.
    fn wants_feedback(&self, after: Duration, now: Instant) -> bool {
        self.config.fallback
            && !self.has_feedback
            && !self.has_caught_a_lie()
            && matches!(self.control, Control::Tfrc(_))
            && self
                .started
                .is_some_and(|started| now.saturating_since(started) >= after)
    }

    fn fall_back(&mut self, source: RateSource) {
        self.control = Control::Plain(plain_pacer(fallback::BLIND_RATE), source);
    }

    /// Feedback came: TFRC takes over, if it had not.
    pub(super) fn note_feedback(&mut self, now: Instant) {
        (self.has_feedback, self.has_rtcp) = (true, true);
        self.waiting_since = None;
        self.known.handle_feedback(now);
        self.leave_fallback(now);
    }

    /// The receiver was caught: without feedback that is believed, the nofeedback timer is all that sets the rate.
    pub(super) fn note_lie(&mut self, now: Instant, lie: Lie) {
        self.known.lie = Some(lie);
        self.leave_fallback(now);
    }

    fn leave_fallback(&mut self, now: Instant) {
        if let Control::Plain(_, RateSource::ReceptionReports | RateSource::Nothing) = self.control
        {
            self.control = Control::Tfrc(self.new_sender(now));
        }
    }

    /// When what has not come by then is not expected any more: RTCP at all, or further reports.
    pub(in crate::session) fn fallback_expiry(&self) -> Option<Instant> {
        match &self.control {
            _ if self.has_ceased || self.gave_up => None,
            Control::Tfrc(_)
                if self.config.fallback && !self.has_rtcp && !self.has_caught_a_lie() =>
            {
                self.started.map(|started| started + fallback::BLIND_AFTER)
            }
            Control::Plain(..) if self.config.circuit_breakers => {
                fallback::report_expiry(&self.reception)
            }
            Control::Plain(..) | Control::Tfrc(_) => None,
        }
    }

    /// Serves that expiry.
    pub(in crate::session) fn check_fallback(&mut self, now: Instant) {
        if self.fallback_expiry().is_none_or(|expiry| expiry > now) {
            return;
        }
        if let Control::Tfrc(_) = self.control {
            self.fall_back(RateSource::Nothing);
        } else {
            self.cease(Breach::NoReports);
        }
    }

    /// What sets the rate.
    pub(in crate::session) fn rate_source(&self) -> RateSource {
        match self.control {
            Control::Tfrc(_) => RateSource::Feedback,
            Control::Plain(_, source) => source,
        }
    }

    /// The circuit breaker that tripped last, if one did, and whether it ended the media.
    pub(in crate::session) fn breach(&self) -> Option<(Breach, bool)> {
        self.breach.map(|breach| (breach, self.has_ceased))
    }
}
