//! Tests of display times: jitter, pauses, deadlines and the drift of clocks.

use super::*;
use proptest::prelude::*;

const TICKS: i64 = 3_600;
const INTERVAL: Duration = Duration::from_millis(40);
const START: Instant = Instant::from_secs(1);
const DEADLINE: Duration = Duration::from_millis(150);

/// Lets frame `n` of 25 a second arrive this long after its capture.
fn arrive(playout: &mut Playout, n: i64, transit_ms: u64) -> bool {
    let captured = START + INTERVAL * n as u32;
    playout.frame_arrived(n * TICKS, captured + Duration::from_millis(transit_ms))
}

fn run(playout: &mut Playout, frames: std::ops::Range<i64>, transit_ms: u64) {
    for n in frames {
        arrive(playout, n, transit_ms);
    }
}

/// Returns the time from capture to display of frame `n`.
fn delay(playout: &Playout, n: i64) -> Duration {
    let captured = START + INTERVAL * n as u32;
    playout
        .display_at(n * TICKS)
        .unwrap()
        .saturating_since(captured)
}

#[test]
fn first_frame_is_shown_on_arrival() {
    let mut playout = Playout::new(90_000, DEADLINE);
    assert_eq!(playout.display_at(0), None);
    assert!(!arrive(&mut playout, 0, 70));
    assert_eq!(delay(&playout, 0), Duration::from_millis(70) + TIMER_GUARD);
}

#[test]
fn delay_is_the_transit_of_nearly_all_frames() {
    let mut playout = Playout::new(90_000, DEADLINE);
    let late = (0..400)
        .filter(|&n| arrive(&mut playout, n, 70 + (n as u64 * 7) % 20))
        .count();
    let settled = delay(&playout, 400);
    assert!((88..=91).contains(&settled.as_millis()), "{settled:?}");
    assert!(late < 10, "{late}");
    assert!(playout.allowance() <= Duration::from_millis(21));
}

#[test]
fn it_grows_at_once_and_shrinks_slowly() {
    let mut playout = Playout::new(90_000, DEADLINE);
    run(&mut playout, 0..100, 70);
    run(&mut playout, 100..110, 110);
    assert_eq!(
        delay(&playout, 110),
        Duration::from_millis(110) + TIMER_GUARD
    );
    // The slow frames are a second old after this, and the delay falls by 50 ms a second.
    run(&mut playout, 110..135, 70);
    assert_eq!(
        delay(&playout, 135),
        Duration::from_millis(110) + TIMER_GUARD
    );
    run(&mut playout, 135..146, 70);
    let half_way = delay(&playout, 146);
    assert!((85..=95).contains(&half_way.as_millis()), "{half_way:?}");
    run(&mut playout, 146..160, 70);
    assert_eq!(
        delay(&playout, 160),
        Duration::from_millis(70) + TIMER_GUARD
    );
}

#[test]
fn slow_first_frame_does_not_hold_up_others() {
    let mut playout = Playout::new(90_000, DEADLINE);
    arrive(&mut playout, 0, 1_000);
    arrive(&mut playout, 25, 70);
    assert_eq!(delay(&playout, 25), Duration::from_millis(70) + MAX_SPREAD);
    run(&mut playout, 26..100, 70);
    assert_eq!(
        delay(&playout, 100),
        Duration::from_millis(70) + TIMER_GUARD
    );
}

#[test]
fn a_pause_gives_no_delay_up() {
    for pause in [50, 75, 200] {
        let mut playout = Playout::new(90_000, DEADLINE);
        run(&mut playout, 0..75, 70);
        run(&mut playout, 75..100, 110);
        // The first frame after the pause finds no queue, the later ones do.
        arrive(&mut playout, 100 + pause, 70);
        let kept = delay(&playout, 101 + pause);
        assert!(kept >= Duration::from_millis(102), "{pause}: {kept:?}");
    }
}

