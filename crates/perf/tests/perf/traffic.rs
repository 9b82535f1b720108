//! How much gets through, and when.

use std::time::Duration;

use evenkeel_link::{LinkConfig, Loss, QueueLimit};
use evenkeel_perf::{Count, Direction, Limits, Mode, Phase, ReportTiming, Terms};
use evenkeel_rtp::session::FeedbackMode;
use tfrc::units::Rate;

use crate::world::{World, mbps, terms};

/// What the client and the server counted, all flows together.
fn counted(world: &mut World) -> (Count, Count) {
    assert_eq!(world.run_to_end(), Phase::Done);
    let ours = world.client.flows().map(|flow| flow.count);
    let ours = ours.fold(Count::default(), |sum, count| sum.plus(&count));
    let theirs = world
        .client
        .results()
        .iter()
        .fold(Count::default(), Count::plus);
    (ours, theirs)
}

#[test]
fn a_flow_of_limited_rate_sends_what_was_asked_for_and_all_of_it_arrives() {
    let duration = Duration::from_secs(60);
    let (ours, theirs) = counted(&mut World::with(Terms {
        duration,
        ..terms()
    }));
    let rate = ours.bytes_sent as f64 * 8.0 / 60.0;
    // Slow start costs a few packets of the first half second.
    assert!((0.99e6..=1.001e6).contains(&rate), "{rate}");
    assert_eq!(theirs.packets_received, ours.packets_sent);
    assert_eq!(theirs.bytes_received, ours.bytes_sent);
    assert_eq!((theirs.packets_lost, theirs.packets_sent), (0, 0));
    let packets = f64::from(u32::try_from(theirs.packets_received).unwrap());
    let spacing = theirs.received_over.as_secs_f64() / packets;
    assert!((0.0111..0.0113).contains(&spacing), "{spacing}");
}

#[test]
fn the_server_sends_in_reverse_and_both_send_both_ways() {
    let reverse = Terms {
        direction: Direction::Reverse,
        ..terms()
    };
    let (ours, theirs) = counted(&mut World::with(reverse));
    assert_eq!((ours.packets_sent, theirs.packets_received), (0, 0));
    assert!(ours.packets_received > 300 && ours.packets_received == theirs.packets_sent);
    let both = Terms {
        direction: Direction::Both,
        ..terms()
    };
    let (ours, theirs) = counted(&mut World::with(both));
    assert!(ours.packets_sent > 300 && ours.packets_received > 300);
    assert_eq!(ours.packets_sent, theirs.packets_received);
    assert_eq!(theirs.packets_sent, ours.packets_received);
}

#[test]
fn every_one_of_many_flows_gets_its_share() {
    let duration = Duration::from_secs(10);
    let terms = Terms {
        flows: 100,
        duration,
        ..terms()
    };
    let mut world = World::with(Terms {
        direction: Direction::Reverse,
        ..terms
    });
    counted(&mut world);
    let share = 0.9 * 1e6 / 8.0 * 10.0;
    let worst = world
        .client
        .flows()
        .map(|flow| flow.count.bytes_received)
        .min();
    assert!(
        worst.is_some_and(|bytes| bytes as f64 >= share),
        "{worst:?}"
    );
}

#[test]
fn tfrc_without_a_limit_fills_a_link_and_a_fixed_rate_overruns_it() {
    let link = LinkConfig {
        rate: mbps(4.0),
        delay: Duration::from_millis(10),
        queue: QueueLimit::Time(Duration::from_millis(50)),
        ..LinkConfig::default()
    };
    let duration = Duration::from_secs(30);
    let tfrc = Terms {
        rate: None,
        duration,
        ..terms()
    };
    let (ours, theirs) = counted(&mut World::new(tfrc.clone(), Limits::default(), link));
    let rate = theirs.bytes_received as f64 * 8.0 / 30.0;
    assert!(rate > 0.85 * 4e6, "{rate}");
    let lost = ours.packets_sent - theirs.packets_received;
    assert!(
        lost * 50 < ours.packets_sent,
        "{lost} of {}",
        ours.packets_sent
    );
    let fixed = Terms {
        mode: Mode::Fixed,
        rate: Some(mbps(8.0)),
        ..tfrc
    };
    let sent = 8e6 / 8.0 / 1_400.0 * 30.0;
    for times in [1, 5] {
        let rate = Some(mbps(8.0 * f64::from(times)));
        let fixed = Terms {
            rate,
            ..fixed.clone()
        };
        let (ours, theirs) = counted(&mut World::new(fixed, Limits::default(), link));
        // However much is lost, it goes on.
        assert!(ours.packets_sent as f64 > 0.99 * sent * f64::from(times));
        assert!(theirs.packets_received < ours.packets_sent * 6 / 10);
    }
}

