//! The reports of a media receiver: p and X_recv, or arrivals.

use std::time::Duration;

use tfrc::sent_packets::{AckVector, Arrivals, MeteredArrivals, ReportSpan};
use tfrc::time::Instant;
use tfrc::units::{LossEventRate, Rate};
use tfrc::{Arrival, Receiver};

use super::transit_meter::TransitMeter;
use crate::ntp::NtpTime;
use crate::packet::rtcp::FeedbackMode;
use crate::packet::rtcp::tfrc_app::{Reception, TfrcApp};
use crate::packet::rtcp::{TfrcFeedback, ccfb, sack, twcc};
use crate::session::config::ReceiveConfig;
use crate::session::event::EventKind;

/// The most packets in a report, at two bytes a packet, or at two and two sevenths. With a receiver report and the
/// longest name the report fits into [`CONTROL_BUFFER`](crate::session::CONTROL_BUFFER).
const CCFB_PACKETS: usize = 400;
const TWCC_PACKETS: usize = 350;
/// The most packets in a vector of 128 bytes: four round trips of packets up to 20 Mb/s at 100 ms and 1,000 bytes a
/// packet.
const SACK_PACKETS: usize = 1_024;

/// The state of reception, by report format.
#[derive(Debug)]
pub(in crate::session) enum Reporter {
    /// Computes p and X_recv, with transit times if the sender asked for them.
    Tfrc(Box<Receiver>, Option<TransitMeter>),
    /// Reports arrivals.
    Ccfb(Box<Arrivals<512>>),
    Twcc {
        arrivals: Box<Arrivals<512>>,
        /// The number of reports made, modulo 2^8.
        made: u8,
    },
    Sack(Box<MeteredArrivals<1_024>>),
    /// Reports nothing, to a sender that agreed on no reports.
    Silent(Box<Arrivals<512>>),
    /// Computes p and X_recv with the round-trip time from sender reports.
    App {
        receiver: Box<Receiver>,
        rtt: Option<Duration>,
    },
}

/// A report that is due.
#[derive(Clone, Copy, Debug)]
pub(in crate::session) enum DueReport {
    Tfrc(TfrcFeedback),
    Arrivals(ReportSpan, Instant),
    AckVector(ReportSpan, AckVector),
    Reception(ReceptionFigures),
}

/// The figures in a report of [`Reporter::App`]: t_delay, X_recv and p.
#[derive(Clone, Copy, Debug)]
pub(in crate::session) struct ReceptionFigures(Duration, Rate, LossEventRate);

/// The sources that a report names, and its format.
#[derive(Clone, Copy, Debug)]
pub(in crate::session) struct ReportAddress {
    /// The FMT of TFRC's own message.
    pub(in crate::session) format: u8,
    /// Our source, then the source of the media.
    pub(in crate::session) ssrcs: (u32, u32),
    pub(in crate::session) wallclock: NtpTime,
}

impl Reporter {
    pub(in crate::session) fn new(feedback: FeedbackMode, config: &ReceiveConfig) -> Self {
        match feedback {
            _ if !config.reports => Self::Silent(Box::new(Arrivals::new(CCFB_PACKETS))),
            FeedbackMode::Tfrc => Self::Tfrc(
                Box::new(Receiver::new(config.tfrc.clone())),
                config.transit_bounds.then(TransitMeter::default),
            ),
            FeedbackMode::Ccfb => Self::Ccfb(Box::new(Arrivals::new(CCFB_PACKETS))),
            FeedbackMode::Twcc => Self::Twcc {
                arrivals: Box::new(Arrivals::new(TWCC_PACKETS)),
                made: 0,
            },
            FeedbackMode::Sack => Self::Sack(Box::new(MeteredArrivals::new(SACK_PACKETS))),
            FeedbackMode::App => Self::App {
                receiver: Box::new(Receiver::new(config.tfrc.clone())),
                rtt: None,
            },
        }
    }

