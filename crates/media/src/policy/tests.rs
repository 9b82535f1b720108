use super::*;
use proptest::prelude::*;
use tfrc::units::LossEventRate;

const INTERVAL: Duration = Duration::from_millis(40);

fn path(kbps: f64, rtt_ms: u64) -> Path {
    Path {
        allowed_rate: Rate::from_bits_per_sec(kbps * 1e3),
        instantaneous_rate: Rate::from_bits_per_sec(kbps * 1e3),
        rtt: Some(Duration::from_millis(rtt_ms)),
        loss_event_rate: LossEventRate::ZERO,
        receive_rate: Rate::ZERO,
    }
}

fn policy(interval: Duration) -> Policy {
    let config = PolicyConfig {
        playout: Duration::from_millis(10),
        ..PolicyConfig::new(interval)
    };
    Policy::new(config, Bytes::ZERO, 1.0)
}

fn sample(rtt_ms: u64) -> Sample {
    Sample {
        rtt: Duration::from_millis(rtt_ms),
        packet: Bytes::new(1_000),
    }
}

fn ahead(queued: Bytes) -> Ahead {
    Ahead {
        queued,
        wait: Duration::ZERO,
    }
}

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

#[test]
fn a_good_path_carries_one_interval_of_x() {
    let mut policy = policy(INTERVAL);
    let path = path(3_000.0, 60);
    let target = policy.target(at(0), &path, Ahead::default()).unwrap();
    assert_eq!(target.size, Bytes::new(15_000));
    assert_eq!(target.deadline, PolicyConfig::DEADLINE);
    let behind = policy
        .target(at(40), &path, ahead(Bytes::new(5_000)))
        .unwrap();
    assert_eq!(behind.size, Bytes::new(10_000));
}

/// Frames are made for what arrives where a packet was lost and little arrives, in two reports running.
#[test]
fn a_loss_is_told_once_and_anew_on_another_path() {
    let mut policy = policy(INTERVAL);
    let mut now = at(0);
    let mut size = |policy: &mut Policy, received: f64| {
        let path = Path {
            receive_rate: Rate::from_bits_per_sec(received * 1e3),
            loss_event_rate: LossEventRate::new(0.01),
            ..path(8_000.0, 100)
        };
        now += Duration::from_millis(100);
        policy.target(now, &path, Ahead::default());
        policy.observe_feedback(now, sample(100), &path);
        let target = policy.target(now, &path, Ahead::default());
        target.unwrap().size.get()
    };
    for _ in 0..5 {
        assert_eq!(size(&mut policy, 8_000.0), 40_000);
    }
    for _ in 0..2 {
        assert_eq!(size(&mut policy, 2_000.0), 40_000);
    }
    policy.set_rules(Rules::Thesis);
    policy.set_rules(Rules::Evenkeel);
    for _ in 0..2 {
        assert_eq!(size(&mut policy, 2_000.0), 40_000);
    }
    policy.forget_path();
    assert_eq!(size(&mut policy, 2_000.0), 40_000);
    assert_eq!(size(&mut policy, 2_000.0), 8_500);
}

/// Frames of one packet at the rate that packets leave at, which is 2 % below X: without the wait each would find the pacer
/// 0.8 ms further behind.
#[test]
fn a_frame_is_smaller_by_what_the_packet_before_it_still_takes_to_leave() {
    let path = Path {
        instantaneous_rate: Rate::from_bits_per_sec(196e3),
        ..path(200.0, 60)
    };
    let mut policy = policy(INTERVAL);
    let mut wait = Duration::ZERO;
    for n in 0..100 {
        let before = Ahead {
            queued: Bytes::ZERO,
            wait,
        };
        let frame = policy.target(at(40 * n), &path, before).unwrap().size;
        let departs = (wait + frame / path.instantaneous_rate).saturating_sub(INTERVAL);
        assert!(departs < Duration::from_millis(1), "{n}: {departs:?}");
        wait = departs;
    }
}

