//! Tests of the sender: X after each report and after each timeout.

mod extremes;
mod missing_reports;
mod small_packets;

use super::*;
use crate::trace::Branch;
use std::vec;
use std::vec::Vec;

const RTT: Duration = Duration::from_millis(100);
const SIZE: Bytes = Bytes::new(1_460);

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn config() -> SenderConfig {
    SenderConfig {
        segment_size: SIZE,
        ..SenderConfig::default()
    }
}

/// Returns a report about a packet that was sent one round trip before `now`.
fn report(now: Instant, x_recv: f64, p: f64) -> Feedback {
    Feedback {
        sent_at: now - RTT,
        delay: Duration::ZERO,
        receive_rate: Rate::from_bytes_per_sec(x_recv),
        loss_event_rate: LossEventRate::new(p),
    }
}

fn trace_rate(trace: Trace) -> f64 {
    match trace {
        Trace::Feedback { allowed_rate, .. } | Trace::NoFeedback { allowed_rate, .. } => {
            allowed_rate.bytes_per_sec()
        }
    }
}

/// Returns a sender after its first report at 100 ms, which used up its permission.
fn started() -> Sender {
    let mut sender = Sender::new(Instant::ZERO, config());
    sender.handle_sent(Instant::ZERO, SIZE);
    sender.handle_feedback(at(100), &report(at(100), 0.0, 0.0));
    sender
}

/// Returns X after each of six reports of this p, a round trip apart, with X_recv at the rate that was sent.
fn rates(mut sender: Sender, p: f64) -> Vec<f64> {
    let mut received = 0.0;
    (1..=6u64)
        .map(|round| {
            saturate(&mut sender, (round - 1) * 100, round * 100);
            let now = at(round * 100);
            let rate = trace_rate(sender.handle_feedback(now, &report(now, received, p)));
            received = rate;
            rate
        })
        .collect()
}

#[test]
fn returning_sender_doubles_up_to_equation_rate() {
    let rates_of =
        |sender: fn(Instant, SenderConfig) -> Sender| rates(sender(Instant::ZERO, config()), 0.001);
    let (known, first) = (rates_of(Sender::returning), rates_of(Sender::new));
    let equation = equation::rate(SIZE, RTT, LossEventRate::new(0.001)).bytes_per_sec();
    let initial = 43_800.0;
    for (round, rate) in known.iter().enumerate() {
        let doubled = initial * f64::from(1u32 << round);
        assert!(
            (rate / doubled.min(equation) - 1.0).abs() < 1e-9,
            "{round}: {rate}"
        );
    }
    // RFC 5348 §4.3 leaves the limit to X_recv_set, which begins with infinity.
    assert!((first[1] / equation - 1.0).abs() < 1e-9);
}

/// Sends all permitted packets between `from` and `to`, in steps of a millisecond, so that permission is used up.
fn saturate(sender: &mut Sender, from: u64, to: u64) {
    for ms in from..to {
        while sender.next_departure(at(ms)) <= at(ms) {
            sender.handle_sent(at(ms), SIZE);
        }
    }
}

#[test]
fn early_round_trip_sets_the_initial_rate_only() {
    let mut sender = Sender::new(Instant::ZERO, config());
    sender.handle_sent(Instant::ZERO, SIZE);
    sender.handle_round_trip(at(200), Duration::from_millis(200));
    // W_init is 4,380 bytes (RFC 5348 §4.2).
    assert_eq!(sender.allowed_rate(), Rate::from_bytes_per_sec(21_900.0));
    sender.handle_round_trip(at(250), Duration::from_millis(1));
    assert_eq!(sender.rtt(), Some(Duration::from_millis(200)));
    // The first report measures R anew, and counts as the first for the other rules.
    sender.handle_feedback(at(300), &report(at(300), 0.0, 0.0));
    assert_eq!(sender.rtt(), Some(RTT));
    assert_eq!(sender.allowed_rate(), Rate::from_bytes_per_sec(43_800.0));
    sender.handle_round_trip(at(400), Duration::from_millis(1));
    assert_eq!(sender.rtt(), Some(RTT));
}

#[test]
fn first_report_gives_the_initial_window_per_rtt() {
    let sender = started();
    // min(4·1460, max(2·1460, 4380)) = 4380 bytes in 100 ms.
    assert!((sender.allowed_rate().bytes_per_sec() - 43_800.0).abs() < 1e-6);
    assert_eq!(sender.rtt(), Some(RTT));
    assert_eq!(sender.poll_timeout(), at(500));
}

#[test]
fn slow_start_doubles_within_twice_the_receive_rate() {
    let mut sender = started();
    saturate(&mut sender, 100, 200);
    assert!(
        (trace_rate(sender.handle_feedback(at(200), &report(at(200), 40_000.0, 0.0))) - 87_600.0)
            .abs()
            < 1e-6
    );
    saturate(&mut sender, 200, 250);
    // Too early to double again.
    assert!(
        (trace_rate(sender.handle_feedback(at(250), &report(at(250), 80_000.0, 0.0))) - 87_600.0)
            .abs()
            < 1e-6
    );
    saturate(&mut sender, 250, 401);
    // The initial infinity is two round trips old: 2·max(40000, 80000, 70000) binds.
    let rate = trace_rate(sender.handle_feedback(at(401), &report(at(401), 70_000.0, 0.0)));
    assert!((rate - 160_000.0).abs() < 1e-6, "{rate}");
}

#[test]
fn with_loss_the_equation_gives_the_rate() {
    let mut sender = started();
    saturate(&mut sender, 100, 200);
    let rate = trace_rate(sender.handle_feedback(at(200), &report(at(200), 90_000.0, 0.01)));
    let expected =
        equation::rate(sender.segment_size(), RTT, LossEventRate::new(0.01)).bytes_per_sec();
    assert_eq!(rate, expected);
    assert_eq!(sender.bound(), Bound::Equation);
}

