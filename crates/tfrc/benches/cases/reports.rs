//! Sender-based TFRC: a receiver that only reports, and the sender that is told.

use std::time::Duration;

use super::cases::{IN_ORDER, SIZE, Traffic};
use tfrc::sent_packets::{
    Arrivals, MeteredArrivals, PacketStatus, ReportHeader, SentPacketTracker,
};
use tfrc::time::Instant;
use tfrc::{Arrival, Feedback};

/// Packets that a report may speak of.
pub(crate) const REPORT: usize = 400;

/// What a receiver keeps that only reports arrivals, or which packets came and X_recv, and a sender that is told them.
pub(crate) type Light = Arrivals<512>;
pub(crate) type Metered = MeteredArrivals<1_024>;
pub(crate) type Tracker = SentPacketTracker<8_192>;

/// What such a receiver does with a packet.
#[inline]
pub(crate) fn record(light: &mut Light, arrival: &Arrival) -> bool {
    light.handle_data(arrival)
}

/// What it then asks: how many packets the report speaks of that is due, if one is. One number fits into a
/// register, as all of the answer does where it is no benchmark that asks.
#[inline]
pub(crate) fn ask(light: &mut Light, now: Instant) -> usize {
    light.poll_report(now).map_or(0, |span| span.count)
}

/// The same of one that reports X_recv.
#[inline]
pub(crate) fn meter(metered: &mut Metered, arrival: &Arrival) -> bool {
    metered.handle_data(arrival)
}

#[inline]
pub(crate) fn ask_metered(metered: &mut Metered, now: Instant) -> usize {
    metered.poll_report(now).map_or(0, |(span, _)| span.count)
}

/// What such a sender does for a packet that it sends.
#[inline]
pub(crate) fn ingest(tracker: &mut Tracker, now: Instant) {
    tracker.handle_sent(now, SIZE, Some(IN_ORDER.rtt));
}

/// What it does with a report.
#[inline]
pub(crate) fn handle_report(
    tracker: &mut Tracker,
    (now, header, statuses): (Instant, &ReportHeader, &[PacketStatus]),
) -> Option<Feedback> {
    tracker.handle_report(now, header, statuses.iter().copied())
}

/// Returns the reports of a stream with their times of arrival. Each packet is in two reports.
pub(crate) fn arrival_reports(
    traffic: Traffic,
    count: u64,
) -> Vec<(Instant, ReportHeader, Vec<PacketStatus>)> {
    let mut light = Light::new(REPORT);
    let mut reports = Vec::new();
    for arrival in traffic.arrivals(count) {
        record(&mut light, &arrival);
        if let Some(span) = light.poll_report(arrival.at) {
            let header = ReportHeader {
                first: span.first as u16,
                made_at: arrival.at,
                resolution: Duration::from_nanos(1),
            };
            let statuses =
                (span.first..span.first + span.count as u64).map(|seq| light.status(seq));
            reports.push((arrival.at + traffic.rtt / 2, header, statuses.collect()));
        }
    }
    reports
}