#[test]
fn the_thesis_counts_what_is_queued_alone() {
    let before = Ahead {
        queued: Bytes::new(1_000),
        wait: INTERVAL,
    };
    let [with, without] = [before, ahead(Bytes::new(1_000))]
        .map(|before| thesis(INTERVAL).target(at(0), &path(800.0, 100), before));
    assert_eq!(with, without);
}

/// (γ − R/2 − t_pbuf)·X − θ = (150 − 50 − 10) ms · 100 kB/s − 1000 B, of 10 kB an interval.
#[test]
fn equation_6_3_binds_where_the_deadline_is_shorter_than_the_interval() {
    let mut policy = policy(Duration::from_millis(100));
    let target = policy.target(at(0), &path(800.0, 100), ahead(Bytes::new(1_000)));
    assert_eq!(target.unwrap().size, Bytes::new(8_000));
}

#[test]
fn queueing_delays_media_in_full() {
    let mut policy = policy(Duration::from_millis(100));
    policy.observe_feedback(at(0), sample(100), &path(1_000.0, 100));
    policy.observe_feedback(at(1), sample(120), &path(1_000.0, 120));
    // 50 + 20 ms in place of 60.
    let target = policy.target(at(2), &path(800.0, 120), Ahead::default());
    assert_eq!(target.unwrap().size, Bytes::new(7_000));
}

#[test]
fn a_queue_on_the_way_back_delays_no_media() {
    let mut policy = policy(Duration::from_millis(100));
    policy.observe_arrival(at(50), 0);
    policy.observe_feedback(at(50), sample(100), &path(1_000.0, 100));
    policy.observe_arrival(at(90), 20_000);
    policy.observe_feedback(at(90), sample(120), &path(1_000.0, 120));
    let target = policy.target(at(91), &path(800.0, 120), Ahead::default());
    assert_eq!(target.unwrap().size, Bytes::new(9_000));
}

/// Of each 200 ms 150 − 50 − 10 are left for a frame over 100 ms, so that X_recv, over a round trip, is 0.9 of what the
/// path was seen to carry at least. Over 20 ms it is of a part of a frame.
#[test]
fn x_grows_a_little_beyond_what_arrives_between_the_pauses_that_a_round_trip_has() {
    for (rtt, carried) in [(100, 1_000.0 / 0.9), (20, 1_000.0)] {
        let config = *policy(Duration::from_millis(200)).config();
        let mut policy = Policy::new(config, Bytes::new(1_200), 1.0);
        let queues = [0].into_iter().chain([40; 9]).chain([0; 4_000]);
        for (n, queue) in queues.enumerate() {
            let allowed = policy.ceiling().bits_per_sec().min(1e6) / 1e3;
            let path = Path {
                receive_rate: Rate::from_bits_per_sec(1e6),
                ..path(allowed, rtt + queue)
            };
            policy.observe_feedback(at(100 * n as u64), sample(rtt + queue), &path);
        }
        let bound = policy.ceiling().bits_per_sec() / 1e3;
        assert!((bound - 1.03 * carried).abs() < 1.0, "{rtt} ms: {bound}");
    }
}

#[test]
fn x_is_taken_back_where_a_queue_stands_that_four_reports_met() {
    for (queues, held) in [([14; 4], false), ([15, 15, 15, 0], false), ([15; 4], true)] {
        let met = |mut policy: Policy| {
            for (n, queue) in [0].into_iter().chain(queues).enumerate() {
                let rtt = 60 + queue;
                policy.observe_feedback(at(100 * n as u64), sample(rtt), &path(1_000.0, rtt));
            }
            policy.ceiling()
        };
        assert_eq!(met(policy(INTERVAL)) < Rate::INFINITY, held, "{queues:?}");
        assert_eq!(met(thesis(INTERVAL)), Rate::INFINITY);
    }
}

