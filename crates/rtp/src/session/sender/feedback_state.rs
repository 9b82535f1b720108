//! The feedback of the present receiver so far, and reports that wait to be counted together.

use tfrc::sent_packets::RefusedArrivals;
use tfrc::time::Instant;

use crate::packet::rtcp::TfrcFeedback;
use crate::session::statistics::Ignored;

/// Reports of arrivals that were read and are to be counted together.
#[derive(Clone, Copy, Debug)]
pub(super) struct UncountedReports {
    pub(super) due: Instant,
    /// The arrival of the last report.
    pub(super) arrival: Instant,
    /// The arrivals that were refused before the first report.
    pub(super) refused: RefusedArrivals,
}

/// The feedback of the present receiver so far.
#[derive(Debug)]
pub(super) struct FeedbackState {
    /// A report of the configured format has arrived from the present receiver.
    pub(super) has_feedback: bool,
    /// RTCP of any kind about our media has arrived.
    pub(super) has_rtcp: bool,
    /// Feedback has arrived since the last reception report that counted.
    pub(super) is_since_report: bool,
    /// The reports of arrivals that are not counted yet.
    pub(super) uncounted: Option<UncountedReports>,
    /// The departure of the packet that the last feedback answered, and that feedback.
    last_echo: Option<(Instant, TfrcFeedback)>,
    /// The transport-wide number of the first packet to the present receiver.
    first: u32,
    /// The number of packets, from the first on, that reports can cover.
    reported: u64,
}

impl FeedbackState {
    /// Creates the state; the first packet will have the transport-wide number `first`.
    pub(super) fn new(first: u32) -> Self {
        Self {
            has_feedback: false,
            has_rtcp: false,
            is_since_report: false,
            uncounted: None,
            last_echo: None,
            first,
            reported: 0,
        }
    }

    /// Restarts for a receiver whose first packet has the transport-wide number `first`. The last echo remains,
    /// because it guards against replays.
    pub(super) fn restart(&mut self, first: u32) {
        self.has_feedback = false;
        self.uncounted = None;
        (self.first, self.reported) = (first, 0);
    }

    /// Refuses feedback about an earlier packet than before, or the same feedback again.
    pub(super) fn check_echo(
        &mut self,
        sent_at: Instant,
        feedback: TfrcFeedback,
    ) -> Result<(), Ignored> {
        if let Some((last_sent_at, last)) = self.last_echo {
            // Packets of a burst may share a send time, so the delays since two of them cannot be compared.
            if sent_at < last_sent_at || feedback == last {
                return Err(Ignored::Replayed);
            }
        }
        self.last_echo = Some((sent_at, feedback));
        Ok(())
    }

    /// Returns the last feedback that passed [`FeedbackState::check_echo`].
    pub(super) fn last(&self) -> Option<TfrcFeedback> {
        self.last_echo.map(|(_, feedback)| feedback)
    }

    /// Returns the number of packets that reports can cover.
    pub(super) fn reported(&self) -> u64 {
        self.reported
    }

    /// Records a report that arrived before the packet of the transport-wide number `next` left. No report covers
    /// the packets in flight yet.
    pub(super) fn handle_report(&mut self, next: u32, in_flight: u64) {
        let sent = u64::from(next.wrapping_sub(self.first));
        self.reported = self.reported.max(sent.saturating_sub(in_flight));
    }
}
