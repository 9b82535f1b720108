//! Adapts X to a report, or to its absence, as RFC 3448 does.
//!
//! There is no initial window, no X_recv_set and no data-limited interval. X_recv is the last one reported, and
//! twice that rate always limits X.

use core::time::Duration;

use super::Sender;
use crate::time::Instant;
use crate::trace::{Bound, Branch};
use crate::units::Rate;

impl Sender {
    /// Adapts X to a report (§4.3 step 4). tld begins at −1, so that the first report may double X at once: the
    /// result is one packet a round trip, since X_recv is then zero.
    pub(super) fn adapt_rfc3448(&mut self, now: Instant, first: bool) {
        self.receive_rates.replace(self.received(), now);
        if !self.p.is_zero() {
            self.follow_equation(self.received() * 2.0);
        } else if first || now.nanos_since(self.doubled) >= self.round_trip() {
            self.slow_start(self.received() * 2.0, self.packet_per_round_trip());
            self.doubled = now;
        }
    }

    /// Adapts X to an expired nofeedback timer (§4.4). Without loss X itself is halved, which the text omits
    /// (erratum 1458). The rule that X_recv of an idle sender is not halved below four packets a round trip then
    /// applies to X as well.
    pub(super) fn expire_rfc3448(&mut self, now: Instant) -> Branch {
        if self.rtt.smoothed().is_none() {
            self.set_rate(self.allowed / 2.0, Bound::Unknown);
            return Branch::BeforeFirstReport;
        }
        let receive_rate = self.receive_rates.max();
        let four = self.packet_per_round_trip() * 4.0;
        let slow = receive_rate < four || (self.p.is_zero() && self.allowed < four);
        if !self.sent_since_timer && slow {
            return Branch::Idle;
        }
        if self.p.is_zero() {
            self.set_rate(self.allowed / 2.0, Bound::SlowStart);
            return Branch::WithoutLoss;
        }
        let equation = self.equation_rate();
        let (receive_rate, branch) = if equation > receive_rate * 2.0 {
            let halved = (receive_rate / 2.0).max(self.floor / 2.0);
            (halved, Branch::ReceiveRateHalved)
        } else {
            (equation / 4.0, Branch::EquationHalved)
        };
        self.receive_rates.replace(receive_rate, now);
        self.follow_equation(receive_rate * 2.0);
        branch
    }

    /// Returns s / R.
    pub(super) fn packet_per_round_trip(&self) -> Rate {
        self.segment_size() / Duration::from(self.round_trip())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Trace;
    use crate::units::{Bytes, LossEventRate};
    use crate::{Feedback, SenderConfig, Standard, equation};

    const RTT: Duration = Duration::from_millis(100);
    const SIZE: Bytes = Bytes::new(1_000);

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn sender() -> Sender {
        Sender::new(
            Instant::ZERO,
            SenderConfig {
                segment_size: SIZE,
                standard: Standard::Rfc3448,
                ..SenderConfig::default()
            },
        )
    }

    /// Sends a packet, handles a report about a packet that left a round trip ago, and returns X.
    fn report(sender: &mut Sender, ms: u64, x_recv: f64, p: f64) -> f64 {
        sender.handle_sent(at(ms), SIZE);
        sender.handle_feedback(
            at(ms),
            &Feedback {
                sent_at: at(ms) - RTT,
                delay: Duration::ZERO,
                receive_rate: Rate::from_bytes_per_sec(x_recv),
                loss_event_rate: LossEventRate::new(p),
            },
        );
        sender.allowed_rate().bytes_per_sec()
    }

    fn expire(sender: &mut Sender) -> (Branch, f64) {
        let now = sender.poll_timeout();
        match sender.handle_timeout(now) {
            Some(Trace::NoFeedback {
                branch,
                allowed_rate,
                ..
            }) => (branch, allowed_rate.bytes_per_sec()),
            other => panic!("{other:?}"),
        }
    }

    fn close(value: f64, expected: f64) {
        assert!(
            (value / expected - 1.0).abs() < 1e-9,
            "{value} is not {expected}"
        );
    }

    #[test]
    fn the_first_report_gives_a_packet_a_round_trip_and_slow_start_doubles_it() {
        let mut sender = sender();
        close(report(&mut sender, 100, 0.0, 0.0), 10_000.0);
        close(report(&mut sender, 200, 10_000.0, 0.0), 20_000.0);
        // The report at 250 ms is too early to double X; then 2·X_recv limits X, then s/R.
        close(report(&mut sender, 250, 20_000.0, 0.0), 20_000.0);
        close(report(&mut sender, 300, 15_000.0, 0.0), 30_000.0);
        close(report(&mut sender, 400, 1_000.0, 0.0), 10_000.0);
    }

    #[test]
    fn twice_the_last_receive_rate_limits_the_equation_even_of_an_idle_sender() {
        let mut sender = sender();
        report(&mut sender, 100, 0.0, 0.0);
        let x = equation::rate(SIZE, RTT, LossEventRate::new(0.01)).bytes_per_sec();
        close(report(&mut sender, 200, x, 0.01), x);
        close(report(&mut sender, 300, x / 4.0, 0.01), x / 2.0);
        // RFC 5348 would remember the earlier rate, and would take this sender for data-limited.
        close(report(&mut sender, 310, x / 8.0, 0.01), x / 4.0);
    }

    #[test]
    fn without_reports_what_held_the_rate_is_halved() {
        let mut sender = sender();
        report(&mut sender, 100, 0.0, 0.0);
        let x = equation::rate(SIZE, RTT, LossEventRate::new(0.01)).bytes_per_sec();
        report(&mut sender, 200, x, 0.01);
        // X_calc < 2·X_recv: X_recv becomes X_calc/4, and the next expiry halves it.
        let (branch, rate) = expire(&mut sender);
        assert_eq!(branch, Branch::EquationHalved);
        close(rate, x / 2.0);
        sender.handle_sent(sender.poll_timeout(), SIZE);
        let (branch, rate) = expire(&mut sender);
        assert_eq!(branch, Branch::ReceiveRateHalved);
        close(rate, x / 4.0);
    }

    #[test]
    fn without_loss_and_reports_the_rate_halves_down_to_a_packet_in_64_seconds() {
        let mut sender = sender();
        report(&mut sender, 100, 0.0, 0.0);
        report(&mut sender, 200, 10_000.0, 0.0);
        for expected in [10_000.0, 5_000.0, 2_500.0] {
            sender.handle_sent(sender.poll_timeout(), SIZE);
            assert_eq!(expire(&mut sender), (Branch::WithoutLoss, expected));
        }
        for _ in 0..20 {
            sender.handle_sent(sender.poll_timeout(), SIZE);
            expire(&mut sender);
        }
        close(sender.allowed_rate().bytes_per_sec(), 1_000.0 / 64.0);
    }

    #[test]
    fn an_idle_sender_keeps_two_packets_a_round_trip() {
        for p in [0.0, 0.01] {
            let mut sender = sender();
            report(&mut sender, 100, 0.0, 0.0);
            (2..8).for_each(|i| {
                report(&mut sender, i * 100, 100_000.0, p);
            });
            // The running timer counts the packets before it; later timers find an idle sender.
            (0..20).for_each(|_| {
                expire(&mut sender);
            });
            let packets = sender.allowed_rate().bytes_per_sec() / 10_000.0;
            assert!((2.0..8.0).contains(&packets), "{packets}");
        }
    }
}
