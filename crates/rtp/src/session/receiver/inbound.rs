//! The media of one source that arrives: its sequence, clock and jitter, and the reports about it.

use std::time::Duration;

use tfrc::seq::{Extender, ReceivedNumbers};
use tfrc::time::Instant;
use tfrc::units::Bytes;
use tfrc::{Arrival, Ecn};

use super::reporter::Reporter;
use super::sender_clock::{CLOCK_PATIENCE, Departure, SenderClock, runs_on};
use super::witness::Witnessed;
use crate::ntp::NtpTime;
use crate::packet::ext::RttSendTs;
use crate::packet::rtcp::FeedbackMode;
use crate::packet::rtcp::{ReportBlock, SenderReport};
use crate::packet::rtp::{RtpHeader, media_time};
use crate::session::config::ReceiveConfig;
use crate::session::peer::MEMBER_TIMEOUT;
use crate::session::statistics::Ignored;

/// A media packet of a source, as it arrived.
#[derive(Clone, Copy, Debug)]
pub(in crate::session) struct Packet {
    pub(in crate::session) header: RtpHeader,
    /// Its send time and the sender's round trip, if it has them.
    pub(in crate::session) timing: Option<RttSendTs>,
    /// The transport-wide number, where reports may name packets by it.
    pub(in crate::session) transport: Option<u16>,
    pub(in crate::session) arrival: Instant,
    pub(in crate::session) size: usize,
    pub(in crate::session) ecn: Ecn,
}

impl Packet {
    fn departure(&self) -> Option<Departure> {
        self.timing.map(|timing| Departure {
            send_time: timing.send_time,
            arrival: self.arrival,
        })
    }
}

/// The state of one source of media.
#[derive(Debug)]
pub(in crate::session) struct Inbound {
    ssrc: u32,
    clock_rate: u32,
    reporter: Reporter,
    reports_frames: bool,
    extender: Extender,
    seen: ReceivedNumbers,
    /// Extends the transport-wide numbers, if reports name packets by them.
    transport: Option<Extender>,
    /// The lowest extended sequence number.
    first: u64,
    received: u64,
    clock: SenderClock,
    /// The timestamps of media, with their arrivals.
    timestamps: Witnessed<(u32, Instant)>,
    /// The arrival of the last packet.
    arrived: Option<Instant>,
    /// The send time of the last packet, as far as it is believed.
    send_time: Option<u32>,
    /// R, which the sender states.
    rtt: Witnessed<Duration>,
    /// The relative transit time of the last packet, in ticks of the media clock (RFC 3550 §A.8).
    transit: Option<u32>,
    /// Sixteen times the jitter.
    jitter: u32,
    /// The packets expected and received when the last report block was made (RFC 3550 §A.3).
    prior: (u64, u64),
    last_report: Option<(SenderReport, Instant)>,
}

impl Inbound {
    /// Creates the state of a source. `is_numbered` says that its first packet has a transport-wide number: a
    /// sender that uses such numbers and wants reports of arrivals expects them in these numbers.
    pub(in crate::session) fn new(ssrc: u32, config: &ReceiveConfig, is_numbered: bool) -> Self {
        let feedback = match config.feedback {
            FeedbackMode::Ccfb if is_numbered => FeedbackMode::Twcc,
            feedback => feedback,
        };
        Self {
            ssrc,
            clock_rate: config.clock_rate,
            reporter: Reporter::new(feedback, config),
            reports_frames: config.report_frames,
            extender: Extender::new(),
            seen: ReceivedNumbers::default(),
            transport: is_numbered.then(Extender::new),
            first: u64::MAX,
            received: 0,
            clock: SenderClock::default(),
            timestamps: Witnessed::default(),
            arrived: None,
            send_time: None,
            rtt: Witnessed::default(),
            transit: None,
            jitter: 0,
            prior: (0, 0),
            last_report: None,
        }
    }

    /// Handles a packet, and returns its extended sequence number or the reason for which it is ignored.
    pub(in crate::session) fn handle_media(&mut self, packet: &Packet) -> Result<u64, Ignored> {
        if !self.is_timely(packet) {
            return Err(Ignored::TimestampJump);
        }
        let departure = self.believed_departure(packet)?;
        let highest = self.extender.highest();
        let sequence = self
            .extender
            .extend(packet.header.sequence)
            .ok_or(Ignored::SequenceJump)?;
        self.count(packet, departure, sequence)?;
        // TFRC counts transport-wide numbers where there are any; a new such number may still carry an old packet.
        if !self.seen.insert(sequence) {
            return Err(Ignored::Duplicate);
        }
        if self.reports_frames && packet.header.marker {
            self.reporter.end_frame(packet.arrival);
        }
        self.first = self.first.min(sequence);
        if let Some(highest) = highest.filter(|highest| Extender::is_jump(*highest, sequence)) {
            // The numbers between belong to no packets (RFC 3550 §A.1).
            self.first += sequence - highest - 1;
        }
        self.received += 1;
        self.update_jitter(packet);
        Ok(sequence)
    }

