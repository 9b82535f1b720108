//! The circuit breakers of RFC 8083, by the reception reports that count.

use std::time::Duration;

use tfrc::equation;
use tfrc::time::Instant;
use tfrc::units::{Bytes, LossEventRate, Rate};

use super::fallback::UNKNOWN_ROUND_TRIP;
use super::rate_source::Breach;
use super::reception::{REMEMBERED, Reception};

/// The time without a report that trips a breaker: three intervals of five seconds (RFC 8083 §4.1). The others need as
/// long a time of unanimous reports, whatever their interval: a receiver whose reports are forged contradicts within it.
const REPORT_TIMEOUT: Duration = Duration::from_secs(15);
/// The reports without a new packet that trip a breaker: k of RFC 8083 §4.2, whose other terms are below the report
/// interval here.
const MEDIA_TIMEOUT: u32 = 5;
/// The least number of reports in CB_INTERVAL (RFC 8083 §4.3).
const LEAST_REPORTS: usize = 3;
/// The excess over a TCP's rate that trips a breaker, and the divisor of the rate after the first time (RFC 8083
/// §4.3).
const EXCESS: f64 = 10.0;

/// The breakers towards one receiver.
#[derive(Debug, Default)]
pub(super) struct Breakers {
    /// The breaker that tripped last, and true if it ended the media.
    breach: Option<(Breach, bool)>,
    /// The time of the first breach by congestion, which cut the rate.
    cut: Option<Instant>,
    /// The time since which all reports show congestion.
    congested: Option<Instant>,
    /// The breach by media that feedback permitted.
    refuted: Option<Breach>,
}

impl Breakers {
    /// Returns the breaker that tripped last, if one did, and whether it ended the media.
    pub(super) fn breach(&self) -> Option<(Breach, bool)> {
        self.breach.or(self.refuted.map(|breach| (breach, false)))
    }

    /// Returns true while a breaker ends the media.
    pub(super) fn has_ceased(&self) -> bool {
        self.breach.is_some_and(|(_, ceased)| ceased)
    }

    /// Ends the media until a report shows that packets arrive after all.
    pub(super) fn cease(&mut self, breach: Breach) {
        self.breach = Some((breach, true));
    }

    /// Returns true while reports refute the feedback.
    pub(super) fn refutes_feedback(&self) -> bool {
        self.refuted.is_some()
    }

    /// Handles a report that counted, about media at this rate without feedback. Returns the rate to which the first
    /// breach by congestion cuts the rate (RFC 8083 §4.3). Any other breach ends the media.
    ///
    /// Media that ended resumes once a report shows new packets, for then they were not lost, or reports come again (RFC
    /// 8083 §4.5). Congestion has no such evidence without media.
    pub(super) fn handle_report(
        &mut self,
        now: Instant,
        rate: Rate,
        packet: Bytes,
        reception: &Reception,
    ) -> Option<Rate> {
        if let Some((breach, true)) = self.breach {
            if breach != Breach::Congestion && reception.has_progressed() {
                self.breach = None;
            }
            return None;
        }
        match self.find(now, rate, packet, reception)? {
            Breach::Congestion if self.cut.is_none() => {
                (self.cut, self.congested) = (Some(now), None);
                self.breach = Some((Breach::Congestion, false));
                Some(rate / EXCESS)
            }
            breach => {
                self.cease(breach);
                None
            }
        }
    }

    /// Handles a report that counted, beside feedback if `has_feedback`. Reports that trip a breaker refute the feedback
    /// that permitted the media, and the nofeedback timer then sets the rate until they no longer do.
    pub(super) fn compare_feedback(
        &mut self,
        now: Instant,
        packet: Bytes,
        reception: &Reception,
        has_feedback: bool,
    ) {
        let breach = self.find(now, reception.send_rate(packet), packet, reception);
        if has_feedback || breach.is_none() {
            self.refuted = breach;
        }
    }

    /// Returns the circuit breaker that the reports trip, if any.
    fn find(
        &mut self,
        now: Instant,
        rate: Rate,
        packet: Bytes,
        reception: &Reception,
    ) -> Option<Breach> {
        let (stalled, time) = reception.stalled();
        if stalled >= MEDIA_TIMEOUT && time >= REPORT_TIMEOUT {
            return Some(Breach::NoMedia);
        }
        let round_trip = reception.rtt().unwrap_or(UNKNOWN_ROUND_TRIP);
        let exceeds = |loss: f64| {
            let loss = LossEventRate::new(loss);
            !loss.is_zero() && rate > equation::rate(packet, round_trip, loss) * EXCESS
        };
        if !exceeds(reception.confirmed_loss(1)) {
            self.congested = None;
            return None;
        }
        let since = *self.congested.get_or_insert(now - reception.newest());
        let reports = self.averaged_reports(round_trip, reception)?;
        let is_over = now.saturating_since(since) >= REPORT_TIMEOUT
            && exceeds(reception.confirmed_loss(reports));
        is_over.then_some(Breach::Congestion)
    }

    /// Returns CB_INTERVAL (RFC 8083 §4.3), once so many reports arrived.
    fn averaged_reports(&self, round_trip: Duration, reception: &Reception) -> Option<usize> {
        let spacing = reception.spacing().as_secs_f64();
        let ten_round_trips = (10.0 * round_trip.as_secs_f64()).min(REPORT_TIMEOUT.as_secs_f64());
        let reports = if spacing > 0.0 {
            ((ten_round_trips / spacing).ceil() as usize).clamp(LEAST_REPORTS, REMEMBERED)
        } else {
            REMEMBERED
        };
        let since = self.cut.unwrap_or(Instant::ZERO);
        (reception.intervals_since(since) >= reports).then_some(reports)
    }
}

/// Returns when reports have been missing for too long, if any ever arrived.
pub(super) fn report_expiry(reception: &Reception) -> Option<Instant> {
    reception.heard().map(|heard| heard + REPORT_TIMEOUT)
}

#[cfg(test)]
mod tests {
    use super::super::fallback::tests::{PACKET, ROUND_TRIP, reported};
    use super::*;

    /// Returns the breach by reports of these losses, one each five seconds.
    fn breach(rate: Rate, lost: &[u8]) -> Option<Breach> {
        let mut breakers = Breakers::default();
        let mut found = None;
        for count in 1..=lost.len() {
            let reception = reported(&lost[..count], Some(ROUND_TRIP));
            let now = reception.heard().expect("a report");
            found = breakers.find(now, rate, PACKET, &reception);
        }
        found
    }

    #[test]
    fn breaker_trips_above_ten_times_a_tcp() {
        let tcp = equation::rate(PACKET, ROUND_TRIP, LossEventRate::new(0.25));
        assert_eq!(breach(tcp * 9.9, &[64, 64, 64]), None);
        assert_eq!(breach(tcp * 10.1, &[64, 64, 64]), Some(Breach::Congestion));
        assert_eq!(breach(tcp * 10.1, &[64, 64]), None);
        // A report without loss contradicts the others.
        assert_eq!(breach(tcp * 100.0, &[128, 0, 128, 128]), None);
    }
}
