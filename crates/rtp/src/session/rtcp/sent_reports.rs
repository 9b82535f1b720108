//! Measures the round-trip time by sender reports and the reception reports that answer them (RFC 3550 §6.4.1).

use std::collections::VecDeque;
use std::time::Duration;

use tfrc::time::Instant;

use crate::ntp::NtpTime;
use crate::packet::rtcp::ReportBlock;

/// The number of remembered reports: over a second at ten a second, or the round trip of a path across the world if
/// TFRC makes them leave every 400 µs.
const REMEMBERED: usize = 1_024;

/// The last sender reports.
#[derive(Debug, Default)]
pub(in crate::session) struct SentReports {
    /// The part of each report that a receiver echoes, and the departure of the report.
    sent: VecDeque<(u32, Instant)>,
}

impl SentReports {
    /// Records a report with this time.
    pub(in crate::session) fn handle_sent(&mut self, now: Instant, ntp: NtpTime) {
        if self.sent.len() == REMEMBERED {
            self.sent.pop_front();
        }
        self.sent.push_back((ntp.middle(), now));
    }

    /// Returns the departure of the report that a reception report answers, if it is one of ours.
    pub(in crate::session) fn answered_by(&self, block: &ReportBlock) -> Option<Instant> {
        let mut sent = self.sent.iter().rev();
        let answered = sent.find(|(middle, _)| *middle == block.last_sender_report);
        answered.map(|(_, left)| *left)
    }

    /// Returns the round trip by a reception report that arrived at `arrival`. Returns `None` if the report answers
    /// none of ours, or arrived sooner than the delay that it states.
    pub(in crate::session) fn round_trip(
        &self,
        arrival: Instant,
        block: &ReportBlock,
    ) -> Option<Duration> {
        let left = self.answered_by(block)?;
        let waited = Duration::from_nanos((u64::from(block.delay_since) * 1_000_000_000) >> 16);
        let round_trip = arrival.saturating_since(left).checked_sub(waited)?;
        (!round_trip.is_zero()).then_some(round_trip)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn block(last_sender_report: u32, delay_ms: u32) -> ReportBlock {
        ReportBlock {
            ssrc: 1,
            fraction_lost: 0,
            cumulative_lost: 0,
            highest_sequence: 0,
            jitter: 0,
            last_sender_report,
            delay_since: delay_ms * 65_536 / 1_000,
        }
    }

    fn sent(reports: u64) -> (SentReports, impl Fn(u64) -> u32) {
        let zero = NtpTime::from_unix(Duration::from_secs(1_700_000_000));
        let mut sent = SentReports::default();
        for n in 0..reports {
            sent.handle_sent(at(n * 100), zero.at(at(n * 100)));
        }
        (sent, move |n| zero.at(at(n * 100)).middle())
    }

    #[test]
    fn what_the_receiver_waited_is_no_part_of_the_round_trip() {
        let (sent, middle) = sent(3);
        let sample = sent.round_trip(at(250), &block(middle(1), 110)).unwrap();
        assert!(sample.abs_diff(Duration::from_millis(40)) < Duration::from_micros(20));
    }

    #[test]
    fn no_answer_to_a_report_of_ours_gives_no_round_trip() {
        let (sent, middle) = sent(1_034);
        let last = at(103_400);
        assert_eq!(sent.round_trip(last, &block(0, 0)), None);
        assert_eq!(sent.round_trip(last, &block(middle(1_033) + 1, 0)), None);
        assert_eq!(sent.round_trip(last, &block(middle(9), 0)), None);
        assert!(sent.round_trip(last, &block(middle(10), 0)).is_some());
    }

    #[test]
    fn an_answer_that_waited_longer_than_it_can_have_gives_no_round_trip() {
        let (sent, middle) = sent(1);
        assert_eq!(sent.round_trip(at(50), &block(middle(0), 51)), None);
    }
}
