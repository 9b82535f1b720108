//! Tests of the policy: the size of the next frame, and the deadline.

use proptest::prelude::*;

use super::*;
use crate::test_support;

const INTERVAL: Duration = Duration::from_millis(40);

fn path(kbps: f64, rtt_ms: u64) -> Path {
    test_support::path(Rate::from_bits_per_sec(kbps * 1e3), rtt_ms)
}

fn policy(rules: Rules) -> Policy {
    let config = PolicyConfig {
        playout: Duration::from_millis(10),
        rules,
        ..PolicyConfig::new(INTERVAL)
    };
    Policy::new(config, 1.0)
}

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

/// Gives a policy two seconds of reports with this round trip.
fn learn_round_trip(policy: &mut Policy, rtt_ms: u64) {
    let path = path(3_000.0, rtt_ms);
    policy.model.set_bound(at(1_000), path.allowed_rate);
    let rtt = Duration::from_millis(rtt_ms);
    for n in 0..50 {
        let sent = at(1_000 + 40 * n);
        let rate = Rate::from_bits_per_sec(300e3);
        policy.model.handle_round_trip(sent + rtt, sent, rtt, rate);
    }
    policy.update_deadline();
}

fn coded(target: u64, wire: u64) -> CodedFrame {
    CodedFrame {
        preparation: Duration::ZERO,
        target: Some(Bytes::new(target)),
        scan: Bytes::new(wire),
        wire: Bytes::new(wire),
    }
}

#[test]
fn first_frame_has_an_interval_of_first_rate() {
    let target = policy(Rules::Evenkeel).target(at(0), &path(3_000.0, 60), Bytes::ZERO);
    assert_eq!(target.unwrap().size, FIRST_RATE * INTERVAL);
}

#[test]
fn configured_rate_bounds_frames_and_x() {
    for rules in Rules::ALL {
        let config = PolicyConfig {
            rules,
            max_rate: Rate::from_bits_per_sec(100e3),
            ..PolicyConfig::new(INTERVAL)
        };
        let policy = Policy::new(config, 1.0);
        assert_eq!(policy.ceiling(), config.max_rate);
        for source in [RateSource::Feedback, RateSource::ReceptionReports] {
            let path = Path {
                rate_source: source,
                ..path(3_000.0, 60)
            };
            assert_eq!(policy.available_rate(&path), config.max_rate);
        }
    }
    // The first frame has an interval of it, as on a path that allows no more.
    let config = PolicyConfig {
        max_rate: Rate::from_bits_per_sec(100e3),
        ..PolicyConfig::new(INTERVAL)
    };
    let first = Policy::new(config, 1.0).target(at(0), &path(3_000.0, 60), Bytes::ZERO);
    assert_eq!(first.unwrap().size, Bytes::new(500));
}

#[test]
fn least_deadline_has_path_playout_and_frame() {
    let mut policy = policy(Rules::Evenkeel);
    assert_eq!(policy.least_deadline(), None);
    learn_round_trip(&mut policy, 200);
    let least = policy.least_deadline().expect("a measured path");
    assert_eq!(least, Duration::from_millis(100 + 10) + INTERVAL);
}

#[test]
fn frame_never_exceeds_what_tfrc_allows() {
    let target = policy(Rules::Evenkeel).target(at(0), &path(100.0, 60), Bytes::ZERO);
    assert_eq!(target.unwrap().size, Bytes::new(500));
}

#[test]
fn frame_is_smaller_by_what_waits() {
    let mut policy = policy(Rules::Evenkeel);
    let path = path(3_000.0, 60);
    let target = policy.target(at(0), &path, Bytes::new(1_000)).unwrap();
    assert_eq!(target.size, FIRST_RATE * INTERVAL - Bytes::new(1_000));
}

#[test]
fn deadline_follows_a_long_path_and_returns() {
    let mut policy = policy(Rules::Evenkeel);
    learn_round_trip(&mut policy, 100);
    assert_eq!(policy.stretched(), None);
    policy.forget_path();
    learn_round_trip(&mut policy, 300);
    // The deadline is the sum of one-way delay, playout, a frame interval and a short queue.
    let stretched = policy.stretched().expect("150 ms is too short");
    assert!(
        (210..=260).contains(&stretched.as_millis()),
        "{stretched:?}"
    );
    policy.forget_path();
    learn_round_trip(&mut policy, 100);
    assert_eq!(policy.deadline(), PolicyConfig::DEADLINE);
}

#[test]
fn short_deadline_is_lengthened_before_any_feedback() {
    let config = PolicyConfig {
        deadline: Duration::from_millis(20),
        ..PolicyConfig::new(INTERVAL)
    };
    let mut policy = Policy::new(config, 1.0);
    let target = policy.target(at(0), &path(3_000.0, 0), Bytes::ZERO);
    let target = target.expect("a path with room");
    assert!(target.stretched);
    assert!(target.deadline >= INTERVAL + config.playout);
    // After 20 ms a frame would have half of its interval.
    let interval_of_first_rate = (FIRST_RATE * INTERVAL).as_f64();
    assert!(target.size.as_f64() >= 0.95 * interval_of_first_rate);
}

#[test]
fn long_deadline_keeps_what_was_configured() {
    let config = PolicyConfig {
        deadline: Duration::from_millis(300),
        ..PolicyConfig::new(INTERVAL)
    };
    let mut policy = Policy::new(config, 1.0);
    for rtt_ms in (20..=200).step_by(20) {
        policy.forget_path();
        learn_round_trip(&mut policy, rtt_ms);
        assert_eq!(policy.deadline(), config.deadline, "{rtt_ms} ms");
        assert_eq!(policy.stretched(), None, "{rtt_ms} ms");
    }
}

