//! NADA's congestion signal (RFC 8698 §4.2 and §5.1): the receiver's side.

use super::loss_intervals::LossIntervals;
use crate::rate_controller::PacketReport;
use std::collections::VecDeque;
use tfrc::time::Instant;
use tfrc::units::{Bytes, Rate};

/// The parameters of RFC 8698 table 2 that the receiver's side uses, with their default values.
mod params {
    use tfrc::time::Duration;

    /// LOGWIN: observation window of packet statistics.
    pub(super) const WINDOW: Duration = Duration::from_millis(500);
    /// QEPS: threshold of a queueing delay build-up, in seconds.
    pub(super) const BUILD_UP: f64 = 0.010;
    /// MULTILOSS: multiplier of the average loss interval after which a loss expires.
    pub(super) const LOSS_EXPIRY: f64 = 7.0;
    /// QTH: threshold of the non-linear warping of the queueing delay, in seconds.
    pub(super) const WARPING_THRESHOLD: f64 = 0.050;
    /// LAMBDA: scaling parameter in the exponent of the warping.
    pub(super) const WARPING_EXPONENT: f64 = 0.5;
    /// PLRREF: reference packet loss ratio.
    pub(super) const REFERENCE_LOSS: f64 = 0.01;
    /// DLOSS: delay penalty of the reference packet loss ratio, in seconds.
    pub(super) const LOSS_PENALTY: f64 = 0.010;
    /// ALPHA: smoothing factor of the packet loss ratio.
    pub(super) const SMOOTHING: f64 = 0.1;
    /// §5.1.2: samples of the minimum filter of the queueing delay.
    pub(super) const MINIMUM_FILTER: usize = 15;
    /// §5.3: the largest signal that a feedback message carries, in seconds.
    pub(super) const MAX_SIGNAL: f64 = 3.2767;
}

/// What a feedback message of NADA says (§5.3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CongestionSignal {
    /// x_curr, in seconds.
    pub(super) delay: f64,
    /// rmode is 0: the sender may ramp up.
    pub(super) is_underused: bool,
    /// r_recv.
    pub(super) receive_rate: Rate,
}

/// A packet within the observation window.
#[derive(Clone, Copy, Debug)]
struct WindowEntry {
    arrival: Instant,
    size: Bytes,
    /// d_fwd in nanoseconds, with the difference of the two clocks in it; `None` out of order.
    transit: Option<i64>,
    /// Packets that are missing right before this one.
    missing: u64,
}

/// Statistics of the packets of one flow.
#[derive(Clone, Debug)]
pub(super) struct PathStatistics {
    /// d_base, in nanoseconds.
    base: Option<i64>,
    highest: Option<u64>,
    window: VecDeque<WindowEntry>,
    /// The newest transits.
    newest: VecDeque<i64>,
    loss_ratio: f64,
    intervals: LossIntervals,
}

impl PathStatistics {
    pub(super) const fn new() -> Self {
        Self {
            base: None,
            highest: None,
            window: VecDeque::new(),
            newest: VecDeque::new(),
            loss_ratio: 0.0,
            intervals: LossIntervals::new(),
        }
    }

    /// §4.2: "On receiving a media packet". Packets are handed over in the order of their arrival.
    pub(super) fn handle_arrival(&mut self, arrival: Instant, packet: &PacketReport) {
        let mut entry = WindowEntry {
            arrival,
            size: packet.size,
            transit: None,
            missing: 0,
        };
        let expected = self.highest.map_or(packet.sequence, |highest| highest + 1);
        // §5.1.2: an out-of-order packet counts as a loss, which it was already.
        if packet.sequence >= expected {
            self.highest = Some(packet.sequence);
            entry.missing = packet.sequence - expected;
            let transit = arrival.as_nanos() as i64 - packet.sent.as_nanos() as i64;
            entry.transit = Some(transit);
            self.base = self.base.min(Some(transit)).or(Some(transit));
            self.newest.push_front(transit);
            self.newest.truncate(params::MINIMUM_FILTER);
            if entry.missing > 0 {
                self.intervals.handle_loss();
            } else {
                self.intervals.handle_arrival();
            }
        }
        self.window.push_back(entry);
        self.expire(arrival);
        self.update_loss_ratio();
    }

