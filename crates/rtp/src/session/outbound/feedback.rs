//! What feedback makes of the rate: that of a receiver that computes p, and reports of what arrived.

use tfrc::Feedback;
use tfrc::sent_packets::{RefusedArrivals, SentPacketTracker};
use tfrc::time::{Duration, Instant};
use tfrc::trace::Trace;

use super::super::event::Lie;
use super::super::statistics::Ignored;
use super::{Control, IN_FLIGHT, Outbound, PathSignal};
use crate::packet::rtcp::FeedbackMode;
use crate::packet::rtcp::{ReportBlock, TfrcFeedback, TransitBounds, tfrc_app};

/// Feedback about a packet that left longer ago is not believed; 16 s is also what the 24 bits of
/// the round-trip time can hold.
const MAX_ECHO_AGE: Duration = Duration::from_secs(16);

/// Some receivers save up transport-wide reports, which do not tell when they were made, and send a datagram for each:
/// what comes within this share of a round trip belongs together, as much as makes R wrong by 3 %. Apart, all but the last
/// would count the time for which they were saved as the path's.
const FLOCK: u32 = 32;
/// The same before R is known.
const FIRST_FLOCK: Duration = Duration::from_millis(1);

/// Reports of arrivals that were noted and are to be concluded together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Noted {
    due: Instant,
    /// When the last of them came.
    arrival: Instant,
    /// What had been refused before the first.
    refused: RefusedArrivals,
}