#[test]
fn deadline_is_continuous_in_the_round_trip() {
    let mut before = PolicyConfig::DEADLINE;
    for rtt_ms in (20..500).step_by(10) {
        let mut policy = policy(Rules::Evenkeel);
        learn_round_trip(&mut policy, rtt_ms);
        let deadline = policy.deadline();
        assert!(
            deadline >= before && deadline <= before + 2 * DEADLINE_STEP,
            "{rtt_ms} ms"
        );
        before = deadline;
    }
}

#[test]
fn encoder_floor_lowers_frame_count_not_rate() {
    let mut policy = policy(Rules::Evenkeel);
    for _ in 0..2 {
        policy.observe_frame(&coded(100, 1_500));
    }
    // The path carries a third of the encoder's least frame.
    let path = path(100.0, 60);
    let mut made = 0;
    for n in 0..300 {
        if policy.target(at(40 * n), &path, Bytes::ZERO).is_some() {
            policy.observe_frame(&coded(500, 1_500));
            made += 1;
        }
    }
    assert!((95..=105).contains(&made), "{made}");
}

#[test]
fn own_size_frames_always_have_a_target() {
    let mut policy = policy(Rules::Evenkeel);
    policy.set_encoder(true);
    policy.observe_frame(&coded(100, 150_000));
    let path = path(100.0, 60);
    assert!((0..100).all(|n| policy.target(at(40 * n), &path, Bytes::ZERO).is_some()));
}

#[test]
fn encoder_below_its_target_is_asked_for_more() {
    let mut policy = policy(Rules::Evenkeel);
    let path = path(3_000.0, 60);
    for n in 0..100 {
        let target = policy.target(at(40 * n), &path, Bytes::ZERO).unwrap();
        let size = target.size.get() * 9 / 10;
        policy.observe_frame(&coded(target.size.get(), size));
    }
    let target = policy.target(at(4_000), &path, Bytes::ZERO).unwrap();
    let expected = (FIRST_RATE * INTERVAL).as_f64() / 0.9;
    assert!((target.size.as_f64() / expected - 1.0).abs() < 0.02);
}

/// The expected size is (γ − R/2 − t_pbuf)·X − θ = (150 − 50 − 10) ms · 100 kB/s − 1,000 B.
#[test]
fn thesis_fills_frames_up_to_the_deadline() {
    let mut policy = policy(Rules::Thesis);
    let target = policy.target(at(0), &path(800.0, 100), Bytes::new(1_000));
    assert_eq!(target.unwrap().size, Bytes::new(8_000));
}

#[test]
fn thesis_begins_a_frame_only_in_time() {
    let policy = policy(Rules::Thesis);
    let path = path(800.0, 100);
    // The deadline leaves 50 ms beside network, playout and transmission.
    let may_begin = |ms| policy.may_begin(Duration::from_millis(ms), Bytes::new(4_000), &path);
    assert_eq!([49, 51].map(may_begin), [true, false]);
}

#[test]
fn policies_are_known_by_their_names() {
    for rules in Rules::ALL {
        assert_eq!(rules.name().parse(), Ok(rules));
    }
    assert_eq!("none".parse::<Rules>(), Err(UnknownRules));
}

proptest! {
    #[test]
    fn targets_are_bounded_by_tfrc_whatever_is_reported(
        kbps in 20.0..50_000.0f64,
        reports in prop::collection::vec((0u64..500, 0u64..2_000, 0.0..1e8f64), 0..50),
    ) {
        let mut policy = policy(Rules::Evenkeel);
        let path = path(kbps, 60);
        let mut now = at(1_000);
        for (later, round_trip, received) in reports {
            now += Duration::from_millis(later);
            policy.model.set_bound(now, path.allowed_rate);
            let rtt = Duration::from_millis(round_trip);
            policy.model.handle_round_trip(now, now, rtt, Rate::from_bits_per_sec(received));
            policy.update_deadline();
            if let Some(target) = policy.target(now, &path, Bytes::ZERO) {
                prop_assert!(target.size <= (path.allowed_rate * INTERVAL).max(LEAST_FRAME));
                prop_assert!(target.deadline <= PolicyConfig::LONGEST_DEADLINE);
            }
        }
    }
}

#[test]
fn frames_follow_the_set_rate_without_feedback() {
    for source in [
        RateSource::ReceptionReports,
        RateSource::Nothing,
        RateSource::Fixed,
    ] {
        let mut policy = policy(Rules::Evenkeel);
        let path = Path {
            rtt: None,
            rate_source: source,
            ..path(12_000.0, 0)
        };
        for n in 0..100 {
            let target = policy.target(at(40 * n), &path, Bytes::ZERO).unwrap();
            assert_eq!(target.size, Bytes::new(60_000), "{source:?}");
            policy.packet_sent(at(40 * n), n, 60_000, true);
        }
    }
}

#[test]
fn losses_are_tolerated_only_where_asked_for() {
    for (random_loss, tolerated) in [(false, None), (true, Some(0.0))] {
        let config = PolicyConfig {
            random_loss,
            ..PolicyConfig::new(INTERVAL)
        };
        assert_eq!(Policy::new(config, 1.0).tolerated_loss(), tolerated);
    }
}