/// Of 150 ms playout takes 10 and a frame 40, also where frames come less often: over 80 ms 20 are left, half of
/// which may be queue, over 99 a millisecond is, and over 100 nothing.
#[test]
fn where_the_deadline_has_hardly_room_for_a_queue_as_much_may_stand_as_where_it_has_most() {
    for interval in [INTERVAL, Duration::from_millis(100)] {
        for (way, queue, held) in [
            (80, 10, false),
            (80, 11, true),
            (99, 14, false),
            (99, 15, true),
            (100, 14, false),
            (100, 15, true),
        ] {
            let mut policy = policy(interval);
            for (n, queue) in [0].into_iter().chain([queue; 4]).enumerate() {
                let rtt = 2 * way + queue;
                let path = path(1_000.0, rtt);
                policy.observe_feedback(at(250 * n as u64), sample(rtt), &path);
            }
            assert_eq!(
                policy.ceiling() < Rate::INFINITY,
                held,
                "{interval:?}, {way} ms, {queue}"
            );
        }
    }
}

/// Of 150 ms playout takes 10 and 95 the path: there is room for 5 ms beside a frame, so that hardly more is tried than
/// arrived, where 1.2 times as much is without any.
#[test]
fn how_far_beyond_what_arrived_is_tried_is_said_by_what_the_deadline_leaves() {
    let mut policy = policy(INTERVAL);
    for (n, queue) in [0, 10].into_iter().chain([0; 6]).enumerate() {
        let path = Path {
            receive_rate: Rate::from_bits_per_sec(1e6),
            ..path(2_000.0, 190 + queue)
        };
        let now = at(1_000 * n as u64);
        policy.target(now, &path, Ahead::default());
        policy.observe_feedback(now, sample(190 + queue), &path);
    }
    let proven = policy.ceiling.proven().bits_per_sec();
    assert!((proven / 1.05e6 - 1.0).abs() < 1e-3, "{proven}");
}

/// Beside others X may be so small that a packet of its own takes 96 ms: a queue of 100 ms is there all the same.
#[test]
fn a_slow_packet_hides_no_queue() {
    let config = *policy(INTERVAL).config();
    let mut policy = Policy::new(config, Bytes::new(1_200), 1.0);
    for (ms, rtt) in [(0, 60), (160, 160), (320, 160), (480, 160), (640, 160)] {
        policy.observe_feedback(at(ms), sample(rtt), &path(100.0, rtt));
    }
    assert!(policy.ceiling() < Rate::from_bits_per_sec(100e3));
}

/// With 19 ms for a queue, half a frame interval less one, what one frame makes is what tells; with 21 what stands.
#[test]
fn what_the_path_leaves_without_a_queue_says_what_holds_x() {
    for (spare, held) in [(19, true), (21, false)] {
        let rtt = 2 * (150 - 10 - 40 - spare);
        let mut policy = policy(INTERVAL);
        for (ms, queue) in [(0, 0), (40, 30)] {
            let path = path(3_000.0, rtt + queue);
            policy.observe_feedback(at(ms), sample(rtt + queue), &path);
            policy.target(at(ms), &path, Ahead::default());
            assert_eq!(policy.held_by_deadline, held, "{spare} {queue}");
        }
    }
}

#[test]
fn a_longer_path_to_another_peer_is_no_queue() {
    let long = path(800.0, 160);
    let size = |policy: &mut Policy, ms| {
        let target = policy.target(at(ms), &long, Ahead::default()).unwrap();
        (target.size, target.stretched)
    };
    let mut policy = policy(Duration::from_millis(100));
    policy.observe_feedback(at(0), sample(20), &path(800.0, 20));
    policy.observe_feedback(at(1), sample(160), &long);
    // A quarter of 40 ms, until the queue has gone.
    assert_eq!(size(&mut policy, 2), (Bytes::new(1_000), false));
    policy.forget_path();
    policy.observe_feedback(at(3), sample(160), &long);
    // 150 − 80 − 10 ms at 100 kB/s.
    assert_eq!(size(&mut policy, 4), (Bytes::new(6_000), false));
}

