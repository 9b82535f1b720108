//! The delay of a report at its receiver, as far as the sender believes it.

use core::time::Duration;

/// The share of a round trip that is believed as a delay: R, and thus the rate, is then wrong by at most 3 %.
const BELIEVED_SHARE: u32 = 32;

/// Bounds the delay that a receiver states.
///
/// A sender cannot measure how long a receiver waited, and a receiver that exaggerates makes R too short. A report leaves with a
/// packet that arrives ([`Arrivals::poll_timeout`](crate::sent_packets::Arrivals::poll_timeout)), so hardly any delay is left.
/// After a longer delay, R is once the same as with the report before.
#[derive(Clone, Debug, Default)]
pub(crate) struct BelievedDelay {
    /// R with the last report, if the delay of that report was within the believed share.
    checked_rtt: Option<Duration>,
}

impl BelievedDelay {
    /// Returns how much of `delay` is believed of a report that arrived `trip` after the departure of its last packet.
    pub(crate) fn believe(&mut self, trip: Duration, delay: Duration) -> Duration {
        let rtt = trip.saturating_sub(delay);
        if delay <= trip / BELIEVED_SHARE {
            self.checked_rtt = Some(rtt);
            return delay;
        }
        let least = self.checked_rtt.take().unwrap_or(trip);
        trip.saturating_sub(rtt.max(least))
    }
}
