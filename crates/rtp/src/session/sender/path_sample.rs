//! Measurements of the path in feedback, for the path model.

use tfrc::sent_packets::Delivery;
use tfrc::time::{Duration, Instant};
use tfrc::units::Rate;

use super::sent_history::ReportedDepartures;

/// The measurement in the peer's feedback.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PathSignal {
    /// The arrivals of single packets ([`PathSample::deliveries`]).
    Deliveries,
    /// One round trip, and bounds of the transit times since the last sample.
    TransitReport {
        /// The departure of the packet that the feedback answers.
        sent_at: Instant,
        /// The round trip of that packet, without the receiver's delay.
        round_trip: Duration,
        /// The least transit time, in microseconds modulo 2^32. The clocks at both ends have different zeros.
        least: u32,
        /// The largest transit time, in the same unit.
        largest: u32,
        /// X_recv, the rate at which packets arrived.
        receive_rate: Rate,
    },
    /// One round trip.
    RoundTrip {
        /// The departure of the packet that the feedback answers.
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
    /// The packets found lost since the last sample, including tolerated losses; zero where the peer reports *p*
    /// alone.
    pub lost: u64,
    departures: Option<&'a ReportedDepartures>,
}

impl PathSample<'_> {
    /// Returns the packets that arrived since the last sample, in the order of arrival; none for other signals.
    pub fn deliveries(&self) -> impl Iterator<Item = Delivery> {
        let departures = self
            .departures
            .filter(|_| self.signal == PathSignal::Deliveries);
        departures
            .into_iter()
            .flat_map(ReportedDepartures::deliveries)
    }
}

/// The sample that the caller has not taken yet. A newer signal replaces an older one; losses add up.
#[derive(Debug, Default)]
pub(super) struct PendingSample {
    signal: Option<PathSignal>,
    loss_event: bool,
    lost: u64,
}

impl PendingSample {
    /// Keeps the measurement in the newest feedback.
    pub(super) fn set_signal(&mut self, signal: PathSignal) {
        self.signal = Some(signal);
    }

    /// Adds the losses in feedback.
    pub(super) fn add_losses(&mut self, loss_event: bool, lost: u64) {
        self.loss_event |= loss_event;
        self.lost += lost;
    }

    /// Takes the sample, if feedback has come since the last.
    pub(super) fn take<'a>(
        &mut self,
        departures: Option<&'a ReportedDepartures>,
    ) -> Option<PathSample<'a>> {
        let signal = self.signal.take()?;
        Some(PathSample {
            signal,
            loss_event: core::mem::take(&mut self.loss_event),
            lost: core::mem::take(&mut self.lost),
            departures,
        })
    }
}