/// Over half a millisecond X doubles several times while a picture of 1.8 MB leaves.
#[test]
fn frames_of_their_own_size_go_by_what_the_last_one_left_at() {
    let mut policy = policy(INTERVAL);
    let slow = path(100e3, 1);
    let rate = |policy: &mut Policy| policy.target(at(0), &slow, Ahead::default()).unwrap().rate;
    assert_eq!(rate(&mut policy), slow.allowed_rate);
    let frame = Bytes::new(1_800_000);
    policy.observe_departure(frame, Duration::from_millis(4), &slow);
    assert_eq!(rate(&mut policy), frame / Duration::from_millis(4));
    policy.observe_departure(frame, Duration::from_millis(400), &slow);
    assert_eq!(rate(&mut policy), slow.allowed_rate);
}

/// Their encoder thins them, and is to see each that was captured. The first one tells what all of them weigh, and what
/// their headers do.
#[test]
fn frames_of_their_own_size_are_asked_for_whatever_is_ahead() {
    let mut policy = policy(INTERVAL);
    let path = path(3_000.0, 60);
    let before = ahead(Bytes::new(40_000));
    policy.set_encoder(true);
    policy.observe_frame(&CodedFrame {
        preparation: Duration::ZERO,
        target: Some(Bytes::new(15_000)),
        scan: Bytes::new(40_000),
        wire: Bytes::new(50_000),
    });
    let target = policy.target(at(0), &path, before).unwrap();
    assert_eq!(target.rate, path.allowed_rate * 0.8);
    // 30 + 10 ms, and 50,000 bytes at 3 Mb/s.
    assert_eq!(target.deadline.as_millis(), 173);
    policy.set_encoder(false);
    assert_eq!(policy.target(at(40), &path, before), None);
}

#[test]
fn equation_6_4_tells_what_is_too_late() {
    let policy = policy(INTERVAL);
    let path = path(3_000.0, 60);
    let size = Bytes::new(15_000);
    // 30 + 40 + 10 ms, of which 5 may be used up: 75 ms may have passed.
    assert!(policy.is_in_time(at(174), at(100), size, &path));
    assert!(!policy.is_in_time(at(175), at(100), size, &path));
}

#[test]
fn no_frame_is_coded_behind_what_lasts_until_the_next() {
    let mut policy = policy(INTERVAL);
    let path = path(3_000.0, 60);
    assert!(
        policy
            .target(at(0), &path, ahead(Bytes::new(11_000)))
            .is_some()
    );
    assert_eq!(policy.target(at(0), &path, ahead(Bytes::new(12_000))), None);
}

#[test]
fn a_path_too_long_stretches_the_deadline_and_returns_with_hysteresis() {
    let mut policy = policy(INTERVAL);
    let (short, long) = (path(3_000.0, 60), path(3_000.0, 290));
    assert!(
        !policy
            .target(at(0), &short, Ahead::default())
            .unwrap()
            .stretched
    );
    let target = policy.target(at(40), &long, Ahead::default()).unwrap();
    // 145 + 10 ms and an interval.
    assert_eq!(policy.stretched(), Some(Duration::from_millis(195)));
    assert_eq!(target.deadline, Duration::from_millis(195));
    assert!(target.stretched);
    assert_eq!(target.size, Bytes::new(15_000));
    let stretched = |policy: &mut Policy, ms, path| {
        policy
            .target(at(ms), path, Ahead::default())
            .unwrap()
            .stretched
    };
    assert!(stretched(&mut policy, 100, &short));
    assert!(stretched(&mut policy, 1_099, &short));
    assert!(!stretched(&mut policy, 1_100, &short));
    // Half of an interval is enough to return, and a little less to stay.
    let border = path_with_room(19);
    assert!(!stretched(&mut policy, 1_140, &border));
    assert!(stretched(&mut policy, 1_180, &long));
    assert!(stretched(&mut policy, 9_000, &border));
    assert!(stretched(&mut policy, 19_000, &border));
}

