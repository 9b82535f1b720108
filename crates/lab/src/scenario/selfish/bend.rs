//! Arrival times that make one loss event of as many losses as they can.

use std::time::Duration;

use tfrc::Ecn;
use tfrc::time::Instant;

/// When a packet arrived and with which mark, as a report claims; `None` for a packet reported lost.
pub(super) type ReportedArrival = Option<(Instant, Ecn)>;

/// Where the claims stand.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bend {
    /// When the loss event began.
    event: Option<Instant>,
}

impl Bend {
    /// Packets that are told the first time came up to `most` earlier than they did: those after a loss with
    /// it, as long as that can be, then as early as can be until the event is over.
    pub(super) fn claim<'a>(
        &mut self,
        reported: impl IntoIterator<Item = &'a mut ReportedArrival>,
        most: Duration,
        rtt: Duration,
    ) {
        let mut is_after_loss = false;
        for packet in reported {
            let Some((at, _)) = packet else {
                is_after_loss = true;
                continue;
            };
            let came = *at;
            if self.event.is_some_and(|event| came > event + most + rtt) {
                self.event = None;
            }
            if is_after_loss && self.event.is_none() {
                self.event = Some(came);
            }
            is_after_loss = false;
            *at = match self.event {
                Some(event) => event.max(came - most),
                None => came,
            };
        }
    }
}
