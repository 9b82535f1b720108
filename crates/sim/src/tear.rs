//! TEAR, TCP emulation at receivers (Rhee, Ozdemir and Yi, "TEAR: TCP Emulation at Receivers – Flow Control
//! for Multimedia Streaming", 2000; `thesis` §2.5.2).
//!
//! The receiver keeps the window that a TCP would have had for what arrives: it grows with every packet,
//! and is halved when three packets have come above a hole. A *round* is a window's worth of packets, and
//! takes a round trip whatever time they took. Between two losses lies an *epoch*, whose rate is its mean
//! window a round trip. The rate that the receiver tells the sender is the weighted average of the last
//! eight, so it has TCP's response in the long run and not its sawtooth.
//!
//! Written from what papers say of it; its own report is not to be had in the form of a specification. Of
//! its details the timeout is simplified (a hole that fewer than three packets of its window follow counts
//! as one), and late packets stay lost. Ours is that a sender without reports halves its rate.

mod window;

use crate::agent::{Agent, Packet};
use crate::body::Body;
use crate::tcp::Rto;
use evenkeel_rtp::packet::ext::RttSendTs;
use evenkeel_rtp::packet::rtcp::TfrcFeedback;
use tfrc::Ecn;
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, LossEventRate, Rate};
use window::Window;

/// The first gap, while no rate is known, and the first and the least timeout: RFC 6298's.
const SECOND: Duration = Duration::from_secs(1);
/// No gap is longer, so that a flow comes back when its path does.
const MAX_GAP: Duration = Duration::from_secs(60);
/// No gap is shorter, so that time goes on when a path has no delay.
const MIN_GAP: Duration = Duration::from_micros(1);
/// A sender that always has something to send. It has the packets and the reports of TFRC,
/// whose receive rate is the rate to send at.
#[derive(Clone, Debug)]
pub struct TearSender {
    packet_size: Bytes,
    start: Instant,
    stop: Instant,
    last_departure: Option<Instant>,
    gap: Duration,
    rto: Rto,
    /// When silence halves the rate.
    silence: Instant,
    next: u64,
}

impl TearSender {
    /// A sender of packets of `packet_size`, headers of all layers included, that starts and stops at
    /// these times.
    pub fn new(packet_size: Bytes, start: Instant, stop: Instant) -> Self {
        Self {
            packet_size,
            start,
            stop,
            last_departure: None,
            gap: SECOND,
            rto: Rto::new(SECOND, SECOND, Duration::ZERO),
            silence: start + 2 * SECOND,
            next: 0,
        }
    }

    /// The time from one packet to the next.
    pub fn gap(&self) -> Duration {
        self.gap
    }

    fn next_departure(&self) -> Instant {
        let after = |last| last + self.gap;
        self.last_departure.map_or(self.start, after)
    }

    fn handle_report(&mut self, now: Instant, report: &TfrcFeedback) {
        let age = (now.as_micros() as u32).wrapping_sub(report.timestamp);
        let since = Duration::from_micros(age.into()).saturating_sub(report.delay());
        self.rto.sample(now - since, now);
        if report.rate() > Rate::ZERO {
            let gap = self.packet_size / report.rate();
            self.gap = gap.clamp(MIN_GAP, MAX_GAP);
        }
        self.restart(now);
    }

    /// Four round trips, and time for two packets, as with TFRC.
    fn restart(&mut self, now: Instant) {
        let srtt = self.rto.srtt().unwrap_or(SECOND);
        self.silence = now + (4 * srtt).max(2 * self.gap);
    }
}

impl Agent for TearSender {
    type Body = Body;

    fn handle_packet(&mut self, now: Instant, packet: &Packet<Body>) {
        if let Body::TfrcReport(report) = packet.body
            && now < self.stop
        {
            self.handle_report(now, &report);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if now >= self.silence {
            self.gap = (2 * self.gap).min(MAX_GAP);
            self.restart(now);
        }
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<Body>> {
        if now >= self.stop || now < self.next_departure() {
            return None;
        }
        self.last_departure = Some(now);
        let sequence = self.next;
        self.next += 1;
        Some(Packet {
            size: self.packet_size,
            ecn: Ecn::NotEct,
            body: Body::TfrcData {
                sequence,
                ready: now,
                timing: RttSendTs::new(self.rto.srtt(), now.as_micros() as u32),
            },
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let next = self.next_departure().min(self.silence);
        (next < self.stop).then_some(next)
    }
}

/// The receiver of a flow: a report a round trip.
#[derive(Clone, Debug)]
pub struct TearReceiver {
    window: Window,
    packet_size: Bytes,
    report_size: Bytes,
    received: Bytes,
    rtt: Option<Duration>,
    /// The newest packet's send timestamp, and when it arrived.
    latest: Option<(u32, Instant)>,
    /// When a report is due; `None` while nothing came since the last.
    due: Option<Instant>,
    reported: Option<Instant>,
}

impl TearReceiver {
    /// A receiver whose reports have `report_size`, headers of all layers included.
    pub fn new(report_size: Bytes) -> Self {
        Self {
            window: Window::new(),
            packet_size: Bytes::ZERO,
            report_size,
            received: Bytes::ZERO,
            rtt: None,
            latest: None,
            due: None,
            reported: None,
        }
    }

    /// What has arrived, headers of all layers included.
    pub fn received(&self) -> Bytes {
        self.received
    }

    fn rate(&self) -> Rate {
        let rtt = self.rtt.unwrap_or(SECOND).max(MIN_GAP);
        self.packet_size / rtt * self.window.smoothed()
    }
}

impl Agent for TearReceiver {
    type Body = Body;

    fn handle_packet(&mut self, now: Instant, packet: &Packet<Body>) {
        let Body::TfrcData {
            sequence, timing, ..
        } = packet.body
        else {
            return;
        };
        self.received += packet.size;
        self.packet_size = packet.size;
        self.rtt = timing.rtt().or(self.rtt);
        self.latest = Some((timing.send_time, now));
        self.window.handle_data(sequence);
        let next = self.reported.zip(self.rtt).map(|(at, rtt)| at + rtt);
        self.due = self.due.or(Some(next.unwrap_or(now).max(now)));
    }

    fn handle_timeout(&mut self, _now: Instant) {}

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<Body>> {
        self.due.filter(|due| *due <= now)?;
        let (timestamp, arrived) = self.latest?;
        self.due = None;
        self.reported = Some(now);
        let report = TfrcFeedback::new(timestamp, now - arrived, self.rate(), LossEventRate::ZERO);
        Some(Packet {
            size: self.report_size,
            ecn: Ecn::NotEct,
            body: Body::TfrcReport(report),
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_halves_the_rate_until_the_longest_gap() {
        let mut sender = TearSender::new(Bytes::new(1_000), Instant::ZERO, Instant::MAX);
        for _ in 0..100 {
            let now = sender.poll_timeout().unwrap();
            sender.handle_timeout(now);
            while sender.poll_transmit(now).is_some() {}
        }
        assert_eq!(sender.gap(), MAX_GAP);
    }
}