/// A path of which 800 kb/s were seen to arrive.
fn behind(rtt_ms: u64) -> Path {
    Path {
        receive_rate: Rate::from_bits_per_sec(800e3),
        ..path(1_600.0, rtt_ms)
    }
}

/// The next frame after a report of this round-trip time, as a share of what arrived in an interval.
fn share_of_arrived(policy: &mut Policy, ms: u64, rtt_ms: u64) -> f64 {
    let path = behind(rtt_ms);
    policy.observe_feedback(at(ms), sample(rtt_ms), &path);
    let target = policy.target(at(ms), &path, Ahead::default()).unwrap();
    target.size.as_f64() / (path.receive_rate * INTERVAL).as_f64()
}

/// The longest of four frames' queues is what stretches the deadline; the last one's says whether it still stands.
#[test]
fn a_queue_that_stretches_the_deadline_is_drained_and_x_begins_again_from_what_arrived_behind_it() {
    let mut policy = policy(INTERVAL);
    share_of_arrived(&mut policy, 0, 160);
    assert!(!policy.is_path_too_slow());
    assert_eq!(share_of_arrived(&mut policy, 160, 260), 0.9);
    assert_eq!(share_of_arrived(&mut policy, 200, 160), 1.1);
    let mut now = 200;
    while policy.is_path_too_slow() {
        now += 40;
        share_of_arrived(&mut policy, now, 160);
    }
    // Half of X is what arrived. Above that nothing is asked of the path, from the first frame on.
    let path = behind(160);
    assert!(policy.ceiling() < path.receive_rate);
    let target = policy.target(at(now), &path, Ahead::default()).unwrap();
    assert!(target.size <= policy.ceiling() * INTERVAL);
}

#[test]
fn a_queue_is_not_drained_for_nothing() {
    // Over 300 ms the deadline is stretched without it.
    let mut long = policy(INTERVAL);
    share_of_arrived(&mut long, 0, 300);
    assert_eq!(share_of_arrived(&mut long, 160, 400), 1.1);
    // And where others keep it, it stays.
    let mut shared = policy(INTERVAL);
    share_of_arrived(&mut shared, 0, 160);
    let mut now = 160;
    while !shared.is_queue_of_others(at(now)) {
        share_of_arrived(&mut shared, now, 260);
        now += 40;
        assert!(now < 10_000);
    }
    assert_eq!(share_of_arrived(&mut shared, now, 260), 1.1);
}

fn path_with_room(ms: u64) -> Path {
    path(3_000.0, 2 * (150 - 10 - ms))
}

#[test]
fn what_the_encoder_stays_below_its_target_is_asked_for_on_top() {
    let mut policy = policy(INTERVAL);
    for _ in 0..100 {
        policy.observe_frame(&CodedFrame {
            preparation: Duration::ZERO,
            target: Some(Bytes::new(10_000)),
            scan: Bytes::new(9_500),
            wire: Bytes::new(9_800),
        });
    }
    let target = policy
        .target(at(0), &path(3_000.0, 60), Ahead::default())
        .unwrap();
    assert!(
        (15_290..=15_310).contains(&target.size.get()),
        "{}",
        target.size
    );
}

/// A frame far above its target: 2,600 bytes on the wire.
fn missed(preparation: Duration) -> CodedFrame {
    CodedFrame {
        preparation,
        target: Some(Bytes::new(400)),
        scan: Bytes::new(2_500),
        wire: Bytes::new(2_600),
    }
}

