//! What feedback says of the path beyond what TFRC takes from it.

use tfrc::report::{Delivery, Departures};
use tfrc::time::{Duration, Instant};
use tfrc::units::Rate;

use super::outbound::IN_FLIGHT;

/// What the peer's feedback measures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PathSignal {
    /// The arrivals of single packets ([`PathSample::deliveries`]).
    Deliveries,
    /// One round trip, and bounds of the transit times since the sample before.
    TransitBounds {
        /// When the packet left that the feedback answers.
        sent_at: Instant,
        /// Without the time that the receiver waited.
        round_trip: Duration,
        /// The least transit time, in microseconds modulo 2^32, between clocks of any zero.
        least: u32,
        /// The largest.
        largest: u32,
        /// X_recv.
        receive_rate: Rate,
    },
    /// One round trip.
    RoundTrip {
        /// When the packet left that the feedback answers.
        sent_at: Instant,
        /// Without the time that the receiver waited.
        round_trip: Duration,
        /// X_recv.
        receive_rate: Rate,
    },
}

/// What feedback told of the path.
#[derive(Clone, Copy, Debug)]
pub struct PathSample<'a> {
    /// What it measures.
    pub signal: PathSignal,
    /// A loss event was reported since the last sample. In TFRC's own reports only an event that raises *p* is seen.
    pub loss_event: bool,
    /// Packets that were found lost since the last sample, those of a loss event or not; none for other signals than arrivals.
    pub lost: u64,
    pub(super) departures: Option<&'a Departures<IN_FLIGHT>>,
}

impl PathSample<'_> {
    /// The packets that arrived since the sample before, in the order of arrival; none for other signals.
    pub fn deliveries(&self) -> impl Iterator<Item = Delivery> {
        let departures = self
            .departures
            .filter(|_| self.signal == PathSignal::Deliveries);
        departures.into_iter().flat_map(Departures::deliveries)
    }
}
