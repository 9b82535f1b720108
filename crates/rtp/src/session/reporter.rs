//! What a receiver of media reports: p and X_recv, or which packets came.

use std::time::Duration;

use tfrc::report::{Arrivals, Fate, Span};
use tfrc::time::Instant;
use tfrc::{Arrival, Receiver};

use super::config::{FeedbackMode, ReceiveConfig};
use super::event::EventKind;
use crate::ntp::NtpTime;
use crate::rtcp::{TfrcFeedback, ccfb};

/// The most packets that a report speaks of: with a receiver report and the longest name it fits into
/// [`CONTROL_BUFFER`](super::CONTROL_BUFFER).
pub(super) const MAX_PACKETS: usize = 400;

/// One of the two kinds of receiver.
#[derive(Debug)]
pub(super) enum Reporter {
    /// Computes p and X_recv.
    Tfrc(Box<Receiver>),
    /// Tells what came.
    Ccfb(Box<Arrivals<512>>),
}

/// A report that is due.
#[derive(Clone, Copy, Debug)]
pub(super) enum Report {
    Tfrc(TfrcFeedback),
    Ccfb(Span, Instant),
}

impl Reporter {
    pub(super) fn new(config: &ReceiveConfig) -> Self {
        match config.feedback {
            FeedbackMode::Tfrc => Self::Tfrc(Box::new(Receiver::new(config.tfrc.clone()))),
            FeedbackMode::Ccfb => Self::Ccfb(Box::new(Arrivals::new(MAX_PACKETS))),
        }
    }

    /// Takes in a packet; false if it came before or is too old to tell.
    pub(super) fn handle_data(&mut self, arrival: &Arrival) -> bool {
        match self {
            Self::Tfrc(receiver) => !receiver.handle_data(arrival).duplicate,
            Self::Ccfb(arrivals) => arrivals.handle_data(arrival),
        }
    }

    /// When the next report is due.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        match self {
            Self::Tfrc(receiver) => receiver.poll_timeout(),
            Self::Ccfb(arrivals) => arrivals.poll_timeout(),
        }
    }

    /// The round-trip time that the sender told: it has had a report then.
    pub(super) fn round_trip_time(&self) -> Option<Duration> {
        match self {
            Self::Tfrc(receiver) => receiver.round_trip_time(),
            Self::Ccfb(arrivals) => arrivals.round_trip_time(),
        }
    }

    /// Bytes of the next report.
    pub(super) fn report_len(&self) -> usize {
        match self {
            Self::Tfrc(_) => TfrcFeedback::PACKET_LEN,
            Self::Ccfb(arrivals) => ccfb::packet_len(arrivals.next_span().count),
        }
    }

    /// The report that is due, if one is, and what is told of it.
    pub(super) fn poll_report(&mut self, now: Instant) -> Option<(Report, EventKind)> {
        match self {
            Self::Tfrc(receiver) => {
                let report = receiver.poll_report(now)?;
                let feedback = TfrcFeedback::new(
                    report.timestamp,
                    report.delay,
                    report.receive_rate,
                    report.loss_event_rate,
                );
                let event = EventKind::ReportSent {
                    receive_rate: report.receive_rate,
                    loss_event_rate: report.loss_event_rate,
                    delay: report.delay,
                };
                Some((Report::Tfrc(feedback), event))
            }
            Self::Ccfb(arrivals) => {
                let span = arrivals.poll_report(now)?;
                let event = EventKind::ArrivalsReported {
                    packets: span.count,
                };
                Some((Report::Ccfb(span, now), event))
            }
        }
    }

    /// Writes a report that [`Reporter::poll_report`] gave.
    pub(super) fn write(
        &self,
        report: Report,
        format: u8,
        ssrcs: (u32, u32),
        wallclock: NtpTime,
        buf: &mut [u8],
    ) -> Option<usize> {
        match (report, self) {
            (Report::Tfrc(feedback), _) => feedback.emit(format, ssrcs.0, ssrcs.1, buf),
            (Report::Ccfb(span, made_at), Self::Ccfb(arrivals)) => {
                let packets =
                    (0..span.count).map(|index| match arrivals.fate(span.first + index as u64) {
                        Fate::Arrived { at: Some(at), ecn } => Some((wallclock.at(at), ecn)),
                        Fate::Arrived { at: None, .. } | Fate::Missing => None,
                    });
                let made_at = wallclock.at(made_at);
                ccfb::emit(ssrcs, span.first as u16, packets, made_at, buf)
            }
            (Report::Ccfb(..), Self::Tfrc(_)) => None,
        }
    }
}