#[test]
fn what_cannot_be_made_smaller_waits_for_an_empty_buffer() {
    let mut policy = policy(INTERVAL);
    let slow = path(80.0, 60);
    let missed = missed(Duration::ZERO);
    // One may be a keyframe.
    policy.observe_frame(&missed);
    assert!(
        policy
            .target(at(0), &slow, ahead(Bytes::new(100)))
            .is_some()
    );
    policy.observe_frame(&missed);
    assert_eq!(policy.target(at(0), &slow, ahead(Bytes::new(100))), None);
    let target = policy.target(at(10), &slow, Ahead::default()).unwrap();
    assert_eq!(target.size, Bytes::new(2_600));
    // 30 + 10 ms and 260.
    assert_eq!(target.deadline, Duration::from_millis(300));
}

/// The pacer does not give all of the time back that passes without a frame.
#[test]
fn what_cannot_be_made_smaller_waits_for_the_last_packet_only_if_it_is_late_anyway() {
    // 500 kb/s carry 2,500 bytes in an interval.
    let size = |kbps, preparation, rtt, queued, wait| {
        let mut policy = policy(INTERVAL);
        for _ in 0..2 {
            policy.observe_frame(&missed(Duration::from_millis(preparation)));
        }
        let before = Ahead {
            queued: Bytes::new(queued),
            wait: Duration::from_millis(wait),
        };
        let target = policy.target(at(0), &path(kbps, rtt), before);
        target.map(|target| target.size)
    };
    let whole = Some(Bytes::new(2_600));
    assert_eq!(size(500.0, 0, 60, 0, 12), whole);
    assert_eq!(size(500.0, 0, 60, 100, 0), None);
    // What has left by the time that the picture is coded is not queued: a mean of 9 ms, 585 bytes.
    assert_eq!(size(500.0, 40, 60, 500, 12), whole);
    assert_eq!(size(500.0, 40, 60, 700, 12), None);
    // Of 150 ms 95, 10 and 0 leave 45, of which it takes 42.
    assert_eq!(size(500.0, 0, 190, 0, 2), whole);
    assert_eq!(size(500.0, 0, 190, 0, 12), None);
    assert_eq!(size(80.0, 0, 60, 0, 12), None);
}

fn thesis(interval: Duration) -> Policy {
    let config = PolicyConfig {
        rules: Rules::Thesis,
        ..*policy(interval).config()
    };
    Policy::new(config, Bytes::ZERO, 1.0)
}

/// (150 − 30 − 10) ms · 375 kB/s: three intervals of X, of which the next one waits behind.
#[test]
fn the_thesis_makes_frames_as_large_as_the_deadline_lets_them_be() {
    let mut policy = thesis(INTERVAL);
    let path = path(3_000.0, 60);
    let size = |policy: &mut Policy, queued| {
        policy
            .target(at(0), &path, ahead(Bytes::new(queued)))
            .unwrap()
            .size
    };
    assert_eq!(size(&mut policy, 0), Bytes::new(41_250));
    assert_eq!(size(&mut policy, 41_000), Bytes::new(250));
    assert_eq!(size(&mut policy, 50_000), Bytes::ZERO);
}

#[test]
fn the_thesis_leaves_frames_of_a_size_of_their_own_to_the_transmission_condition() {
    let path = path(3_000.0, 60);
    let rate = |mut policy: Policy| policy.target(at(0), &path, Ahead::default()).unwrap().rate;
    assert_eq!(rate(thesis(INTERVAL)), Rate::INFINITY);
    assert!(rate(policy(INTERVAL)) <= path.allowed_rate);
}

/// “The smallest fall of X breaks the timing constraints” (thesis §7.3).
#[test]
fn the_thesis_drops_what_it_made_when_x_falls() {
    let mut policy = thesis(INTERVAL);
    let size = policy
        .target(at(0), &path(3_000.0, 60), Ahead::default())
        .unwrap()
        .size;
    let less = Bytes::new(size.get() - 500);
    assert!(policy.is_in_time(at(0), at(0), less, &path(3_000.0, 60)));
    assert!(!policy.is_in_time(at(0), at(0), less, &path(2_900.0, 60)));
}