    /// §4.2: "On time to send a new feedback report".
    pub(super) fn report(&mut self, now: Instant) -> CongestionSignal {
        self.expire(now);
        let bytes: Bytes = self.window.iter().map(|entry| entry.size).sum();
        CongestionSignal {
            delay: self.aggregate().min(params::MAX_SIGNAL),
            is_underused: self.is_underused(),
            receive_rate: bytes / params::WINDOW,
        }
    }

    fn expire(&mut self, now: Instant) {
        let is_old = |entry: &WindowEntry| now.saturating_since(entry.arrival) >= params::WINDOW;
        while self.window.front().is_some_and(is_old) {
            self.window.pop_front();
        }
    }

    /// Equation 10.
    fn update_loss_ratio(&mut self) {
        let missing = self.missing() as f64;
        let in_order = self.window.iter().filter(|entry| entry.transit.is_some());
        let sent = in_order.count() as f64 + missing;
        if sent > 0.0 {
            let instantaneous = missing / sent;
            self.loss_ratio += params::SMOOTHING * (instantaneous - self.loss_ratio);
        }
    }

    /// Packets that are missing within the window.
    fn missing(&self) -> u64 {
        self.window.iter().map(|entry| entry.missing).sum()
    }

    /// d_queue of one packet, in seconds.
    fn queueing(&self, transit: i64) -> f64 {
        let base = self.base.unwrap_or(transit);
        (transit - base) as f64 / 1e9
    }

    /// Equation 2, without marks.
    fn aggregate(&self) -> f64 {
        let filtered = self.newest.iter().min();
        let queueing = filtered.map_or(0.0, |transit| self.queueing(*transit));
        let penalty = self.loss_ratio / params::REFERENCE_LOSS;
        self.equivalent_delay(queueing) + params::LOSS_PENALTY * penalty * penalty
    }

    /// d_tilde while the last loss has not expired, d_queue after it, and in between during one loss_int.
    fn equivalent_delay(&self, queueing: f64) -> f64 {
        let Some(average) = self.intervals.average() else {
            return queueing;
        };
        let expired = self.intervals.current() - params::LOSS_EXPIRY * average;
        let share = (expired / average).clamp(0.0, 1.0);
        share * queueing + (1.0 - share) * warped(queueing)
    }

    /// The criteria of the accelerated ramp-up at the end of §4.2.
    fn is_underused(&self) -> bool {
        let transits = self.window.iter().filter_map(|entry| entry.transit);
        let mut queueing = transits.map(|transit| self.queueing(transit));
        self.missing() == 0 && queueing.all(|delay| delay < params::BUILD_UP)
    }
}

