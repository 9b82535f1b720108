//! Tests of extreme and hostile reports: X stays finite, and above its floor.

use super::*;
use proptest::prelude::*;

/// W_init / R is less than s/t_mbi here. The fuzz target `rate_control` found this case.
#[test]
fn first_report_after_minutes_leaves_the_floor_rate() {
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

/// A very short round trip after a very long one shows that the queue is gone, and √R_sample collapses. The fuzz
/// target `rate_control` found this case.
#[test]
fn collapsed_round_trip_leaves_a_bounded_departure_rate() {
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
fn held_sender_exceeds_its_hold_by_no_report() {
    let mut sender = Sender::new(Instant::ZERO, config());
    let held = Rate::from_bytes_per_sec(1e5);
    let mut now = Instant::ZERO;
    for round_trip in [100, 100, 1, 100, 1].map(Duration::from_millis) {
        sender.hold(held);
        now += Duration::from_millis(200);
        sender.handle_feedback(
            now,
            &Feedback {
                sent_at: now - round_trip,
                ..report(now, 1e9, 0.0)
            },
        );
        assert!(sender.allowed_rate() <= held && sender.instantaneous_rate() <= held);
    }
    assert_eq!(sender.bound(), Bound::ReceiveRate);
    sender.hold(Rate::INFINITY);
    now += Duration::from_secs(1);
    sender.handle_feedback(now, &report(now, 1e9, 0.0));
    assert!(sender.allowed_rate() > held);
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
    fn any_calls_leave_a_finite_rate_above_floor(
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

    /// Whatever a hostile receiver reports, the rate stays between its floor and
    /// [`MAX_RATE`](crate::trust::MAX_RATE).
    #[test]
    fn extremes_leave_a_bounded_rate(
        segment in 1u64..=65_535,
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
fn claimed_infinite_receive_rate_leaves_a_bounded_rate() {
    let mut sender = started();
    for ms in (200..200_000).step_by(100) {
        sender.handle_sent(at(ms), SIZE);
        sender.handle_feedback(at(ms), &report(at(ms), f64::INFINITY, 0.0));
    }
    assert_eq!(sender.allowed_rate().bytes_per_sec(), 1e12);
}

/// Generates any number, often one near an end of the range.
fn extreme() -> impl Strategy<Value = u64> {
    prop_oneof![any::<u64>(), 0..20u64, u64::MAX - 20..=u64::MAX]
}