#[test]
fn the_thesis_sends_nothing_over_a_path_that_is_too_long() {
    let policy = thesis(INTERVAL);
    assert!(!policy.is_in_time(at(0), at(0), Bytes::new(100), &path(3_000.0, 290)));
    assert!(!policy.prefers_late_to_none());
}

/// Frames that come out 2 % below what is asked for, a buffer that lets out what X carries, and X by a script: of each
/// interval what waited at its capture, in intervals of X, and which share of X was used in it.
fn on_rates(policy: &mut Policy, kbps: &[f64]) -> Vec<(f64, f64)> {
    let mut queued = Bytes::ZERO;
    let interval = |(n, &kbps): (usize, &f64)| {
        let path = path(kbps, 60);
        let carried = path.allowed_rate * INTERVAL;
        let waiting = queued.as_f64() / carried.as_f64();
        if let Some(target) = policy.target(at(40 * n as u64), &path, ahead(queued)) {
            queued += Bytes::new(target.size.get() * 98 / 100);
        }
        let left = queued - carried;
        let used = (queued - left).as_f64() / carried.as_f64();
        queued = left;
        (waiting, used)
    };
    kbps.iter().enumerate().map(interval).collect()
}

#[test]
fn on_rates_that_fall_and_rise_the_buffer_is_never_empty_for_long_nor_full_for_long() {
    let falls = [0.8, 0.5, 0.25].map(|share| share * 3_000.0);
    for fall in falls {
        let script = [[3_000.0; 20], [fall; 20], [3_000.0; 20]].concat();
        let run = on_rates(&mut policy(INTERVAL), &script);
        for (n, (waiting, used)) in run.into_iter().enumerate() {
            let what = format!("{fall} kb/s, interval {n}: {waiting} wait, {used} used");
            // Each frame has left when the next one is captured, whatever came before.
            assert!(waiting < 0.05, "{what}");
            assert!(used > 0.95, "{what}");
        }
    }
    // X falls to a quarter as a frame begins: no other is asked for in the four intervals that it takes then.
    let mut policy = policy(INTERVAL);
    let mut path = path(3_000.0, 60);
    let whole = policy.target(at(0), &path, Ahead::default()).unwrap().size;
    path.allowed_rate = path.allowed_rate / 4.0;
    let carried = path.allowed_rate * INTERVAL;
    let mut queued = whole;
    let asked = (1..7).filter_map(|n| {
        let target = policy.target(at(40 * n), &path, ahead(queued));
        let size = target.map_or(Bytes::ZERO, |target| target.size);
        queued = queued + size - carried;
        target.map(|_| n)
    });
    assert_eq!(asked.collect::<Vec<_>>(), [5, 6]);
}

#[test]
fn policies_are_known_by_their_names() {
    for rules in Rules::ALL {
        assert_eq!(rules.name().parse(), Ok(rules));
    }
    let unknown: Result<Rules, _> = "ours".parse();
    assert_eq!(unknown, Err(UnknownRules));
}

proptest! {
    #[test]
    fn targets_are_never_more_than_an_interval_unless_nothing_less_is_worth_it(
        kbps in 0.0..1e7f64,
        rtt in 0..4_000u64,
        queued in 0..10_000_000u64,
        wait in any::<u64>(),
        now in any::<u64>(),
    ) {
        let mut policy = policy(INTERVAL);
        let path = path(kbps, rtt);
        let before = Ahead {
            queued: Bytes::new(queued),
            wait: Duration::from_nanos(wait),
        };
        if let Some(target) = policy.target(Instant::from_nanos(now), &path, before) {
            prop_assert!(target.size <= path.allowed_rate * INTERVAL);
            prop_assert!(target.deadline >= PolicyConfig::DEADLINE);
            prop_assert!(target.deadline <= LONGEST_DEADLINE);
        }
    }
}
