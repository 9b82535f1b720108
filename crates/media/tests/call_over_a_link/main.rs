//! Whole calls over a modelled link, in virtual time: picture sizes are real, their contents are not.

mod outcome;
mod studio;
mod world;

use std::time::Duration;

use evenkeel_codec::quality::percentile;
use evenkeel_rtp::session::FeedbackMode;
use outcome::Outcome;
use tfrc::time::Instant;
use tfrc::units::Rate;
use world::{End, Scenario, World};

/// The bounds of a call on a path that serves it well.
fn assert_good(outcome: &Outcome) {
    assert!(outcome.media_over_link >= 0.85, "{outcome:#?}");
    assert!(outcome.delay_p95 <= 150.0, "{outcome:#?}");
    assert!(outcome.longest_gap <= 300.0, "{outcome:#?}");
    assert!(
        outcome.discarded.get("too_late").is_none_or(|&n| n <= 5),
        "{outcome:#?}"
    );
}

#[test]
fn call_uses_allowed_rate_on_time() {
    for seed in 1..=3 {
        let base = Scenario {
            seed,
            ..Scenario::new(60, 3_000, 25)
        };
        assert_good(&base.run());
        assert_good(
            &Scenario {
                seed,
                ..Scenario::new(20, 5_000, 25)
            }
            .run(),
        );
        assert_good(
            &Scenario {
                seed,
                ..Scenario::new(10, 20_000, 25)
            }
            .run(),
        );
    }
}

#[test]
fn both_directions_at_once_are_no_worse() {
    let outcome = Scenario {
        both: true,
        ..Scenario::new(60, 3_000, 25)
    }
    .run();
    assert_good(&outcome);
}

/// Reports of p and X_recv give a round trip each and nothing more.
#[test]
fn call_with_bare_round_trips_is_on_time() {
    for seed in 1..=3 {
        let outcome = Scenario {
            seed,
            feedback: FeedbackMode::Tfrc,
            ..Scenario::new(60, 3_000, 25)
        }
        .run();
        assert!(outcome.media_over_link >= 0.6, "{outcome:#?}");
        assert!(outcome.delay_p95 <= 150.0, "{outcome:#?}");
        assert!(outcome.longest_gap <= 300.0, "{outcome:#?}");
        // A queue of 50 ms that one sample a round trip has to keep from overflowing.
        assert!(outcome.damaged <= 50, "{outcome:#?}");
    }
}

#[test]
fn transit_bounds_let_call_use_link_on_time() {
    for seed in 1..=3 {
        let outcome = Scenario {
            seed,
            feedback: FeedbackMode::Tfrc,
            transit_bounds: true,
            ..Scenario::new(60, 3_000, 25)
        }
        .run();
        assert_good(&outcome);
        assert!(outcome.damaged <= 25, "{outcome:#?}");
    }
}

#[test]
fn low_frame_rate_meets_deadline_on_long_path() {
    let mut missed = Vec::new();
    for (rtt, kbps, fps) in [
        (60, 800, 10),
        (100, 800, 10),
        (100, 3_000, 10),
        (130, 1_000, 15),
        (150, 1_000, 15),
    ] {
        for seed in 1..=2 {
            let outcome = Scenario {
                seed,
                ..Scenario::new(rtt, kbps, fps)
            }
            .run();
            println!("{rtt} ms, {kbps} kb/s, {fps} fps, {seed}: {outcome:?}");
            let on_time = outcome.delay_p95 <= 150.0 && outcome.longest_gap <= 300.0;
            if outcome.media_over_link < 0.5 || outcome.loss > 0.005 || !on_time {
                missed.push((rtt, kbps, fps, seed));
            }
        }
    }
    assert_eq!(missed, []);
}

#[test]
fn long_path_is_never_silent_and_reports_stretching() {
    for seed in 1..=3 {
        let outcome = Scenario {
            seed,
            ..Scenario::new(200, 3_000, 25)
        }
        .run();
        assert!(outcome.longest_gap <= 300.0, "{outcome:#?}");
        assert!(
            outcome.stretched.iter().any(|(_, d)| d.is_some()),
            "{outcome:#?}"
        );
        assert!(outcome.shown >= 1_200, "{outcome:#?}");
    }
    // Half the round trip alone exceeds the deadline.
    let outcome = Scenario::new(320, 3_000, 25).run();
    let (_, last) = outcome.stretched[outcome.stretched.len() - 1];
    assert!(
        last.is_some_and(|deadline| deadline > Duration::from_millis(160)),
        "{outcome:#?}"
    );
    assert!(outcome.longest_gap <= 300.0, "{outcome:#?}");
    assert!(outcome.delay_p95 <= 300.0, "{outcome:#?}");
}

