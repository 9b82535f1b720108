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

use crate::agent::{Agent, Packet};
use crate::body::Body;
use crate::tcp::{DUP_THRESH, Rto};
use evenkeel_rtp::packet::ext::RttSendTs;
use evenkeel_rtp::packet::rtcp::TfrcFeedback;
use tfrc::Ecn;
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, LossEventRate, Rate};

/// The first gap, while no rate is known, and the first and the least timeout: RFC 6298's.
const SECOND: Duration = Duration::from_secs(1);
/// No gap is longer, so that a flow comes back when its path does.
const MAX_GAP: Duration = Duration::from_secs(60);
/// No gap is shorter, so that time goes on when a path has no delay.
const MIN_GAP: Duration = Duration::from_micros(1);
/// Of epochs, the newest first: TFRC's of loss intervals, with which the paper compares its own.
const WEIGHTS: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];
/// The window never grows beyond this: 65,535 packets, as sequence numbers of 16 bits would have it.
const MAX_WINDOW: f64 = 65_535.0;

/// A sender that always has something to send. Its packets are those of TFRC, and so are its reports,
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

/// Windows of an epoch.
#[derive(Clone, Copy, Debug, Default)]
struct Epoch {
    sum: f64,
    rounds: f64,
}

impl Epoch {
    fn mean(self) -> f64 {
        self.sum / self.rounds
    }
}

/// A hole in the sequence, and whether a TCP would have seen it by duplicate acknowledgements.
#[derive(Clone, Copy, Debug)]
struct Hole {
    /// From here on packets are of a window that was sent after the loss was known.
    recover: u64,
    /// Packets that came above it.
    above: u64,
}

/// The window of a TCP that received what this receives.
#[derive(Clone, Debug)]
struct Window {
    size: f64,
    threshold: f64,
    /// Arrivals until the round is over.
    left: f64,
    epoch: Epoch,
    /// The newest first; no rounds where there are none yet.
    closed: [Epoch; WEIGHTS.len()],
    /// One more than the highest packet.
    next: u64,
    hole: Option<Hole>,
}

impl Window {
    fn new() -> Self {
        Self {
            size: 1.0,
            threshold: MAX_WINDOW,
            left: 1.0,
            epoch: Epoch::default(),
            closed: [Epoch::default(); WEIGHTS.len()],
            next: 0,
            hole: None,
        }
    }

    fn handle_data(&mut self, sequence: u64) {
        let Some(missing) = sequence.checked_sub(self.next) else {
            return;
        };
        let expected = self.next;
        self.next = sequence + 1;
        if let Some(mut hole) = self.hole {
            if sequence >= hole.recover {
                self.hole = None;
                if hole.above < DUP_THRESH {
                    // Too few to tell a TCP of the loss.
                    self.lose(1.0);
                }
            } else {
                hole.above += 1;
                if hole.above == DUP_THRESH {
                    self.lose(self.size / 2.0);
                }
                self.hole = Some(hole);
            }
        }
        if missing > 0 && self.hole.is_none() {
            self.hole = Some(Hole {
                recover: expected + self.size.max(1.0) as u64,
                above: 1,
            });
        }
        if self.hole.is_none() {
            self.grow();
        }
        self.left -= 1.0;
        if self.left <= 0.0 {
            self.epoch.sum += self.size;
            self.epoch.rounds += 1.0;
            self.left = self.size.max(1.0);
        }
    }

    fn grow(&mut self) {
        let step = if self.size < self.threshold {
            1.0
        } else {
            1.0 / self.size
        };
        self.size = (self.size + step).min(MAX_WINDOW);
    }

    /// An epoch ends.
    fn lose(&mut self, left: f64) {
        self.threshold = (self.size / 2.0).max(2.0);
        self.size = left.max(1.0);
        self.left = self.left.min(self.size);
        let epoch = std::mem::take(&mut self.epoch);
        if epoch.rounds > 0.0 {
            self.closed.rotate_right(1);
            self.closed[0] = epoch;
        }
    }

    /// Packets a round trip. The epoch that is not over counts if it raises the average.
    fn smoothed(&self) -> f64 {
        let known = self.closed.iter().filter(|epoch| epoch.rounds > 0.0);
        let closed: Vec<f64> = known.map(|epoch| epoch.mean()).collect();
        if closed.is_empty() {
            return self.size;
        }
        let past = weighted(closed.iter().copied());
        if self.epoch.rounds > 0.0 {
            let with = std::iter::once(self.epoch.mean()).chain(closed.iter().copied());
            past.max(weighted(with))
        } else {
            past
        }
    }
}

fn weighted(means: impl Iterator<Item = f64>) -> f64 {
    let pairs = means.zip(WEIGHTS);
    let (sum, weights) = pairs.fold((0.0, 0.0), |(sum, weights), (mean, weight)| {
        (sum + mean * weight, weights + weight)
    });
    sum / weights
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

    /// A window of 16 packets in congestion avoidance, all up to here received.
    fn window() -> Window {
        Window {
            size: 16.0,
            threshold: 8.0,
            left: 16.0,
            next: 100,
            ..Window::new()
        }
    }

    #[test]
    fn a_round_of_packets_adds_one_to_the_window() {
        let mut window = window();
        (100..116).for_each(|sequence| window.handle_data(sequence));
        assert!((window.size - 17.0).abs() < 0.05, "{}", window.size);
        assert_eq!(window.epoch.rounds, 1.0);
    }

    #[test]
    fn three_packets_above_a_hole_halve_the_window_once_for_all_of_it() {
        let mut window = window();
        for sequence in [101, 102] {
            window.handle_data(sequence);
        }
        assert_eq!(window.size, 16.0);
        for sequence in [103, 105, 106, 110] {
            window.handle_data(sequence);
        }
        assert_eq!((window.size, window.threshold), (8.0, 8.0));
    }

    #[test]
    fn a_window_lost_whole_is_a_timeout() {
        let mut window = window();
        window.handle_data(101);
        window.handle_data(120);
        assert!(window.size < 2.5, "{}", window.size);
        assert_eq!(window.threshold, 8.0);
    }

    #[test]
    fn the_rate_averages_epochs_and_an_open_one_can_only_raise_it() {
        let mut window = window();
        let epoch = |mean: f64| Epoch {
            sum: 2.0 * mean,
            rounds: 2.0,
        };
        window.closed[..2].copy_from_slice(&[epoch(10.0), epoch(14.0)]);
        assert_eq!(window.smoothed(), 12.0);
        window.epoch = epoch(6.0);
        assert_eq!(window.smoothed(), 12.0);
        window.epoch = epoch(18.0);
        assert_eq!(window.smoothed(), 14.0);
    }

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
