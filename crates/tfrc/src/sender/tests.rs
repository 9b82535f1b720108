//! Tests of the sender: X after each report and after each timeout.

use super::*;
use crate::trace::Branch;
use proptest::prelude::*;
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

/// A report about a packet sent one round trip before `now`.
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

/// A sender past its first report at 100 ms, which used all its permission.
fn started() -> Sender {
    let mut sender = Sender::new(Instant::ZERO, config());
    sender.handle_sent(Instant::ZERO, SIZE);
    sender.handle_feedback(at(100), &report(at(100), 0.0, 0.0));
    sender
}

/// X after each of six reports of this p, a round trip apart, at the rate that was sent.
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
fn a_sender_that_knows_p_from_before_doubles_its_rate_up_to_it() {
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
    // RFC 5348 §4.3 leaves it to X_recv_set, which begins with infinity.
    assert!((first[1] / equation - 1.0).abs() < 1e-9);
}

/// Sends whatever may leave from `from` to `to`, a step a millisecond, so that permission is used up.
fn saturate(sender: &mut Sender, from: u64, to: u64) {
    for ms in from..to {
        while sender.next_departure(at(ms)) <= at(ms) {
            sender.handle_sent(at(ms), SIZE);
        }
    }
}

/// The thesis's checks 21 to 23: departures and halvings with a receiver that never answers.
#[test]
fn without_any_report_the_rate_halves_down_to_a_packet_in_64_seconds() {
    let mut sender = Sender::new(Instant::ZERO, config());
    let (mut now, mut departures, mut halvings) = (Instant::ZERO, Vec::new(), Vec::new());
    while now < Instant::from_secs(260) {
        // Where both fall together the packet leaves first: it was due before the timer ran out.
        if sender.next_departure(now) <= now {
            departures.push(now.as_nanos() / 1_000_000_000);
            sender.handle_sent(now, SIZE);
        }
        if sender.handle_timeout(now).is_some() {
            halvings.push(now.as_nanos() / 1_000_000_000);
        }
        now = sender
            .next_departure(now)
            .min(sender.poll_timeout())
            .max(now + Duration::from_nanos(1));
    }
    assert_eq!(halvings[..6], [2, 6, 14, 30, 62, 126]);
    assert_eq!(
        departures,
        [0, 1, 2, 4, 6, 10, 14, 22, 30, 46, 62, 94, 126, 190, 254]
    );
    assert!((sender.allowed_rate().bytes_per_sec() - 1_460.0 / 64.0).abs() < 1e-9);
}

#[test]
fn a_round_trip_known_before_the_first_report_sets_the_initial_rate_and_no_more() {
    let mut sender = Sender::new(Instant::ZERO, config());
    sender.handle_sent(Instant::ZERO, SIZE);
    sender.handle_round_trip(at(200), Duration::from_millis(200));
    // W_init is 4,380 bytes (RFC 5348 §4.2).
    assert_eq!(sender.allowed_rate(), Rate::from_bytes_per_sec(21_900.0));
    sender.handle_round_trip(at(250), Duration::from_millis(1));
    assert_eq!(sender.rtt(), Some(Duration::from_millis(200)));
    // The first report measures anew, and is the first to the rest of the rules.
    sender.handle_feedback(at(300), &report(at(300), 0.0, 0.0));
    assert_eq!(sender.rtt(), Some(RTT));
    assert_eq!(sender.allowed_rate(), Rate::from_bytes_per_sec(43_800.0));
    sender.handle_round_trip(at(400), Duration::from_millis(1));
    assert_eq!(sender.rtt(), Some(RTT));
}

/// W_init / R is then less than s/t_mbi. Found by the fuzz target `rate_control`.
#[test]
fn a_first_report_after_minutes_leaves_a_packet_in_64_seconds() {
    let mut sender = Sender::new(Instant::ZERO, config());
    sender.handle_sent(Instant::ZERO, SIZE);
    sender.handle_feedback(
        at(600_000),
        &Feedback {
            sent_at: Instant::ZERO,
            ..report(at(600_000), 0.0, 0.0)
        },
    );
    assert_eq!(
        sender.allowed_rate(),
        Rate::from_bytes_per_sec(1_460.0 / 64.0)
    );
    assert_eq!(sender.bound(), Bound::Floor);
}