#[test]
fn configured_deadline_is_lengthened_only_where_needed() {
    struct Row {
        deadline_ms: u64,
        rtt_ms: u64,
        is_stretched: bool,
    }
    let row = |deadline_ms, rtt_ms, is_stretched| Row {
        deadline_ms,
        rtt_ms,
        is_stretched,
    };
    for row in [
        row(300, 40, false),
        row(300, 200, false),
        row(150, 200, true),
        row(300, 600, true),
        // A frame's interval and playout alone take 56 ms.
        row(20, 40, true),
    ] {
        let outcome = Scenario {
            deadline: Duration::from_millis(row.deadline_ms),
            seconds: 30,
            ..Scenario::new(row.rtt_ms, 3_000, 25)
        }
        .run();
        let last = outcome.stretched.last().copied();
        let is_stretched = last.is_some_and(|(_, deadline)| deadline.is_some());
        assert_eq!(
            (is_stretched, last.is_some()),
            (row.is_stretched, row.is_stretched),
            "{} ms over {} ms: {outcome:#?}",
            row.deadline_ms,
            row.rtt_ms
        );
        assert!(outcome.longest_gap <= 300.0, "{outcome:#?}");
    }
}

/// At 10 frames a second the deadline, not the interval, bounds a frame over a long path.
#[test]
fn longer_deadline_makes_larger_frames_at_low_rates() {
    let call = |deadline_ms| {
        Scenario {
            deadline: Duration::from_millis(deadline_ms),
            seconds: 30,
            ..Scenario::new(130, 1_000, 10)
        }
        .run()
    };
    let [usual, longer] = [150, 300].map(call);
    assert!(usual.media_over_link <= 0.5, "{usual:#?}");
    assert!(usual.delay_p95 <= 150.0, "{usual:#?}");
    assert!(longer.media_over_link >= 0.9, "{longer:#?}");
    assert!(longer.delay_p95 <= 300.0, "{longer:#?}");
}

/// Frames of their usual size arrive near 150 ms, where playout keeps no time for jitter.
#[test]
fn longer_deadline_leaves_playout_room_for_jitter() {
    let late = |deadline_ms| {
        let outcome = Scenario {
            deadline: Duration::from_millis(deadline_ms),
            seconds: 30,
            ..Scenario::new(130, 1_000, 25)
        }
        .run();
        outcome.late
    };
    let [usual, longer] = [150, 300].map(late);
    assert!(longer < usual, "{longer} frames late, {usual} with 150 ms");
}

#[test]
fn two_percent_loss_damages_frames_and_stops_none() {
    let outcome = Scenario {
        loss: 0.02,
        ..Scenario::new(60, 3_000, 25)
    }
    .run();
    assert!(outcome.shown >= 1_230, "{outcome:#?}");
    assert!(outcome.damaged > 0, "{outcome:#?}");
    assert!(outcome.delay_p95 <= 150.0, "{outcome:#?}");
    assert!(outcome.longest_gap <= 300.0, "{outcome:#?}");
}

#[test]
fn reordering_damages_nothing() {
    let calm = Scenario::new(60, 3_000, 25).run();
    let outcome = Scenario {
        reordering: Some(20),
        ..Scenario::new(60, 3_000, 25)
    }
    .run();
    assert_good(&outcome);
    assert!(outcome.damaged <= calm.damaged + 10, "{outcome:#?}");
}

/// From when pictures follow each other again, counted from the end of the stop.
fn recovery(outcome: &Outcome, resumed: Instant) -> Duration {
    let shown = &outcome.shown_at.0;
    let gap =
        |pair: &&[Instant]| pair[1] > resumed && pair[1] - pair[0] > Duration::from_millis(150);
    let last = shown.windows(2).rev().find(|pair| gap(pair));
    last.map_or(Duration::ZERO, |pair| pair[1].saturating_since(resumed))
}

#[test]
fn a_call_recovers_when_either_end_was_stopped() {
    for end in [End::Sender, End::Receiver] {
        let (from, until) = (Instant::from_secs(20), Instant::from_secs(22));
        let outcome = Scenario {
            stop: Some((end, from, until)),
            ..Scenario::new(60, 3_000, 25)
        }
        .run();
        assert!(
            recovery(&outcome, until) <= Duration::from_secs(1),
            "{outcome:#?}"
        );
        assert!(outcome.delay_p95 <= 150.0, "{outcome:#?}");
    }
}

#[test]
fn call_resumes_after_long_absence_of_receiver() {
    let (from, until) = (Instant::from_secs(15), Instant::from_secs(35));
    let stop = Some((End::Receiver, from, until));
    let outcome = Scenario {
        stop,
        ..Scenario::new(60, 3_000, 25)
    }
    .run();
    assert!(
        recovery(&outcome, until) <= Duration::from_secs(10),
        "{outcome:#?}"
    );
}

