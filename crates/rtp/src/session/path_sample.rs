//! Measurements of the path in feedback, for the path model.

use tfrc::sent_packets::{Delivery, SentPacketTracker};
use tfrc::time::{Duration, Instant};
use tfrc::units::Rate;

use super::outbound::IN_FLIGHT;

/// The measurement in the peer's feedback.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PathSignal {
    /// The arrivals of single packets ([`PathSample::deliveries`]).
    Deliveries,
    /// One round trip, and bounds of the transit times since the last sample.
    TransitBounds {
        /// Departure of the packet that the feedback answers.
        sent_at: Instant,
        /// The round trip of that packet, without the receiver's delay.
        round_trip: Duration,
        /// The least transit time, in microseconds modulo 2^32. The clocks at both ends have different zeros.
        least: u32,
        /// The largest transit time.
        largest: u32,
        /// X_recv, the rate at which packets arrived.
        receive_rate: Rate,
    },
    /// One round trip.
    RoundTrip {
        /// Departure of the packet that the feedback answers.
        sent_at: Instant,
        /// The round trip of that packet, without the receiver's delay.
        round_trip: Duration,
        /// X_recv, the rate at which packets arrived.
        receive_rate: Rate,
    },
}

/// A sample of the path from feedback.
#[derive(Clone, Copy, Debug)]
pub struct PathSample<'a> {
    /// The measurement.
    pub signal: PathSignal,
    /// True if feedback showed a loss event since the last sample. TFRC's own reports show only an event that raises *p*.
    pub loss_event: bool,
    /// Packets that were found lost since the last sample, tolerated losses included; zero where the peer reports *p* alone.
    pub lost: u64,
    pub(super) departures: Option<&'a SentPacketTracker<IN_FLIGHT>>,
}

impl PathSample<'_> {
    /// Gives the packets that arrived since the last sample, in the order of arrival; none for other signals.
    pub fn deliveries(&self) -> impl Iterator<Item = Delivery> {
        let departures = self
            .departures
            .filter(|_| self.signal == PathSignal::Deliveries);
        departures
            .into_iter()
            .flat_map(SentPacketTracker::deliveries)
    }
}