    /// Returns true if the media clock runs on, as it does from the second witness of a jump on. One timestamp far ahead
    /// would otherwise discard all frames before it. A packet may be late by any time.
    fn is_timely(&mut self, packet: &Packet) -> bool {
        let stated = (packet.header.timestamp, packet.arrival);
        let is_quiet =
            |(_, at): (u32, Instant)| packet.arrival.saturating_since(at) >= CLOCK_PATIENCE;
        if self.timestamps.believed().is_some_and(is_quiet) {
            self.timestamps = Witnessed::default();
        }
        let rate = i64::from(self.clock_rate.max(1));
        self.timestamps
            .observe(stated, |(before, then), (after, now)| {
                let ticks = i64::from(after.wrapping_sub(before).cast_signed());
                runs_on(ticks * 1_000_000 / rate, now.saturating_since(then))
            })
    }

    /// Handles a repair packet of the same sender, which counts for TFRC, or returns the reason to ignore it.
    pub(in crate::session) fn handle_repair(&mut self, packet: &Packet) -> Result<(), Ignored> {
        let departure = self.believed_departure(packet)?;
        if packet.transport.is_none() {
            return Err(Ignored::MissingExtension);
        }
        self.count(packet, departure, 0)
    }

    /// Counts a packet for TFRC, by its transport-wide number if it has one.
    fn count(
        &mut self,
        packet: &Packet,
        departure: Option<Departure>,
        sequence: u64,
    ) -> Result<(), Ignored> {
        // Where sender reports state R, media may be another's.
        if let Some(rtt) = packet.timing.and_then(|timing| timing.rtt())
            && !self.reporter.needs_reception_report()
        {
            self.handle_round_trip(packet.arrival, rtt);
        }
        let seq = match &mut self.transport {
            Some(transport) => {
                let number = packet.transport.ok_or(Ignored::MissingExtension)?;
                transport.extend(number).ok_or(Ignored::SequenceJump)?
            }
            None => sequence,
        };
        let is_new = self.reporter.handle_data(&Arrival {
            seq,
            at: packet.arrival,
            // Reports of arrivals do without it.
            timestamp: departure.map_or(0, |departure| departure.send_time),
            rtt: self.rtt.believed(),
            size: Bytes::from(packet.size),
            ecn: packet.ecn,
        });
        if !is_new {
            return Err(Ignored::Duplicate);
        }
        self.arrived = Some(packet.arrival);
        self.send_time = departure.map(|departure| departure.send_time);
        let Some(departure) = departure else {
            return Ok(());
        };
        self.clock.advance(departure);
        Ok(())
    }

    /// Records R as the sender states it.
    ///
    /// R moves by a tenth of a sample (RFC 5348 §4.3), so it may rise at once, which needs a second witness, and falls by a
    /// tenth a report. Where a packet states less than half, one of the two is false: the believed R falls as fast as a
    /// true one could, while each packet is reported.
    pub(in crate::session) fn handle_round_trip(&mut self, now: Instant, stated: Duration) {
        let before = self.rtt.believed();
        let falls = |from: Duration, to: Duration| to < from / 2;
        let least = before.filter(|before| falls(*before, stated));
        let rtt = least.map_or(stated, |before| before - before / 10);
        let is_near = |a: Duration, b: Duration| !falls(a, b) && !falls(b, a);
        if stated.is_zero() || !self.rtt.observe(rtt, is_near) {
            return;
        }
        self.reporter.handle_round_trip(rtt);
        if before.is_some_and(|before| falls(before, stated) || falls(rtt, before)) {
            self.reporter.correct_round_trip(now, rtt);
        }
    }

    /// Returns the send time of the last packet, as far as it is believed.
    pub(in crate::session) fn send_time(&self) -> Option<u32> {
        self.send_time
    }

    /// Returns the sender's round-trip time, once it stated one.
    pub(in crate::session) fn round_trip_time(&self) -> Option<Duration> {
        self.rtt.believed()
    }

    /// Returns the synchronisation source.
    pub(in crate::session) fn ssrc(&self) -> u32 {
        self.ssrc
    }

    /// Returns the reporter of this source.
    pub(in crate::session) fn reporter(&self) -> &Reporter {
        &self.reporter
    }

    /// Returns the reporter of this source, to take a report from it.
    pub(in crate::session) fn reporter_mut(&mut self) -> &mut Reporter {
        &mut self.reporter
    }

    /// Returns when a report leaves that is due at `due` and affordable from `ready` on.
    ///
    /// A report of arrivals that was held back leaves with the next packet, as it does without a budget
    /// ([`tfrc::sent_packets::Arrivals::poll_timeout`]), or alone a round trip later: a sender believes no other
    /// wait.
    pub(in crate::session) fn release(&self, due: Instant, ready: Instant) -> Instant {
        let Some(interval) = self.reporter.leaves_with_a_packet().filter(|_| ready > due) else {
            return due.max(ready);
        };
        self.arrived
            .filter(|arrived| *arrived >= ready)
            .unwrap_or(ready + interval)
    }

