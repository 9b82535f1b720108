//! Decides when to report: once a round trip, and at once after a new loss event (RFC 5348 §6.1, §6.2).

use core::time::Duration;

use crate::time::Instant;

/// The feedback timer, which sleeps while no data comes. A timer that expires without data would only be restarted,
/// and the next packet is then reported at once (RFC 5348 §6.1 step 4).
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    /// The next expiry of the timer; `None` before the first report, and while no report is owed.
    timer: Option<Instant>,
    /// Data arrived since the last report.
    data: bool,
    /// The report about that data must not wait for the timer.
    urgent: bool,
    /// The time at which that report is due.
    due: Instant,
    /// Data before this time changes nothing, unless its report is urgent.
    settled: Instant,
}

impl Schedule {
    pub(crate) const fn new() -> Self {
        Self {
            timer: None,
            data: false,
            urgent: false,
            due: Instant::MAX,
            settled: Instant::ZERO,
        }
    }

    /// Returns true if neither [`Schedule::handle_data`] nor [`Schedule::keep_phase`] before it would change
    /// anything.
    #[inline]
    pub(crate) fn is_settled(&self, at: Instant, urgent: bool) -> bool {
        at < self.settled && !urgent
    }

    /// Returns the time before which data changes nothing, unless its report is urgent.
    #[inline]
    pub(crate) const fn settled(&self) -> Instant {
        self.settled
    }

    /// Records data, and whether its report is urgent.
    pub(crate) fn handle_data(&mut self, at: Instant, urgent: bool) {
        self.data = true;
        if self.urgent {
            return;
        }
        match self.timer {
            Some(timer) if timer > at && !urgent => (self.due, self.settled) = (timer, timer),
            // No timer runs before the first packet, or after the last one ran out without data.
            _ => (self.urgent, self.due, self.settled) = (true, at, Instant::MAX),
        }
    }

    /// Advances a timer that ran out without data by whole intervals, past `at`.
    pub(crate) fn keep_phase(&mut self, at: Instant, interval: Duration) {
        if let Some(timer) = self.timer
            && timer <= at
            && !self.data
        {
            let late = at.saturating_since(timer).as_nanos();
            let phase = late.checked_rem(interval.as_nanos()).unwrap_or(late) as u64;
            self.timer = Some(at + (interval - Duration::from_nanos(phase).min(interval)));
        }
    }

    /// Ends the present interval at `at`.
    pub(crate) fn expedite(&mut self, at: Instant) {
        self.timer = self.timer.map(|timer| timer.min(at));
        self.settled = Instant::ZERO;
        if self.data {
            self.due = self.due.min(at);
        }
    }

    /// Returns when the timer must be served; `None` while there is nothing to report.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.data.then_some(self.due)
    }

    /// Returns true if a report is due now.
    #[inline]
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.due <= now && self.data
    }

    /// Restarts the timer after a report.
    pub(crate) fn restart(&mut self, now: Instant, interval: Option<Duration>) {
        *self = Self {
            timer: interval.map(|interval| now + interval),
            ..Self::new()
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Option<Duration> = Some(Duration::from_millis(100));

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    #[test]
    fn nothing_is_due_without_data() {
        let mut schedule = Schedule::new();
        assert_eq!(schedule.due(), None);
        schedule.handle_data(at(0), false);
        assert!(schedule.is_due(at(0)));
        schedule.restart(at(0), RTT);
        assert_eq!(schedule.due(), None);
        assert!(!schedule.is_due(at(1_000)));
    }

    #[test]
    fn data_waits_for_the_timer_unless_it_is_urgent() {
        let mut schedule = Schedule::new();
        schedule.handle_data(at(0), false);
        schedule.restart(at(0), RTT);
        schedule.handle_data(at(10), false);
        assert_eq!(schedule.due(), Some(at(100)));
        assert!(!schedule.is_due(at(99)));
        assert!(schedule.is_settled(at(99), false));
        assert!(!schedule.is_settled(at(99), true) && !schedule.is_settled(at(100), false));
        schedule.handle_data(at(20), true);
        assert_eq!(schedule.due(), Some(at(20)));
        assert!(schedule.is_due(at(20)));
        schedule.restart(at(20), RTT);
        // The timer was restarted by the report.
        schedule.handle_data(at(30), false);
        assert_eq!(schedule.due(), Some(at(120)));
    }

    /// RFC 3448 §6.2 restarts the timer even without data.
    #[test]
    fn a_timer_that_keeps_its_phase_reports_at_the_next_interval() {
        let mut schedule = Schedule::new();
        schedule.handle_data(at(0), false);
        schedule.restart(at(0), RTT);
        schedule.keep_phase(at(250), RTT.unwrap());
        schedule.handle_data(at(250), false);
        assert_eq!(schedule.due(), Some(at(300)));
        schedule.keep_phase(at(290), RTT.unwrap());
        schedule.handle_data(at(290), false);
        assert_eq!(schedule.due(), Some(at(300)));
    }

    #[test]
    fn after_a_timer_without_data_the_next_packet_is_reported_at_once() {
        let mut schedule = Schedule::new();
        schedule.handle_data(at(0), false);
        schedule.restart(at(0), RTT);
        schedule.handle_data(at(250), false);
        assert_eq!(schedule.due(), Some(at(250)));
    }
}