/// Equation 1.
fn warped(queueing: f64) -> f64 {
    let threshold = params::WARPING_THRESHOLD;
    if queueing < threshold {
        return queueing;
    }
    let excess = (queueing - threshold) / threshold;
    threshold * libm::exp(-params::WARPING_EXPONENT * excess)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfrc::time::Duration;

    /// Packet `sequence` of 1,000 bytes leaves every 10 ms; it arrives `transit` later.
    fn arrive(statistics: &mut PathStatistics, sequence: u64, transit: u64) -> Instant {
        let sent = Instant::from_millis(10 * sequence);
        let arrival = sent + Duration::from_millis(transit);
        let packet = PacketReport {
            sequence,
            size: Bytes::new(1_000),
            sent,
            arrival: Some(arrival),
        };
        statistics.handle_arrival(arrival, &packet);
        arrival
    }

    fn arrive_all(statistics: &mut PathStatistics, packets: std::ops::Range<u64>, transit: u64) {
        packets.for_each(|sequence| {
            arrive(statistics, sequence, transit);
        });
    }

    #[track_caller]
    fn assert_near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-9, "{value}, not {expected}");
    }

    #[test]
    fn warping_follows_equation_1() {
        assert_eq!(warped(0.049), 0.049);
        assert_eq!(warped(0.050), 0.050);
        // 50 ms * exp(-0.5), and 50 ms * exp(-2.5).
        assert_near(warped(0.100), 0.030_326_532_986);
        assert_near(warped(0.300), 0.004_104_249_931);
    }

    #[test]
    fn delay_alone_is_the_least_of_15_packets() {
        let mut statistics = PathStatistics::new();
        arrive_all(&mut statistics, 0..1, 20);
        arrive_all(&mut statistics, 1..15, 80);
        let report = |statistics: &mut PathStatistics| statistics.report(Instant::from_millis(231));
        assert_eq!(report(&mut statistics).delay, 0.0);
        arrive(&mut statistics, 15, 90);
        let signal = report(&mut statistics);
        assert_near(signal.delay, 0.060);
        assert!(!signal.is_underused);
        // 16 packets of 8,000 bits in 500 ms.
        assert_near(signal.receive_rate.bits_per_sec(), 256e3);
    }

    #[test]
    fn link_is_underused_without_build_up_or_loss() {
        let mut statistics = PathStatistics::new();
        arrive_all(&mut statistics, 0..10, 20);
        let newest = arrive(&mut statistics, 10, 29);
        assert!(statistics.report(newest).is_underused);
        let newest = arrive(&mut statistics, 11, 30);
        assert!(!statistics.report(newest).is_underused);
        // Half a second later neither is remembered.
        arrive_all(&mut statistics, 12..62, 20);
        let newest = arrive(&mut statistics, 63, 20);
        assert!(!statistics.report(newest).is_underused);
        arrive_all(&mut statistics, 64..113, 20);
        let newest = arrive(&mut statistics, 113, 20);
        assert!(statistics.report(newest).is_underused);
    }

    #[test]
    fn losses_count_as_equations_2_and_10_say() {
        let mut statistics = PathStatistics::new();
        arrive_all(&mut statistics, 0..8, 20);
        let newest = arrive(&mut statistics, 9, 20);
        // p_inst = 1/10, p_loss = 0.1 * 0.1, and 10 ms at the reference of 1 %.
        assert_near(statistics.loss_ratio, 0.01);
        assert_near(statistics.report(newest).delay, 0.010);
        // p_inst = 1/11: p_loss = 0.1 / 11 + 0.9 * 0.01.
        arrive(&mut statistics, 10, 20);
        assert_near(statistics.loss_ratio, 0.1 / 11.0 + 0.009);
    }

    #[test]
    fn late_packets_are_losses() {
        let mut statistics = PathStatistics::new();
        arrive_all(&mut statistics, 0..8, 20);
        arrive(&mut statistics, 9, 20);
        let newest = arrive(&mut statistics, 8, 35);
        let signal = statistics.report(newest);
        assert!(!signal.is_underused);
        assert_eq!(statistics.missing(), 1);
        // Its bytes count: ten packets of 8,000 bits.
        assert_near(signal.receive_rate.bits_per_sec(), 160e3);
    }

    #[test]
    fn warping_lasts_seven_loss_intervals() {
        let mut statistics = PathStatistics::new();
        arrive_all(&mut statistics, 0..10, 20);
        let mut after = |packets: std::ops::Range<u64>| {
            arrive_all(&mut statistics, packets, 120);
            statistics.equivalent_delay(0.1)
        };
        // loss_int is 10 packets: the loss expires between 70 and 80 packets after it.
        assert_eq!(after(11..81), warped(0.1));
        assert_near(after(81..86), f64::midpoint(warped(0.1), 0.1));
        assert_eq!(after(86..91), 0.1);
    }
}
