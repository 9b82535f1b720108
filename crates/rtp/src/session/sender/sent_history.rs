//! The packets that left, for the feedback that answers them.

use tfrc::ReceiverConfig;
use tfrc::sent_packets::SentPacketTracker;
use tfrc::time::{Duration, Instant};
use tfrc::trust::{Receivable, Suspicions};
use tfrc::units::Bytes;

use super::sent_media::SentMedia;

/// The packets that may be in flight before reports of arrivals answer them: a tenth of a second of uncompressed
/// HDTV (75,000 packets a second), including the time of reports.
const IN_FLIGHT: usize = 8_192;

/// The packets that left, with the reported status of each.
pub(in crate::session) type ReportedDepartures = SentPacketTracker<IN_FLIGHT>;

/// The packets that left to the present receiver.
///
/// Reports of arrivals are compared with `departures`, and a receiver's X_recv with `receivable`. Each packet is
/// counted in one of them only.
#[derive(Debug)]
pub(super) struct SentHistory {
    /// Single packets, where p is computed at the sender.
    pub(super) departures: Option<Box<ReportedDepartures>>,
    /// The bytes that the receiver can have received, where it computes p.
    pub(super) receivable: Receivable,
    /// The departures of media packets by sequence number, where feedback names a packet by its number.
    pub(super) media: Option<SentMedia>,
    /// The number of the last packet, by which deliveries name it.
    last_number: u64,
}

impl SentHistory {
    pub(super) fn new(media: Option<SentMedia>) -> Self {
        Self {
            departures: None,
            receivable: Receivable::default(),
            media,
            last_number: 0,
        }
    }

    /// Records a packet that leaves.
    pub(super) fn handle_sent(&mut self, now: Instant, size: Bytes, rtt: Option<Duration>) {
        if let Some(departures) = &mut self.departures {
            self.last_number = departures.next_number();
            departures.handle_sent(now, size, rtt);
        } else {
            self.last_number += 1;
            self.receivable.handle_sent(now, size, rtt);
        }
    }

    /// Returns the number of the packet that left last.
    pub(super) fn last_number(&self) -> u64 {
        self.last_number
    }

    /// Starts the record of single packets from the number `first` on.
    pub(super) fn record_departures(
        &mut self,
        first: u32,
        estimator: ReceiverConfig,
        suspicions: Suspicions,
        verify: bool,
    ) {
        let departures = SentPacketTracker::new(first.into(), estimator).suspecting(suspicions);
        self.departures = Some(Box::new(if verify {
            departures
        } else {
            departures.trusting()
        }));
    }

    /// Returns the present receiver's suspect claims, which prove nothing yet.
    pub(super) fn suspicions(&self) -> Suspicions {
        match &self.departures {
            Some(departures) => departures.suspicions(),
            None => self.receivable.suspicions(),
        }
    }
}