#[test]
fn at_two_frames_a_second_the_window_decides() {
    let mut playout = Playout::new(90_000, DEADLINE);
    for n in 0..8 {
        arrive(&mut playout, n * 13, 70);
    }
    arrive(&mut playout, 8 * 13, 110);
    // Six more frames are three seconds.
    for n in 9..15 {
        arrive(&mut playout, n * 13, 70);
        assert_eq!(
            delay(&playout, n * 13),
            Duration::from_millis(110) + TIMER_GUARD
        );
    }
}

#[test]
fn one_outlier_moves_nothing() {
    let mut playout = Playout::new(90_000, DEADLINE);
    run(&mut playout, 0..100, 70);
    assert!(arrive(&mut playout, 100, 900));
    assert_eq!(
        delay(&playout, 101),
        Duration::from_millis(70) + TIMER_GUARD
    );
}

#[test]
fn playout_adds_no_more_than_its_bound() {
    let mut playout = Playout::new(90_000, DEADLINE);
    for n in 0..100 {
        arrive(&mut playout, n, if n % 2 == 0 { 50 } else { 400 });
    }
    assert_eq!(playout.allowance(), MAX_SPREAD);
}

/// Returns a playout with known ages. The round trip takes 100 ms, and packets without a queue have a transit of 70
/// ms from an unknown origin, so the deadline is at 170 ms of transit.
fn with_known_ages() -> Playout {
    let mut playout = Playout::new(90_000, DEADLINE);
    let arrival = START + Duration::from_millis(70);
    playout.packet_arrived(0, arrival + INTERVAL, Some(Duration::from_millis(100)));
    playout.report_arrived(0, arrival);
    playout
}

#[test]
fn timely_frames_are_shown_in_time() {
    let mut playout = with_known_ages();
    let late = (0..100)
        .filter(|&n| arrive(&mut playout, n, if n % 4 == 0 { 185 } else { 130 }))
        .count();
    assert_eq!(
        delay(&playout, 100),
        Duration::from_millis(170) - TIMER_GUARD
    );
    assert!((24..=25).contains(&late), "{late}");
}

#[test]
fn what_the_display_takes_counts_against_the_deadline() {
    let mut playout = with_known_ages();
    let mut shown_at = |took_ms, frames: std::ops::Range<i64>| {
        for n in frames.clone() {
            // Without a deadline the delay would be that of one frame in ten.
            arrive(&mut playout, n, if n % 10 == 0 { 169 } else { 130 });
            // A late display of one frame in forty is an exception.
            let exception = n % 40 == 39;
            playout.frame_displayed(Duration::from_millis(if exception { 90 } else { took_ms }));
        }
        delay(&playout, frames.end) + Duration::from_millis(took_ms)
    };
    let deadline = Duration::from_millis(170);
    assert_eq!(
        shown_at(1, 0..100),
        deadline - TIMER_GUARD + Duration::from_millis(1)
    );
    assert_eq!(shown_at(15, 100..200), deadline);
    assert_eq!(shown_at(25, 200..300), deadline);
    // A display that takes more than frames leave ends the deadline, not the motion.
    assert!(shown_at(60, 300..400) > deadline);
    assert_eq!(shown_at(15, 400..500), deadline);
}

#[test]
fn a_delay_beyond_the_deadline_ends_at_once() {
    let mut playout = with_known_ages();
    run(&mut playout, 0..100, 200);
    assert_eq!(
        delay(&playout, 100),
        Duration::from_millis(200) + TIMER_GUARD
    );
    run(&mut playout, 100..103, 140);
    assert_eq!(
        delay(&playout, 103),
        Duration::from_millis(200) + TIMER_GUARD
    );
    run(&mut playout, 103..105, 140);
    assert_eq!(
        delay(&playout, 105),
        Duration::from_millis(170) - TIMER_GUARD
    );
}