/// Five minutes of frames tell of the clocks.
const LEARNT: Instant = Instant::from_secs(315);

/// Ten minutes between clocks that part by 12 ms in each. The camera is off for three of them, in which they part by 36 ms.
#[test]
#[ignore = "at +200 ppm the 95th percentile after the pause is 4.5 ms above that of one clock, for 4"]
fn drifting_clocks_make_frames_neither_late_nor_old() {
    let [off, on] = [360, 540].map(Instant::from_secs);
    let end = Instant::from_secs(600);
    let call = |drift_ppm| {
        let mut world = World::new(Scenario {
            seconds: 600,
            pause: Some((off, on)),
            drift_ppm,
            ..Scenario::new(60, 1_000, 10)
        });
        world.run();
        let delays = |between| world.delays(0, between);
        let p95 = |between| percentile(&delays(between), 95.0).expect("frames");
        let minutes = [[60, 120], [300, 360]].map(|minute| p95(minute.map(Instant::from_secs)));
        let held = world.first_held_after(on).as_secs_f64() * 1e3;
        let late = world.late_after(LEARNT);
        (
            world.outcome(),
            [minutes[0], minutes[1], p95([on, end])],
            (held, late),
        )
    };
    let (usual, usual_delays, (usual_held, usual_late)) = call(0);
    let superseded = |of: &Outcome| of.not_shown.get("superseded").copied().unwrap_or(0);
    for drift_ppm in [-200, 200] {
        let (outcome, delays, (held, late)) = call(drift_ppm);
        println!(
            "{drift_ppm} ppm: 95th percentiles {delays:?} ms, by one clock {usual_delays:?}; the first after the pause held for {held} ms, {usual_held}; {late} late, {usual_late}"
        );
        for (delay, usual) in delays.iter().zip(usual_delays) {
            assert!((delay - usual).abs() <= 4.0, "{drift_ppm} ppm");
        }
        assert!(
            // Of one frame, where the clocks have parted by 36.
            (held - usual_held).abs() <= 12.0,
            "{drift_ppm} ppm: {held} ms"
        );
        assert!(
            late <= usual_late + usual_late / 4,
            "{drift_ppm} ppm: {late} frames late, {usual_late} by one clock"
        );
        assert!(
            superseded(&outcome) <= superseded(&usual),
            "{drift_ppm} ppm: {outcome:#?}"
        );
    }
}

/// The least that the encoder makes is more than X carries in an interval: 2.5 kB, with headers 2.7, where 500 kb/s carry 2.5.
/// (When such frames waited for the last packet to let something leave, 752 of 1,499 were shown, with 0.72 of the link.)
#[test]
fn incompressible_frames_leave_once_buffer_is_empty() {
    let outcome = Scenario::new(60, 500, 25).run();
    assert_good(&outcome);
    assert!(outcome.shown_at.0.len() >= 1_300, "{outcome:#?}");
}

#[test]
fn the_same_seed_gives_the_same_call() {
    let run = || {
        Scenario {
            seconds: 20,
            loss: 0.01,
            ..Scenario::new(60, 3_000, 25)
        }
        .run()
    };
    assert_eq!(run().shown_at.0, run().shown_at.0);
}

#[test]
fn call_recovers_within_two_seconds_of_rate_fall() {
    (1..=3).for_each(fall_to_a_quarter);
}

fn fall_to_a_quarter(seed: u64) {
    let rate = |kbps: f64| Rate::from_bits_per_sec(kbps * 1e3);
    let mut world = World::new(Scenario {
        seed,
        ..Scenario::new(60, 8_000, 25)
    });
    world.run_until(Instant::from_secs(12));
    world.set_rate(rate(2_000.0));
    world.run_until(Instant::from_secs(13));
    let (received, lost, _) = world.link_state();
    world.run_until(Instant::from_secs(14));
    let (.., queue) = world.link_state();
    world.run_until(Instant::from_secs(24));
    let (received_after, lost_after, _) = world.link_state();
    let share = (lost_after - lost) as f64 / (received_after - received) as f64;
    let outcome = world.outcome_of(0, Instant::from_secs(12));
    assert!(share <= 0.02, "{share}");
    assert!(queue <= Duration::from_millis(60), "{queue:?}");
    let since = |at: &Instant| at.saturating_since(Instant::from_secs(12));
    let damaged: Vec<Duration> = outcome.damaged_at.iter().map(since).collect();
    assert!(damaged.len() <= 15, "{damaged:?}");
    assert!(outcome.longest_gap <= 300.0, "{outcome:#?}");
    world.set_rate(rate(8_000.0));
    while world.allowed_rate() < rate(5_000.0) {
        assert!(world.now() < Instant::from_secs(36), "{outcome:#?}");
        world.run_until(world.now() + Duration::from_millis(100));
    }
}
