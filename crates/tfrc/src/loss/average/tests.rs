//! Tests of the averages: p from given loss intervals.

use super::super::interval::{Intervals, Rules};
use super::*;
use std::vec::Vec;

const RTT: Duration = Duration::from_secs(1);

/// Returns closed intervals of these lengths, oldest first, and a current one that has just begun. Each has one
/// lost packet at 100 packets a second, and the first event is at packet 1,000.
fn intervals(average: Average, lengths: &[u64]) -> (Intervals, u64) {
    let mut intervals = Intervals::new(Rules {
        average,
        discount_floor: 1.0,
        small_packets: false,
        restores: false,
    });
    let mut start = 1_000;
    for (i, length) in lengths.iter().enumerate() {
        if i > 0 {
            start += length;
        }
        let at = Instant::from_millis(start * 10);
        intervals.begin_event(start, at, now(start), || *length as f64);
        intervals.add_losses(1, start);
    }
    (intervals, start)
}

fn now(highest: u64) -> Now {
    Now {
        highest,
        at: Instant::from_millis(highest * 10),
        rtt: RTT,
    }
}

/// Returns 1/p if I_0 has the length `current`.
fn mean(average: Average, lengths: &[u64], current: u64) -> f64 {
    let (intervals, start) = intervals(average, lengths);
    1.0 / intervals.loss_event_rate(now(start + current - 1)).get()
}

fn close(value: f64, expected: f64) {
    assert!(
        (value / expected - 1.0).abs() < 1e-12,
        "{value} is not {expected}"
    );
}

/// The expected weights are from RFC 5348 §5.4 and, for other n, from figure 18 of the paper.
#[test]
fn falling_weights_are_the_standards() {
    assert_eq!(Weights::falling(8), Weights::default());
    assert_eq!(Weights::falling(2).0, [1.0, 0.5]);
    assert_eq!(Weights::falling(5).0, [1.0, 1.0, 1.0, 4.0 / 7.0, 2.0 / 7.0]);
    let long = Weights::falling(32).0;
    assert_eq!((long.len(), long[15], long[31]), (32, 1.0, 2.0 / 34.0));
}

#[test]
fn weights_that_weigh_nothing_are_refused() {
    assert!(Weights::new(&[1.0, 0.0, 0.25]).is_some());
    for weights in [
        &[][..],
        &[0.0, 1.0],
        &[1.0, -1.0],
        &[f64::NAN],
        &[1.0, f64::NAN],
        &[f64::INFINITY],
        &[1.0, f64::INFINITY],
        &[1.0; 33],
    ] {
        assert_eq!(Weights::new(weights), None);
    }
}

#[test]
fn n_intervals_are_remembered_and_no_more() {
    let lengths: Vec<u64> = (1..=40).map(|i| i * 10).collect();
    for (n, expected) in [(1, 400.0), (4, 385.0), (32, 245.0)] {
        close(
            mean(Average::Weighted(Weights::equal(n)), &lengths, 1),
            expected,
        );
    }
}

#[test]
fn the_plain_average_counts_the_current_interval_at_once() {
    let plain = Average::Plain(4);
    close(mean(plain, &[100; 9], 1), 301.0 / 4.0);
    close(mean(plain, &[100; 9], 500), 800.0 / 4.0);
    // The weighted average keeps p: this was the paper's first change.
    close(
        mean(Average::Weighted(Weights::equal(4)), &[100; 9], 1),
        100.0,
    );
}

#[test]
fn the_ewma_gives_the_newest_interval_its_weight() {
    let ewma = Average::Ewma(0.25);
    close(mean(ewma, &[100, 100, 200], 1), 125.0);
    close(mean(ewma, &[100, 200, 100], 1), 118.75);
    close(mean(ewma, &[100, 100, 200], 325), 175.0);
    close(mean(Average::Ewma(1.0), &[100, 100, 200], 1), 200.0);
}

/// A round trip has 100 packets, so ten round trips are a window of 1,000 packets.
#[test]
fn the_history_window_counts_the_events_in_it() {
    let window = Average::Window(10);
    // The events are 95, 195 … 995 packets back, then 105, 205 … 905.
    close(mean(window, &[100; 20], 95), 100.0);
    close(mean(window, &[100; 20], 105), 1_000.0 / 9.0);
    // Beyond the last event the window contains no further one.
    close(mean(window, &[100; 20], 1_500), 1_500.0);
}

/// The paper criticises the window because events of periodic loss enter and leave it.
#[test]
fn periodic_loss_makes_noise_in_the_window_and_none_in_the_weighted_average() {
    let spread = |average| {
        let means = (1..=70).map(|current| mean(average, &[70; 33], current));
        let (least, most) = means.fold((f64::MAX, 0.0_f64), |(least, most), mean| {
            (least.min(mean), most.max(mean))
        });
        most / least
    };
    close(spread(Average::default()), 1.0);
    assert!(spread(Average::Window(10)) > 1.05);
}

#[test]
fn a_late_packet_takes_its_event_out_of_every_average() {
    for average in [
        Average::default(),
        Average::Plain(8),
        Average::Ewma(0.25),
        Average::Window(10),
    ] {
        let (mut merged, start) = intervals(average, &[100, 40, 60, 100]);
        assert!(merged.undo_loss(start - 100));
        let (whole, _) = intervals(average, &[100, 40, 160]);
        let at = now(start + 30);
        assert_eq!(
            merged.loss_event_rate(at),
            whole.loss_event_rate(at),
            "{average:?}"
        );
    }
}