#[test]
fn motion_stays_even_when_most_miss_the_deadline() {
    let mut playout = with_known_ages();
    let late = (0..100)
        .filter(|&n| arrive(&mut playout, n, 180 + (n as u64 * 7) % 20))
        .count();
    assert!(late < 5, "{late}");
    assert!(delay(&playout, 100) >= Duration::from_millis(198));
}

#[test]
fn a_drifting_clock_is_followed() {
    let mut playout = Playout::new(90_000, DEADLINE);
    // At 1000 ppm the transit shrinks or grows by 1 ms a second.
    let late = (0..2_500)
        .filter(|&n| arrive(&mut playout, n, 200 - n as u64 / 25))
        .count();
    assert_eq!(late, 0);
    assert!(delay(&playout, 2_500) <= Duration::from_millis(107));
    let late = (2_500..5_000)
        .filter(|&n| arrive(&mut playout, n, n as u64 / 25))
        .count();
    assert!(late < 125, "{late}");
}

/// Returns how late a frame is shown after a pause of five minutes, while the clocks drift. The camera was on for
/// ten minutes before. The result is the difference from the usual time on the receiver's clock, in milliseconds.
fn late_after_a_pause(ppm: i64, transit_ms: i64) -> i64 {
    let mut playout = Playout::new(90_000, DEADLINE);
    let arrival = |n: i64| {
        let captured = (START + INTERVAL * n as u32).as_nanos() as i64;
        let nanos = captured + transit_ms * 1_000_000 + captured / 1_000_000 * ppm;
        Instant::from_nanos(nanos as u64)
    };
    let held = |playout: &Playout, n: i64| {
        let due = playout.display_at(n * TICKS).unwrap();
        (due.as_nanos() as i64 - arrival(n).as_nanos() as i64) / 1_000_000
    };
    for n in 0..15_000 {
        playout.frame_arrived(n * TICKS, arrival(n));
        // No frame is shown later or sooner when the drift becomes known.
        let held = held(&playout, n);
        assert!((0..=3).contains(&held), "{ppm} ppm: frame {n}: {held} ms");
    }
    let next = 22_500;
    let late = playout.frame_arrived(next * TICKS, arrival(next));
    assert!(!late, "{ppm} ppm");
    held(&playout, next)
}

#[test]
fn drift_costs_no_delay_after_a_pause() {
    for ppm in [-200, -50, 0, 50, 200] {
        let held = late_after_a_pause(ppm, 70);
        assert!((0..=3).contains(&held), "{ppm} ppm: {held} ms");
    }
}

#[test]
fn clock_jump_is_distinguished_from_jitter() {
    let mut playout = Playout::new(90_000, DEADLINE);
    arrive(&mut playout, 0, 70);
    let arrival = START + Duration::from_secs(3);
    assert!(!playout.is_discontinuous(0, arrival));
    assert!(playout.is_discontinuous(0, START + Duration::from_secs(6)));
    assert!(playout.is_discontinuous(900_000, arrival));
    playout.reset();
    assert!(!playout.is_discontinuous(900_000, arrival));
}

proptest! {
    #[test]
    fn display_order_follows_timestamps_for_any_input(
        samples in proptest::collection::vec((any::<i64>(), any::<u64>()), 0..300),
        clock_rate in any::<u32>(),
        rtt in any::<bool>(),
    ) {
        let mut playout = Playout::new(clock_rate, DEADLINE);
        for (timestamp, arrival) in samples {
            let arrival = Instant::from_nanos(arrival);
            playout.packet_arrived(timestamp, arrival, rtt.then_some(Duration::from_micros(u64::from(timestamp as u32))));
            playout.frame_arrived(timestamp, arrival);
            playout.is_discontinuous(timestamp, arrival);
            prop_assert!(playout.display_at(timestamp) <= playout.display_at(timestamp.saturating_add(1)));
            prop_assert!(playout.recent.len() <= MAX_SAMPLES);
        }
    }
}
