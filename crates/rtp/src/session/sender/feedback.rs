//! Handles feedback: finds the packets that it answers, and updates TFRC and the path sample.

use tfrc::Feedback;
use tfrc::time::{Duration, Instant};
use tfrc::trace::Trace;

use super::feedback_state::UncountedReports;
use super::lie::Lie;
use super::outbound::Outbound;
use super::path_sample::PathSignal;
use super::sending_rate::Control;
use super::sent_history::ReportedDepartures;
use crate::packet::rtcp::{FeedbackMode, ReportBlock, TfrcFeedback, TransitBounds, tfrc_app};
use crate::session::statistics::Ignored;

/// Transport-wide reports that arrive within this fraction of a round trip are counted together.
///
/// Some receivers save reports up and send a datagram for each, and the format has no time at which a report was made.
/// Counted alone, all but the last would add the time for which they were saved to the round trip. The fraction makes R
/// wrong by 3 % at most.
const GROUPING_DIVISOR_OF_RTT: u32 = 32;
/// A round trip is believed to be as short as this fraction of R. RFC 5348 §4.5 divides by its root, so a forged round trip
/// of no time would let all leave at once. A queue that drains between two reports shortens R by less.
const MAX_FALL_OF_RTT: u32 = 16;
/// The time within which reports are counted together before R is known.
const GROUPING_TIME_WITHOUT_RTT: Duration = Duration::from_millis(1);

impl Outbound {
    /// Handles feedback that arrived at `arrival`, or returns the reason to ignore it.
    pub(in crate::session) fn handle_feedback(
        &mut self,
        now: Instant,
        arrival: Instant,
        feedback: TfrcFeedback,
    ) -> Result<Option<Trace>, Ignored> {
        let sent_at = self
            .liveness
            .departure_of(arrival, feedback.timestamp)
            .ok_or(Ignored::StaleFeedback)?;
        let delay = feedback.delay();
        // A round trip takes time: with a round trip of zero the report could claim any rate.
        if arrival.saturating_since(sent_at) <= delay {
            return Err(Ignored::StaleFeedback);
        }
        self.feedback.check_echo(sent_at, feedback)?;
        let mut receive_rate = feedback.rate();
        if self.config.verify {
            receive_rate = self.sent.receivable.handle_report(sent_at, receive_rate);
            let lies = self.sent.receivable.has_caught_a_lie();
            self.judge(now, lies.then_some(Lie::ReceiveRate))?;
        }
        self.compare_with_reports()?;
        self.accept_feedback(now);
        self.count_reported();
        let inherited = self.inherited();
        let Control::Tfrc(sender) = &mut self.rate.control else {
            return Ok(None);
        };
        let round_trip = arrival.saturating_since(sent_at) - delay;
        self.sample.set_signal(match feedback.transit {
            Some(TransitBounds { least, largest }) => PathSignal::TransitReport {
                sent_at,
                round_trip,
                least,
                largest,
                receive_rate,
            },
            None => PathSignal::RoundTrip {
                sent_at,
                round_trip,
                receive_rate,
            },
        });
        let loss_event_rate = feedback.p().max(inherited);
        let loss_event = loss_event_rate > sender.loss_event_rate();
        self.sample.add_losses(loss_event, 0);
        // The time between the kernel's receipt and this call does not belong to the round trip.
        let waited = now.saturating_since(arrival);
        let least = sender.rtt().unwrap_or_default() / MAX_FALL_OF_RTT;
        Ok(Some(sender.handle_feedback(
            now,
            &Feedback {
                sent_at: sent_at.min(arrival - least - delay),
                delay: delay + waited,
                receive_rate,
                loss_event_rate,
            },
        )))
    }

    /// Handles p and X_recv that arrived at `arrival` with a reception report, or returns the reason to ignore
    /// them.
    pub(in crate::session) fn handle_reception(
        &mut self,
        now: Instant,
        arrival: Instant,
        block: &ReportBlock,
        reception: &tfrc_app::Reception,
    ) -> Result<Option<Trace>, Ignored> {
        let sent = self.sent.media.as_ref();
        let sent_at = sent.and_then(|sent| sent.departure_of(block.highest_sequence as u16));
        // Where a forged packet had the highest number, the report says nothing new of R.
        let sent_at = sent_at.or(self.rtt().map(|rtt| arrival - rtt - reception.delay()));
        let timestamp = sent_at.ok_or(Ignored::StaleFeedback)?.as_micros() as u32;
        self.handle_feedback(now, arrival, reception.about(timestamp))
    }