    /// Records a packet; returns false if it arrived before or is too old to decide.
    pub(in crate::session) fn handle_data(&mut self, arrival: &Arrival) -> bool {
        match self {
            Self::Tfrc(receiver, transit) => {
                let is_new = !receiver.handle_data(arrival).duplicate;
                if let Some(transit) = transit.as_mut().filter(|_| is_new) {
                    transit.observe(arrival);
                }
                is_new
            }
            Self::Ccfb(arrivals) | Self::Twcc { arrivals, .. } | Self::Silent(arrivals) => {
                arrivals.handle_data(arrival)
            }
            Self::Sack(arrivals) => arrivals.handle_data(arrival),
            Self::App { receiver, rtt } => {
                let arrival = Arrival {
                    rtt: *rtt,
                    ..*arrival
                };
                !receiver.handle_data(&arrival).duplicate
            }
        }
    }

    /// Makes a report of arrivals due at the end of a frame, whose last packet arrived at `at`.
    pub(in crate::session) fn end_frame(&mut self, at: Instant) {
        match self {
            Self::Ccfb(arrivals) | Self::Twcc { arrivals, .. } => arrivals.end_frame(at),
            Self::Tfrc(..) | Self::Sack(_) | Self::Silent(_) | Self::App { .. } => {}
        }
    }

    /// Records the round-trip time of a sender report, which sets the time between reports where media states none.
    pub(in crate::session) fn handle_round_trip(&mut self, round_trip: Duration) {
        if let Self::App { rtt, .. } = self {
            *rtt = Some(round_trip);
        }
    }

    /// Replaces R, which was wrong, by `rtt`, and ends the time between two reports at `at`.
    pub(in crate::session) fn correct_round_trip(&mut self, at: Instant, rtt: Duration) {
        match self {
            Self::Tfrc(receiver, _) | Self::App { receiver, .. } => {
                receiver.correct_round_trip(at, rtt);
            }
            Self::Ccfb(arrivals) | Self::Twcc { arrivals, .. } => {
                arrivals.correct_round_trip(at, rtt);
            }
            Self::Sack(metered) => metered.correct_round_trip(at, rtt),
            Self::Silent(_) => {}
        }
    }

    /// Returns when the next report is due.
    pub(in crate::session) fn poll_timeout(&self) -> Option<Instant> {
        match self {
            Self::Tfrc(receiver, _) | Self::App { receiver, .. } => receiver.poll_timeout(),
            Self::Ccfb(arrivals) | Self::Twcc { arrivals, .. } => arrivals.poll_timeout(),
            Self::Sack(metered) => metered.arrivals().poll_timeout(),
            Self::Silent(_) => None,
        }
    }

    /// Returns how long a report waits for a packet with which to leave, if reports leave with packets.
    pub(in crate::session) fn leaves_with_a_packet(&self) -> Option<Duration> {
        match self {
            Self::Tfrc(..) | Self::App { .. } | Self::Silent(_) => None,
            Self::Ccfb(_) | Self::Twcc { .. } | Self::Sack(_) => {
                Some(self.round_trip_time().unwrap_or_default())
            }
        }
    }

    /// Returns the sender's round-trip time; if there is one, the sender has received a report.
    pub(in crate::session) fn round_trip_time(&self) -> Option<Duration> {
        match self {
            Self::Tfrc(receiver, _) => receiver.round_trip_time(),
            Self::App { rtt, .. } => *rtt,
            Self::Ccfb(arrivals) | Self::Twcc { arrivals, .. } => arrivals.round_trip_time(),
            Self::Sack(metered) => metered.arrivals().round_trip_time(),
            Self::Silent(_) => None,
        }
    }

    /// Returns the greatest length of the next report.
    pub(in crate::session) fn report_len(&self) -> usize {
        match self {
            Self::Tfrc(_, None) => TfrcFeedback::PACKET_LEN,
            Self::Tfrc(_, Some(_)) => TfrcFeedback::PACKET_LEN + TfrcFeedback::TRANSIT_LEN,
            Self::Ccfb(arrivals) => ccfb::packet_len(arrivals.next_span().count),
            Self::Twcc { arrivals, .. } => twcc::max_packet_len(arrivals.next_span().count),
            Self::Sack(metered) => sack::packet_len(metered.arrivals().next_span().count),
            Self::Silent(_) => 0,
            Self::App { .. } => TfrcApp::RECEPTION_LEN,
        }
    }