    /// Returns true if a sequence number is above all before.
    pub(in crate::session) fn is_ahead(&self, sequence: u16) -> bool {
        let highest = self.extender.highest();
        highest.is_some_and(|highest| sequence.wrapping_sub(highest as u16).cast_signed() > 0)
    }

    /// Returns the number of packets received, without duplicates.
    pub(in crate::session) fn received(&self) -> u64 {
        self.received
    }

    /// Returns the number of packets expected and not received so far (RFC 3550 §A.3).
    pub(in crate::session) fn lost(&self) -> u64 {
        self.expected().saturating_sub(self.received)
    }

    /// Handles a sender report. Returns false if it is not newer than the last one, unless that one is so old that
    /// the sender's wall clock must have been set back.
    pub(in crate::session) fn handle_sender_report(
        &mut self,
        report: SenderReport,
        arrival: Instant,
    ) -> bool {
        let is_newer = self.last_report.is_none_or(|(last, at)| {
            let ahead = report.ntp.to_bits().wrapping_sub(last.ntp.to_bits());
            ahead.cast_signed() > 0 || arrival.saturating_since(at) >= MEMBER_TIMEOUT
        });
        if is_newer {
            self.last_report = Some((report, arrival));
        }
        is_newer
    }

    /// Returns the wall-clock time of a media timestamp, by the last sender report.
    pub(in crate::session) fn wallclock_of(&self, timestamp: u32) -> Option<NtpTime> {
        let (report, _) = self.last_report?;
        let ticks = timestamp.wrapping_sub(report.timestamp).cast_signed();
        Some(report.ntp.offset(ticks.into(), self.clock_rate))
    }

    /// Returns the reception report for this source (RFC 3550 §6.4.1), and starts the next interval.
    pub(in crate::session) fn report_block(&mut self, now: Instant) -> ReportBlock {
        let expected = self.expected();
        let (expected_since, received_since) = (
            expected.saturating_sub(self.prior.0),
            self.received.saturating_sub(self.prior.1),
        );
        self.prior = (expected, self.received);
        let lost_since = expected_since.saturating_sub(received_since);
        let (last_sender_report, delay_since) =
            self.last_report.map_or((0, 0), |(report, arrival)| {
                let delay = now.saturating_since(arrival).as_nanos() * 65_536 / 1_000_000_000;
                (
                    report.ntp.middle(),
                    u32::try_from(delay).unwrap_or(u32::MAX),
                )
            });
        ReportBlock {
            ssrc: self.ssrc,
            fraction_lost: (lost_since * 256)
                .checked_div(expected_since)
                .map_or(0, |f| f.min(255) as u8),
            cumulative_lost: i32::try_from(self.lost()).unwrap_or(i32::MAX),
            highest_sequence: self.extender.highest().unwrap_or(0) as u32,
            jitter: self.jitter >> 4,
            last_sender_report,
            delay_since,
        }
    }

    fn expected(&self) -> u64 {
        match self.extender.highest() {
            Some(highest) if self.received > 0 => (highest + 1).saturating_sub(self.first),
            _ => 0,
        }
    }

    fn believed_departure(&mut self, packet: &Packet) -> Result<Option<Departure>, Ignored> {
        let departure = packet.departure();
        departure.map(|next| self.clock.believe(next)).transpose()
    }

    /// Updates the jitter by RFC 3550 §A.8, in integers.
    fn update_jitter(&mut self, packet: &Packet) {
        let arrival = media_time(packet.arrival, self.clock_rate);
        let transit = arrival.wrapping_sub(packet.header.timestamp);
        if let Some(last) = self.transit.replace(transit) {
            let difference = transit.wrapping_sub(last).cast_signed().unsigned_abs();
            let decay = (self.jitter + 8) >> 4;
            self.jitter = self
                .jitter
                .saturating_add(difference)
                .saturating_sub(decay)
                .min(u32::MAX - 8);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wall_clock_that_was_set_back_is_believed_after_a_silence() {
        let mut inbound = Inbound::new(1, &ReceiveConfig::new(26), false);
        let report = |seconds| SenderReport {
            ssrc: 1,
            ntp: NtpTime::from_unix(Duration::from_secs(seconds)),
            timestamp: 0,
            packets: 0,
            bytes: 0,
        };
        let start = Instant::from_secs(1);
        assert!(inbound.handle_sender_report(report(5_000), start));
        assert!(!inbound.handle_sender_report(report(5_000), start));
        let soon = start + Duration::from_secs(1);
        assert!(!inbound.handle_sender_report(report(1_000), soon));
        let later = start + MEMBER_TIMEOUT;
        assert!(inbound.handle_sender_report(report(1_000), later));
        assert!(inbound.handle_sender_report(report(1_001), later));
    }
}