    /// Lets `read` compare the reports of arrivals in a datagram with the sent packets, or returns the reason for
    /// none.
    ///
    /// `read` returns false if every report was refused. The others are counted together at
    /// [`Outbound::arrivals_due`].
    pub(in crate::session) fn ingest_arrivals(
        &mut self,
        arrival: Instant,
        read: impl FnOnce(&mut ReportedDepartures) -> bool,
    ) -> Result<(), Ignored> {
        let rtt = self.rtt();
        let Some(departures) = &mut self.sent.departures else {
            return Err(Ignored::StaleFeedback);
        };
        let refused = departures.refused();
        if !read(departures) {
            return Ok(());
        }
        let wait = if self.config.feedback == FeedbackMode::Twcc {
            rtt.map_or(GROUPING_TIME_WITHOUT_RTT, |rtt| {
                rtt / GROUPING_DIVISOR_OF_RTT
            })
        } else {
            Duration::ZERO
        };
        let reports = self.feedback.uncounted.get_or_insert(UncountedReports {
            due: arrival + wait,
            arrival,
            refused,
        });
        reports.arrival = arrival;
        Ok(())
    }

    /// Returns when uncounted reports are counted, if there are any.
    pub(in crate::session) fn arrivals_due(&self) -> Option<Instant> {
        self.feedback.uncounted.map(|reports| reports.due)
    }

    /// Counts the uncounted reports: p and X_recv go to TFRC, and the signal to the path sample. Returns the reason
    /// if the reports have no effect.
    pub(in crate::session) fn settle_arrivals(
        &mut self,
        now: Instant,
    ) -> Result<Option<Trace>, Ignored> {
        let (Some(reports), Some(departures)) =
            (self.feedback.uncounted.take(), &mut self.sent.departures)
        else {
            return Ok(None);
        };
        let before = departures.counters();
        let feedback = departures.settle(reports.arrival);
        let after = departures.counters();
        self.sample.add_losses(
            after.loss_events > before.loss_events,
            after.lost.saturating_sub(before.lost),
        );
        if departures.loses_marks() {
            self.host.known.loses_marks = true;
        }
        let has_caught_a_lie = departures.has_caught_a_lie();
        let is_stale = departures.refused() != reports.refused;
        // A receiver that cannot be tested is not accused: forged media can make an honest one claim future numbers.
        let lies = has_caught_a_lie && self.leaves_out_numbers();
        self.judge(now, lies.then_some(Lie::NeverSent))?;
        let Some(feedback) = feedback else {
            return if is_stale {
                Err(Ignored::StaleFeedback)
            } else {
                Ok(None)
            };
        };
        self.compare_with_reports()?;
        self.accept_feedback(now);
        let Control::Tfrc(sender) = &mut self.rate.control else {
            return Ok(None);
        };
        // A vector has no arrival times.
        self.sample
            .set_signal(if self.config.feedback == FeedbackMode::Sack {
                let trip = reports.arrival.saturating_since(feedback.sent_at);
                PathSignal::RoundTrip {
                    sent_at: feedback.sent_at,
                    round_trip: trip.saturating_sub(feedback.delay),
                    receive_rate: feedback.receive_rate,
                }
            } else {
                PathSignal::Deliveries
            });
        // The time between the kernel's receipt and this call does not belong to the round trip.
        let delay = feedback.delay + now.saturating_since(reports.arrival);
        let least = sender.rtt().unwrap_or_default() / MAX_FALL_OF_RTT;
        let sent_at = feedback
            .sent_at
            .min(reports.arrival - least - feedback.delay);
        let feedback = Feedback {
            sent_at,
            delay,
            ..feedback
        };
        Ok(Some(sender.handle_feedback(now, &feedback)))
    }
}