/// The queue that a very long round trip spoke of is gone with a very short one, and √R_sample with it.
/// Found by the fuzz target `rate_control`.
#[test]
fn a_round_trip_that_collapses_leaves_a_bounded_rate_of_departures() {
    let mut sender = Sender::new(Instant::ZERO, config());
    let (long, short) = (Duration::from_secs(1_000), Duration::from_micros(1));
    let mut now = Instant::ZERO;
    for round_trip in [vec![long; 40], vec![short]].concat() {
        now += long;
        let feedback = Feedback {
            sent_at: now - round_trip,
            ..report(now, 1e15, 0.0)
        };
        sender.handle_feedback(now, &feedback);
    }
    assert!(sender.instantaneous_rate() <= MAX_RATE);
}

#[test]
fn the_first_report_gives_the_initial_window_over_the_round_trip() {
    let sender = started();
    // min(4·1460, max(2·1460, 4380)) = 4380 bytes in 100 ms.
    assert!((sender.allowed_rate().bytes_per_sec() - 43_800.0).abs() < 1e-6);
    assert_eq!(sender.rtt(), Some(RTT));
    assert_eq!(sender.poll_timeout(), at(500));
}

#[test]
fn slow_start_doubles_once_a_round_trip_within_twice_the_receive_rate() {
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
fn a_data_limited_sender_is_not_held_to_what_it_sent() {
    let mut sender = started();
    saturate(&mut sender, 100, 400);
    sender.handle_feedback(at(400), &report(at(400), 80_000.0, 0.001));
    // A packet every round trip, far below what is allowed, for two seconds.
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
fn a_loss_while_data_limited_takes_the_remembered_rate_down() {
    let mut sender = started();
    saturate(&mut sender, 100, 400);
    sender.handle_feedback(at(400), &report(at(400), 80_000.0, 0.000_1));
    for ms in (500..1_500).step_by(100) {
        sender.handle_sent(at(ms), SIZE);
        sender.handle_feedback(at(ms + 100), &report(at(ms + 100), 14_600.0, 0.000_1));
    }
    sender.handle_sent(at(1_600), SIZE);
    // Set {80000} halves to 40000; recv_limit is its maximum, not twice that.
    let rate = trace_rate(sender.handle_feedback(at(1_700), &report(at(1_700), 14_600.0, 0.000_2)));
    assert!((rate - 40_000.0).abs() < 1e-6, "{rate}");
    assert_eq!(sender.bound(), Bound::ReceiveRate);
}

#[test]
fn an_idle_sender_keeps_the_recover_rate() {
    let mut sender = started();
    let before = sender.allowed_rate();
    let trace = sender.handle_timeout(at(500)).unwrap();
    assert!(matches!(
        trace,
        Trace::NoFeedback {
            branch: Branch::Idle,
            ..
        }
    ));
    assert_eq!(sender.allowed_rate(), before);
}

#[test]
fn without_loss_a_missing_report_halves_the_rate() {
    let mut sender = started();
    sender.handle_sent(at(100), SIZE);
    let before = sender.allowed_rate();
    let trace = sender.handle_timeout(at(500)).unwrap();
    assert!(matches!(
        trace,
        Trace::NoFeedback {
            branch: Branch::WithoutLoss,
            ..
        }
    ));
    assert_eq!(sender.allowed_rate(), before / 2.0);
    assert_eq!(sender.handle_timeout(at(501)), None);
}

#[test]
fn with_loss_a_missing_report_halves_what_held_the_rate() {
    let mut sender = started();
    saturate(&mut sender, 100, 400);
    sender.handle_feedback(at(400), &report(at(400), 1e6, 0.01));
    let equation = sender.allowed_rate();
    assert_eq!(sender.bound(), Bound::Equation);
    sender.handle_sent(at(400), SIZE);
    let trace = sender.handle_timeout(at(800)).unwrap();
    assert!(matches!(
        trace,
        Trace::NoFeedback {
            branch: Branch::EquationHalved,
            ..
        }
    ));
    assert!((sender.allowed_rate() / equation - 0.5).abs() < 1e-9);
    sender.handle_sent(at(800), SIZE);
    let trace = sender.handle_timeout(at(1_200)).unwrap();
    assert!(matches!(
        trace,
        Trace::NoFeedback {
            branch: Branch::ReceiveRateHalved,
            ..
        }
    ));
    assert!((sender.allowed_rate() / equation - 0.25).abs() < 1e-9);
}

#[test]
fn after_a_blackout_the_rate_doubles_back() {
    let mut sender = started();
    saturate(&mut sender, 100, 400);
    sender.handle_feedback(at(400), &report(at(400), 200_000.0, 0.001));
    let before = sender.allowed_rate();
    for _ in 0..6 {
        let now = sender.poll_timeout();
        sender.handle_sent(now, SIZE);
        sender.handle_timeout(now);
    }
    assert!(
        sender.allowed_rate() < before / 32.0,
        "{} of {before}",
        sender.allowed_rate()
    );
    let mut ms = sender.poll_timeout().as_nanos() / 1_000_000;
    let mut rounds = 0;
    while sender.allowed_rate() < before * 0.99 {
        saturate(&mut sender, ms, ms + 100);
        ms += 100;
        let seen = sender.allowed_rate().bytes_per_sec();
        sender.handle_feedback(at(ms), &report(at(ms), seen, 0.001));
        rounds += 1;
        assert!(
            rounds < 10,
            "{} after {rounds} round trips",
            sender.allowed_rate()
        );
    }
}

#[test]
fn a_first_report_that_tells_of_loss_allows_no_more_than_the_initial_window() {
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

#[derive(Clone, Debug)]
enum Call {
    Feedback {
        age_ms: u64,
        delay_ms: u64,
        x_recv: f64,
        p: f64,
    },
    Timeout,
    Sent(u64),
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        (0u64..30_000, 0u64..40_000, 0.0..1e10f64, -0.1..1.1f64).prop_map(
            |(age_ms, delay_ms, x_recv, p)| Call::Feedback {
                age_ms,
                delay_ms,
                x_recv,
                p
            }
        ),
        Just(Call::Timeout),
        (0u64..65_536).prop_map(Call::Sent),
    ]
}

proptest! {
    #[test]
    fn any_calls_in_any_order_leave_a_finite_rate_above_the_floor(
        calls in prop::collection::vec((0u64..5_000, call()), 1..200),
    ) {
        let mut sender = Sender::new(Instant::ZERO, config());
        let mut now = Instant::ZERO;
        for (step, call) in calls {
            now += Duration::from_millis(step);
            match call {
                Call::Feedback { age_ms, delay_ms, x_recv, p } => {
                    sender.handle_feedback(now, &Feedback {
                        sent_at: now - Duration::from_millis(age_ms),
                        delay: Duration::from_millis(delay_ms),
                        receive_rate: Rate::from_bytes_per_sec(x_recv),
                        loss_event_rate: LossEventRate::new(p),
                    });
                }
                Call::Timeout => { sender.handle_timeout(now); }
                Call::Sent(size) => sender.handle_sent(now, Bytes::new(size)),
            }
            prop_assert!(sender.allowed_rate().is_finite());
            prop_assert!(sender.instantaneous_rate().is_finite());
            prop_assert!(sender.allowed_rate() >= sender.floor);
            prop_assert!(sender.instantaneous_rate() >= sender.floor);
            sender.handle_timeout(now);
            prop_assert!(sender.poll_timeout() > now);
        }
    }

    /// What a hostile receiver may say, at any time: the rate stays above zero and below all reason.
    #[test]
    fn extremes_leave_a_bounded_rate(
        segment in any::<u64>(),
        calls in prop::collection::vec((extreme(), extreme(), extreme(), any::<f64>(), any::<f64>()), 1..100),
    ) {
        let config = SenderConfig { segment_size: Bytes::new(segment), ..SenderConfig::default() };
        let mut sender = Sender::new(Instant::ZERO, config);
        for (now, sent_at, delay, x_recv, p) in calls {
            let now = Instant::from_nanos(now);
            sender.handle_sent(now, Bytes::new(sent_at));
            sender.handle_feedback(now, &Feedback {
                sent_at: Instant::from_nanos(sent_at),
                delay: Duration::from_nanos(delay),
                receive_rate: Rate::from_bytes_per_sec(x_recv),
                loss_event_rate: LossEventRate::new(p),
            });
            sender.handle_timeout(now);
            for x in [sender.allowed_rate(), sender.instantaneous_rate()] {
                prop_assert!(x >= sender.floor && x <= MAX_RATE, "{x:?}");
            }
            sender.next_departure(now);
        }
    }
}

#[test]
fn a_receiver_that_claims_everything_cannot_make_the_rate_infinite() {
    let mut sender = started();
    for ms in (200..200_000).step_by(100) {
        sender.handle_sent(at(ms), SIZE);
        sender.handle_feedback(at(ms), &report(at(ms), f64::INFINITY, 0.0));
    }
    assert_eq!(sender.allowed_rate().bytes_per_sec(), 1e12);
}

/// Any number, often one near an end of the range.
fn extreme() -> impl Strategy<Value = u64> {
    prop_oneof![any::<u64>(), 0..20u64, u64::MAX - 20..=u64::MAX]
}

#[test]
fn a_longer_retransmission_timeout_lowers_the_rate_of_the_equation() {
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

/// RFC 4828 §3: 160-byte packets keep 160/200 of what the equation gives for 1,460.
#[test]
fn small_packets_get_the_rate_of_large_ones_less_their_headers() {
    let mut sender = Sender::new(
        Instant::ZERO,
        SenderConfig {
            small_packets: true,
            ..config()
        },
    );
    let size = Bytes::new(160);
    let mut now = Instant::ZERO;
    for _ in 0..20 {
        sender.handle_sent(now, size);
        now += Duration::from_millis(10);
        assert_eq!(
            sender.next_departure(now).max(now),
            sender.next_departure(now)
        );
    }
    sender.handle_feedback(now, &report(now, 0.0, 0.0));
    sender.handle_feedback(now + RTT, &report(now + RTT, 1e9, 0.05));
    let equation = equation::rate(SIZE, RTT, LossEventRate::new(0.05)).bytes_per_sec();
    let rate = sender.allowed_rate().bytes_per_sec();
    assert!((rate / (equation * 0.8) - 1.0).abs() < 1e-9, "{rate}");
    assert!((sender.instantaneous_rate().bytes_per_sec() / rate - 1.0).abs() < 1e-9);
}

/// An application that sets what it is told, as a bound or not, must not lower it each time.
#[test]
fn a_ceiling_counts_no_headers_either() {
    let mut sender = Sender::new(
        Instant::ZERO,
        SenderConfig {
            small_packets: true,
            ..config()
        },
    );
    sender.handle_sent(Instant::ZERO, Bytes::new(40));
    sender.handle_feedback(at(100), &report(at(100), 0.0, 0.0));
    let rate = sender.allowed_rate();
    for _ in 0..3 {
        sender.set_ceiling(sender.allowed_rate());
    }
    assert_eq!(sender.allowed_rate(), rate);
    sender.set_ceiling(rate / 2.0);
    assert_eq!(sender.allowed_rate(), rate / 2.0);
}

/// At X = 2·X_recv less headers a sender of packets as small as the headers would never start.
#[test]
fn small_packets_do_not_keep_slow_start_from_doubling() {
    let mut sender = Sender::new(
        Instant::ZERO,
        SenderConfig {
            small_packets: true,
            ..config()
        },
    );
    let size = Bytes::new(40);
    sender.handle_sent(Instant::ZERO, size);
    sender.handle_feedback(at(100), &report(at(100), 0.0, 0.0));
    let first = sender.allowed_rate();
    for ms in [200, 300, 400, 500] {
        sender.handle_sent(at(ms), size);
        let received = sender.allowed_rate().bytes_per_sec();
        sender.handle_feedback(at(ms), &report(at(ms), received, 0.0));
    }
    let factor = sender.allowed_rate() / first;
    assert!((factor - 16.0).abs() < 1e-9, "{factor}");
}

#[test]
fn without_oscillation_reduction_packets_leave_at_the_allowed_rate() {
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
fn the_application_may_hold_x_and_let_it_go() {
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