    /// Returns true if a report is valid only together with a reception report.
    pub(in crate::session) fn needs_reception_report(&self) -> bool {
        matches!(self, Self::App { .. })
    }

    /// Returns the report for a compound, due or not, if every compound carries one.
    pub(in crate::session) fn take_report(
        &mut self,
        now: Instant,
    ) -> Option<(DueReport, EventKind)> {
        match self {
            Self::App { receiver, .. } => receiver.take_report(now).as_ref().map(reception_report),
            _ => None,
        }
    }

    /// Returns the report that is due, if one is, and the event about it.
    pub(in crate::session) fn poll_report(
        &mut self,
        now: Instant,
    ) -> Option<(DueReport, EventKind)> {
        let (format, span, report) = match self {
            Self::Tfrc(receiver, transit) => {
                let report = receiver.poll_report(now)?;
                let mut feedback = TfrcFeedback::new(
                    report.timestamp,
                    report.delay,
                    report.receive_rate,
                    report.loss_event_rate,
                );
                feedback.transit = transit.as_mut().and_then(TransitMeter::take);
                let event = report_sent(FeedbackMode::Tfrc, &report);
                return Some((DueReport::Tfrc(feedback), event));
            }
            Self::App { receiver, .. } => {
                return receiver.poll_report(now).as_ref().map(reception_report);
            }
            Self::Ccfb(arrivals) => {
                let span = arrivals.poll_report(now)?;
                (FeedbackMode::Ccfb, span, DueReport::Arrivals(span, now))
            }
            Self::Twcc { arrivals, made } => {
                let span = arrivals.poll_report(now)?;
                *made = made.wrapping_add(1);
                (FeedbackMode::Twcc, span, DueReport::Arrivals(span, now))
            }
            Self::Silent(_) => return None,
            Self::Sack(metered) => {
                let (span, vector) = metered.poll_report(now)?;
                (FeedbackMode::Sack, span, DueReport::AckVector(span, vector))
            }
        };
        let event = EventKind::ArrivalsReported {
            format,
            packets: span.count,
        };
        Some((report, event))
    }

    /// Writes a report of [`Reporter::poll_report`].
    pub(in crate::session) fn write(
        &self,
        report: DueReport,
        to: &ReportAddress,
        buf: &mut [u8],
    ) -> Option<usize> {
        match (report, self) {
            (DueReport::Tfrc(feedback), _) => feedback.emit(to.format, to.ssrcs.0, to.ssrcs.1, buf),
            (DueReport::Arrivals(span, made_at), Self::Ccfb(arrivals)) => {
                let packets = arrivals
                    .arrivals_in(span)
                    .map(|packet| packet.map(|(at, ecn)| (to.wallclock.at(at), ecn)));
                let made_at = to.wallclock.at(made_at);
                ccfb::emit(to.ssrcs, span.first as u16, packets, made_at, buf)
            }
            (DueReport::Arrivals(span, _), Self::Twcc { arrivals, made }) => {
                let packets = arrivals
                    .arrivals_in(span)
                    .map(|packet| packet.map(|(at, _)| at));
                twcc::emit(to.ssrcs, span.first as u16, packets, *made, buf)
            }
            (DueReport::AckVector(span, vector), Self::Sack(metered)) => {
                sack::emit(to.ssrcs, &vector, span.count, metered.bits(span), buf)
            }
            (DueReport::Reception(ReceptionFigures(delay, rate, p)), _) => {
                let reception = Reception::new(to.ssrcs.1, delay, rate, p);
                TfrcApp::Reception(reception).emit(to.ssrcs.0, buf)
            }
            (DueReport::Arrivals(..) | DueReport::AckVector(..), _) => None,
        }
    }
}

fn report_sent(format: FeedbackMode, report: &tfrc::FeedbackPacket) -> EventKind {
    EventKind::ReportSent {
        format,
        receive_rate: report.receive_rate,
        loss_event_rate: report.loss_event_rate,
        delay: report.delay,
    }
}

fn reception_report(report: &tfrc::FeedbackPacket) -> (DueReport, EventKind) {
    let figures = ReceptionFigures(report.delay, report.receive_rate, report.loss_event_rate);
    (
        DueReport::Reception(figures),
        report_sent(FeedbackMode::App, report),
    )
}