impl Outbound {
    /// Takes in feedback that arrived at `arrival`, or says why not.
    pub(in crate::session) fn handle_feedback(
        &mut self,
        now: Instant,
        arrival: Instant,
        feedback: TfrcFeedback,
    ) -> Result<Option<Trace>, Ignored> {
        if self.has_caught_a_lie() {
            return Err(Ignored::Distrusted);
        }
        let sent_at = self
            .departure_of(arrival, feedback.timestamp)
            .ok_or(Ignored::StaleFeedback)?;
        let delay = feedback.delay();
        // A round trip takes time: one of nothing would make the allowed rate what the report likes.
        if arrival.saturating_since(sent_at) <= delay {
            return Err(Ignored::StaleFeedback);
        }
        if let Some((last_sent_at, last)) = self.last_echo {
            // Packets of a burst may share a send time, and the delays since two of them cannot be compared.
            if sent_at < last_sent_at || feedback == last {
                return Err(Ignored::Replayed);
            }
        }
        self.last_echo = Some((sent_at, feedback));
        let mut receive_rate = feedback.rate();
        if self.config.verify {
            receive_rate = self.receivable.handle_report(sent_at, receive_rate);
            if self.receivable.has_caught_a_lie() {
                self.note_lie(now, Lie::ReceiveRate);
                return Err(Ignored::Distrusted);
            }
        }
        self.note_feedback(now);
        self.note_reported();
        let inherited = self.inherited();
        let Control::Tfrc(sender) = &mut self.control else {
            return Ok(None);
        };
        let round_trip = arrival.saturating_since(sent_at) - delay;
        self.path_signal = Some(match feedback.transit {
            Some(TransitBounds { least, largest }) => PathSignal::TransitBounds {
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
        self.loss_event |= loss_event_rate > sender.loss_event_rate();
        // The time between the kernel's receipt and ours is no part of the round trip.
        let waited = now.saturating_since(arrival);
        Ok(Some(sender.handle_feedback(
            now,
            &Feedback {
                sent_at,
                delay: delay + waited,
                receive_rate,
                loss_event_rate,
            },
        )))
    }

    /// Takes in p and X_recv that came at `arrival` with a reception report, or says why not.
    pub(in crate::session) fn handle_reception(
        &mut self,
        now: Instant,
        arrival: Instant,
        block: &ReportBlock,
        told: &tfrc_app::Reception,
    ) -> Result<Option<Trace>, Ignored> {
        let sent = self.sent_media.as_ref();
        let sent_at = sent.and_then(|sent| sent.departure_of(block.highest_sequence as u16));
        let timestamp = sent_at.ok_or(Ignored::StaleFeedback)?.as_micros() as u32;
        self.handle_feedback(now, arrival, told.about(timestamp))
    }

    /// Notes what `read` takes from reports of arrivals in a datagram that came at `arrival`, if it says that there was
    /// any, or says why not. It is to be concluded, with what else comes by then, when [`Outbound::arrivals_due`] says.
    pub(in crate::session) fn note_arrivals(
        &mut self,
        arrival: Instant,
        read: impl FnOnce(&mut SentPacketTracker<IN_FLIGHT>) -> bool,
    ) -> Result<(), Ignored> {
        let rtt = self.rtt();
        let Some(departures) = &mut self.departures else {
            return Err(Ignored::StaleFeedback);
        };
        if self.known.lie.is_some() {
            return Err(Ignored::Distrusted);
        }
        let refused = departures.refused();
        if !read(departures) {
            return Ok(());
        }
        let wait = if self.config.feedback == FeedbackMode::Twcc {
            rtt.map_or(FIRST_FLOCK, |rtt| rtt / FLOCK)
        } else {
            Duration::ZERO
        };
        let noted = self.noted.get_or_insert(Noted {
            due: arrival + wait,
            arrival,
            refused,
        });
        noted.arrival = arrival;
        Ok(())
    }

    /// When reports that were noted are concluded, if any were.
    pub(in crate::session) fn arrivals_due(&self) -> Option<Instant> {
        self.noted.map(|noted| noted.due)
    }

    /// Counts what the reports come to that were noted, if any were, or says why they come to nothing.
    pub(in crate::session) fn conclude_arrivals(
        &mut self,
        now: Instant,
    ) -> Result<Option<Trace>, Ignored> {
        let (Some(noted), Some(departures)) = (self.noted.take(), &mut self.departures) else {
            return Ok(None);
        };
        let before = departures.counters();
        let feedback = departures.settle(noted.arrival);
        let after = departures.counters();
        self.loss_event |= after.loss_events > before.loss_events;
        self.lost += after.lost.saturating_sub(before.lost);
        if departures.has_caught_a_lie() {
            self.note_lie(now, Lie::NeverSent);
            return Err(Ignored::Distrusted);
        }
        if departures.loses_marks() {
            self.known.loses_marks = true;
        }
        let Some(feedback) = feedback else {
            let is_stale = departures.refused() != noted.refused;
            return if is_stale {
                Err(Ignored::StaleFeedback)
            } else {
                Ok(None)
            };
        };
        self.note_feedback(now);
        let Control::Tfrc(sender) = &mut self.control else {
            return Ok(None);
        };
        // A vector tells no arrival times.
        self.path_signal = Some(if self.config.feedback == FeedbackMode::Sack {
            let trip = noted.arrival.saturating_since(feedback.sent_at);
            PathSignal::RoundTrip {
                sent_at: feedback.sent_at,
                round_trip: trip.saturating_sub(feedback.delay),
                receive_rate: feedback.receive_rate,
            }
        } else {
            PathSignal::Deliveries
        });
        // The time between the kernel's receipt and ours is no part of the round trip.
        let delay = feedback.delay + now.saturating_since(noted.arrival);
        let feedback = Feedback { delay, ..feedback };
        Ok(Some(sender.handle_feedback(now, &feedback)))
    }

    /// When a packet left whose send time was `timestamp`, microseconds modulo 2^32: the latest such
    /// instant that is not after `now`. `None` unless media left then or about then.
    fn departure_of(&self, now: Instant, timestamp: u32) -> Option<Instant> {
        let age = (now.as_micros() as u32).wrapping_sub(timestamp);
        let sent_at = Instant::from_micros(now.as_micros().checked_sub(age.into())?);
        let in_time = Duration::from_micros(age.into()) <= MAX_ECHO_AGE;
        let (first, last) = (self.first_departure?, self.last_departure?);
        let is_ours = first.as_micros() <= sent_at.as_micros() && sent_at <= last;
        (in_time && is_ours).then_some(sent_at)
    }
}