#[test]
fn data_limited_sender_keeps_its_allowed_rate() {
    let mut sender = started();
    saturate(&mut sender, 100, 400);
    sender.handle_feedback(at(400), &report(at(400), 80_000.0, 0.001));
    // The sender sends a packet every round trip, far below the permission, for two seconds.
    for ms in (500..2_500).step_by(100) {
        sender.handle_sent(at(ms), SIZE);
        let trace = sender.handle_feedback(at(ms + 100), &report(at(ms + 100), 14_600.0, 0.001));
        if ms > 700 {
            assert!(
                matches!(
                    trace,
                    Trace::Feedback {
                        data_limited: true,
                        ..
                    }
                ),
                "{trace:?}"
            );
        }
    }
    assert!(
        sender.allowed_rate().bytes_per_sec() >= 160_000.0 - 1e-6,
        "{}",
        sender.allowed_rate()
    );
}

#[test]
fn loss_while_data_limited_halves_remembered_rates() {
    let mut sender = started();
    saturate(&mut sender, 100, 400);
    sender.handle_feedback(at(400), &report(at(400), 80_000.0, 0.000_1));
    for ms in (500..1_500).step_by(100) {
        sender.handle_sent(at(ms), SIZE);
        sender.handle_feedback(at(ms + 100), &report(at(ms + 100), 14_600.0, 0.000_1));
    }
    sender.handle_sent(at(1_600), SIZE);
    // The set {80000} is halved to 40000; recv_limit is its maximum, not twice that.
    let rate = trace_rate(sender.handle_feedback(at(1_700), &report(at(1_700), 14_600.0, 0.000_2)));
    assert!((rate - 40_000.0).abs() < 1e-6, "{rate}");
    assert_eq!(sender.bound(), Bound::ReceiveRate);
}

#[test]
fn first_report_with_loss_allows_the_initial_window() {
    for (p, bound) in [(1e-9, Bound::Initial), (0.5, Bound::Equation)] {
        let mut sender = Sender::new(Instant::ZERO, config());
        sender.handle_sent(Instant::ZERO, SIZE);
        sender.handle_feedback(at(100), &report(at(100), 0.0, p));
        assert!(sender.allowed_rate().bytes_per_sec() <= 43_800.0 + 1e-6);
        assert_eq!(sender.bound(), bound);
    }
}

#[test]
fn small_packets_do_not_lower_the_rate() {
    let mut sender = started();
    (0..5_000).for_each(|i| sender.handle_sent(at(100 + i), Bytes::new(50)));
    let rate = trace_rate(sender.handle_feedback(at(5_200), &report(at(5_200), 1e6, 0.01)));
    assert_eq!(
        rate,
        equation::rate(SIZE, RTT, LossEventRate::new(0.01)).bytes_per_sec()
    );
}

#[test]
fn longer_retransmission_timeout_lowers_the_equation_rate() {
    let rate = |retransmission_timeout| {
        let mut sender = Sender::new(
            Instant::ZERO,
            SenderConfig {
                retransmission_timeout,
                ..config()
            },
        );
        sender.handle_sent(Instant::ZERO, SIZE);
        sender.handle_feedback(at(100), &report(at(100), 0.0, 0.1));
        trace_rate(sender.handle_feedback(at(200), &report(at(200), 1e9, 0.1)))
    };
    let of = |timeout| {
        equation::rate_with_timeout(SIZE, RTT, timeout, LossEventRate::new(0.1)).bytes_per_sec()
    };
    let second = Duration::from_secs(1);
    assert_eq!(
        rate(RetransmissionTimeout::FourRoundTrips).round(),
        of(4 * RTT).round()
    );
    assert_eq!(rate(RetransmissionTimeout::AtLeastASecond), of(second));
    // SRTT + 4·RTTVAR is below a second.
    assert_eq!(rate(RetransmissionTimeout::Rfc6298), of(second));
}

#[test]
fn packets_leave_at_allowed_rate_without_oscillation_reduction() {
    for oscillation_reduction in [true, false] {
        let mut sender = Sender::new(
            Instant::ZERO,
            SenderConfig {
                oscillation_reduction,
                ..config()
            },
        );
        sender.handle_sent(Instant::ZERO, SIZE);
        sender.handle_feedback(at(100), &report(at(100), 0.0, 0.0));
        let slow = Feedback {
            sent_at: at(100),
            ..report(at(300), 40_000.0, 0.0)
        };
        sender.handle_feedback(at(300), &slow);
        let reduced = sender.instantaneous_rate() < sender.allowed_rate();
        assert_eq!(reduced, oscillation_reduction);
    }
}

#[test]
fn application_ceiling_bounds_x_until_it_ends() {
    let mut sender = started();
    let rate = sender.allowed_rate();
    sender.set_ceiling(rate / 2.0);
    assert_eq!(
        (sender.allowed_rate(), sender.bound()),
        (rate / 2.0, Bound::Application)
    );
    saturate(&mut sender, 100, 300);
    sender.handle_feedback(at(300), &report(at(300), 1e6, 0.0));
    assert_eq!(sender.allowed_rate(), rate / 2.0);
    sender.set_ceiling(Rate::INFINITY);
    sender.handle_feedback(at(500), &report(at(500), 1e6, 0.0));
    assert_eq!(sender.allowed_rate(), rate);
    // A ceiling of nothing still leaves a packet in 64 s.
    sender.set_ceiling(Rate::ZERO);
    assert!(sender.allowed_rate() > Rate::ZERO);
}