#[test]
fn a_stated_rate_is_told_from_a_path_that_holds_a_flow_back() {
    let held = |bottleneck| {
        let link = LinkConfig {
            rate: mbps(bottleneck),
            delay: Duration::from_millis(10),
            queue: QueueLimit::Time(Duration::from_millis(50)),
            ..LinkConfig::default()
        };
        let stated = Terms {
            rate: Some(mbps(4.0)),
            duration: Duration::from_secs(30),
            ..terms()
        };
        let mut world = World::new(stated, Limits::default(), link);
        assert_eq!(world.run_to_end(), Phase::Done);
        let flow = world.client.flows().next().expect("a flow");
        flow.held.expect("a stated rate")
    };
    // All but slow start, at its rate.
    let wide = held(20.0);
    let seconds = wide.time.as_secs_f64();
    assert!((20.0..=30.0).contains(&seconds), "{seconds}");
    let rate = wide.bytes.as_f64() * 8.0 / seconds;
    assert!((rate / 4e6 - 1.0).abs() < 5e-3, "{rate}");
    let narrow = held(1.0).time;
    assert!(narrow < Duration::from_secs(10), "{narrow:?}");
}

/// What was not sent within a round trip is forfeited (RFC 5348 §4.6), so no burst may be gathered for as long.
#[test]
fn a_round_trip_shorter_than_a_burst_costs_no_rate() {
    let link = LinkConfig {
        rate: mbps(1_000.0),
        delay: Duration::from_micros(20),
        queue: QueueLimit::Time(Duration::from_micros(100)),
        ..LinkConfig::default()
    };
    let terms = Terms {
        rate: None,
        duration: Duration::from_millis(500),
        ..terms()
    };
    let (_, theirs) = counted(&mut World::new(terms, Limits::default(), link));
    let rate = theirs.bytes_received as f64 * 8.0 / 0.5;
    assert!(rate > 0.85e9, "{rate}");
}

#[test]
fn every_mode_makes_traffic() {
    for mode in [
        Mode::Rfc5348,
        Mode::Rfc3448,
        Mode::SmallPackets,
        Mode::Fixed,
    ] {
        let small = Terms {
            mode,
            length: 200,
            segment_size: 1_460,
            ..terms()
        };
        let (_, theirs) = counted(&mut World::with(Terms {
            rate: Some(mbps(0.1)),
            ..small
        }));
        assert!(theirs.packets_received > 200, "{mode:?}: {theirs:?}");
    }
}

#[test]
fn the_rate_is_in_proportion_to_the_segment_size() {
    let link = LinkConfig {
        delay: Duration::from_millis(50),
        loss: Loss::Bernoulli(0.01),
        ..LinkConfig::default()
    };
    for mode in [Mode::Rfc5348, Mode::Rfc3448] {
        let [half, whole] = [500, 1_000].map(|segment_size| {
            let terms = Terms {
                mode,
                rate: None,
                duration: Duration::from_secs(200),
                length: 1_000,
                segment_size,
                ..terms()
            };
            let (ours, _) = counted(&mut World::new(terms, Limits::default(), link));
            ours.bytes_sent as f64
        });
        assert!(
            (0.42..0.58).contains(&(half / whole)),
            "{mode:?}: {half} of {whole}"
        );
    }
}

#[test]
fn the_rate_that_is_told_is_that_of_the_end_and_not_what_silence_made_of_it() {
    let link = LinkConfig {
        delay: Duration::from_millis(10),
        loss: Loss::Bernoulli(0.01),
        ..LinkConfig::default()
    };
    let terms = Terms {
        rate: None,
        ..terms()
    };
    let mut world = World::new(terms.clone(), Limits::default(), link);
    while !matches!(world.client.phase(), Phase::Running(_)) {
        world.run_for(Duration::from_millis(1));
    }
    world.run_for(terms.duration - Duration::from_millis(2));
    let allowed = |world: &World| {
        let path = world.client.flows().next().and_then(|flow| flow.path);
        path.map(|path| path.allowed_rate)
    };
    let at_end = allowed(&world);
    assert_eq!(world.run_to_end(), Phase::Done);
    assert_eq!(allowed(&world), at_end);
}

#[test]
fn every_feedback_sets_the_rate() {
    let link = LinkConfig {
        rate: mbps(4.0),
        delay: Duration::from_millis(10),
        queue: QueueLimit::Time(Duration::from_millis(50)),
        ..LinkConfig::default()
    };
    for feedback in FeedbackMode::ALL {
        let terms = Terms {
            feedback,
            rate: None,
            duration: Duration::from_secs(20),
            ..terms()
        };
        let mut world = World::new(terms, Limits::default(), link);
        let (ours, theirs) = counted(&mut world);
        let rate = theirs.bytes_received as f64 * 8.0 / 20.0;
        assert!(rate > 0.8 * 4e6, "{feedback:?}: {rate}");
        let lost = ours.packets_sent - theirs.packets_received;
        assert!(
            lost > 0 && lost * 100 < ours.packets_sent,
            "{feedback:?}: {lost} of {}",
            ours.packets_sent
        );
    }
}

#[test]
fn losses_are_counted_where_they_are_seen() {
    let loss = Loss::Bernoulli(0.05);
    let delay = Duration::from_millis(25);
    let link = LinkConfig {
        delay,
        loss,
        ..LinkConfig::default()
    };
    let terms = Terms {
        mode: Mode::Fixed,
        duration: Duration::from_secs(30),
        ..terms()
    };
    let (ours, theirs) = counted(&mut World::new(terms, Limits::default(), link));
    let missing = ours.packets_sent - theirs.packets_received;
    assert!(
        missing > 0 && theirs.packets_lost.abs_diff(missing) <= 2,
        "{theirs:?}"
    );
}

#[test]
fn what_the_rate_control_does_is_told() {
    let mut world = World::with(terms());
    world.run_for(Duration::from_secs(3));
    let event = world.client.poll_event().expect("an event");
    assert_eq!(event.flow, 0);
    assert!(
        event
            .state
            .path
            .is_some_and(|path| path.allowed_rate > Rate::ZERO)
    );
    let more = std::iter::from_fn(|| world.client.poll_event()).count();
    assert!(more > 10 && world.client.events_lost() == 0, "{more}");
}

#[test]
fn receivers_report_when_they_are_told_to() {
    let run = |reports| {
        let terms = Terms {
            feedback: FeedbackMode::App,
            reports,
            ..terms()
        };
        let mut world = World::with(terms);
        world.run_for(Duration::from_secs(5));
        std::iter::from_fn(|| world.client.poll_event()).count()
    };
    let usual = ReportTiming::default();
    let once = run(usual);
    let often = run(ReportTiming {
        quarters: 1,
        ..usual
    });
    assert!(often > 2 * once, "{often} and {once}");
    // With compounds alone, one every 90 ms where one every 50 ms was due.
    let piggy_backed = run(ReportTiming {
        piggy_backed: true,
        session_bandwidth: Some(mbps(4.0)),
        ..usual
    });
    assert!(
        piggy_backed < once * 3 / 4 && piggy_backed > once / 4,
        "{piggy_backed} and {once}"
    );
}

#[test]
fn a_test_that_is_broken_off_has_results() {
    let mut world = World::with(Terms {
        duration: Duration::from_secs(500),
        ..terms()
    });
    world.run_for(Duration::from_secs(3));
    world.client.close(world.now);
    let (ours, theirs) = counted(&mut world);
    assert!(world.now.as_secs_f64() < 5.0);
    assert!(ours.packets_sent > 0 && ours.packets_sent == theirs.packets_received);
}
