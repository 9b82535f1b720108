//! Tests of the loss intervals: events, discounts and undone events.

use super::*;
use proptest::prelude::*;
use std::vec::Vec;

fn rules(discounting: bool) -> Rules {
    Rules {
        average: Average::default(),
        discount_floor: if discounting { 0.25 } else { 1.0 },
        small_packets: false,
        restores: false,
    }
}

fn now(highest: u64) -> Now {
    Now {
        highest,
        at: Instant::ZERO,
        rtt: Duration::from_secs(1),
    }
}

/// Returns intervals of these lengths, oldest first; the first is the synthetic one. Packet numbers start at 1,000,
/// and each event is one lost packet.
fn intervals(lengths: &[u64], discounting: bool) -> (Intervals, u64) {
    let mut intervals = Intervals::new(rules(discounting));
    let mut start = 1_000;
    for (i, length) in lengths.iter().enumerate() {
        if i > 0 {
            start += length;
        }
        intervals.begin_event(start, Instant::from_secs(i as u64), now(start - 1), || {
            *length as f64
        });
        intervals.add_losses(1, start);
    }
    (intervals, start)
}

fn close(p: LossEventRate, expected: f64) {
    assert!(
        (p.get() - expected).abs() < 1e-15,
        "{} is not {expected}",
        p.get()
    );
}

#[test]
fn before_the_first_event_p_is_zero() {
    assert!(
        Intervals::new(rules(true))
            .loss_event_rate(now(5))
            .is_zero()
    );
}

#[test]
fn one_event_gives_the_synthetic_interval_until_the_current_outgrows_it() {
    let (intervals, start) = intervals(&[50], true);
    close(intervals.loss_event_rate(now(start)), 1.0 / 50.0);
    close(intervals.loss_event_rate(now(start + 79)), 1.0 / 80.0);
}

#[test]
fn a_steady_loss_gives_its_rate_and_the_current_interval_counts_only_when_it_helps() {
    let (intervals, start) = intervals(&[100; 9], true);
    close(intervals.loss_event_rate(now(start)), 0.01);
    close(intervals.loss_event_rate(now(start + 99)), 0.01);
    // With I_0 = 160 the sum is 160 + 3·100 + 0.8·100 + … = 660, and the weights sum to 6.
    close(intervals.loss_event_rate(now(start + 159)), 6.0 / 660.0);
}

#[test]
fn weights_fall_after_the_fourth_interval() {
    let lengths: Vec<u64> = (1..=8).map(|i| i * 10).collect();
    let (intervals, start) = intervals(&lengths, false);
    // Newest first: 80 70 60 50 40 30 20 10.
    let total = 80.0 + 70.0 + 60.0 + 50.0 + 40.0 * 0.8 + 30.0 * 0.6 + 20.0 * 0.4 + 10.0 * 0.2;
    close(intervals.loss_event_rate(now(start)), 6.0 / total);
}

#[test]
fn discounting_is_right_to_the_digit() {
    let (intervals, start) = intervals(&[100; 9], true);
    // I_0 = 400, I_mean = 100: DF = 200/400 = 0.5, so 400 + 0.5·500 over 1 + 0.5·5.
    close(intervals.loss_event_rate(now(start + 399)), 3.5 / 650.0);
    // I_0 = 1000: DF would be 0.2 and is held at 0.25.
    close(intervals.loss_event_rate(now(start + 999)), 2.25 / 1_125.0);
}

#[test]
fn a_discount_stays_with_its_intervals_when_the_next_event_comes() {
    let (mut intervals, start) = intervals(&[100; 9], true);
    intervals.begin_event(
        start + 400,
        Instant::from_secs(99),
        now(start + 399),
        || 0.0,
    );
    intervals.add_losses(1, start + 400);
    // I_1 = 400 with DF_1 = 1; I_2 … I_8 = 100 with DF = 0.5.
    let expected = (1.0 + 0.5 * 5.0) / (400.0 + 0.5 * 500.0);
    close(intervals.loss_event_rate(now(start + 400)), expected);
}

#[test]
fn a_recovered_event_merges_its_interval_with_the_one_before() {
    let (mut intervals, start) = intervals(&[100, 40, 60], false);
    // The events are at 1000, 1040 and 1100. The last is undone: I_0 runs from 1040 on.
    assert!(intervals.undo_loss(start));
    assert_eq!(intervals.event_start(), Some(1_040));
    close(intervals.loss_event_rate(now(start)), 2.0 / (40.0 + 100.0));
    // The middle of three events is undone, and its interval joins the one before.
    let (mut intervals, start) = self::intervals(&[100, 40, 60], false);
    assert!(intervals.undo_loss(1_040));
    close(intervals.loss_event_rate(now(start)), 2.0 / (100.0 + 100.0));
}

#[test]
fn an_event_that_restores_leaves_no_trace_when_it_is_taken_back() {
    let lengths = [50, 100, 100, 100, 100, 100, 100, 100, 70, 40];
    for restores in [true, false] {
        let (mut intervals, start) = intervals(&lengths, true);
        intervals.rules.restores = restores;
        let p = |intervals: &Intervals| intervals.loss_event_rate(now(start + 450)).get();
        let before = p(&intervals);
        // At I_0 = 401 the other intervals are discounted, and the oldest is forgotten.
        let at = Instant::from_secs(99);
        intervals.begin_event(start + 401, at, now(start + 400), || 0.0);
        intervals.add_losses(1, start + 401);
        assert!(intervals.undo_loss(start + 401));
        let is_same = (p(&intervals) / before - 1.0).abs() < 1e-12;
        assert_eq!(is_same, restores);
    }
}

#[test]
fn a_packet_above_all_losses_of_an_event_takes_nothing_of_it_back() {
    let (mut intervals, start) = intervals(&[100, 50], true);
    assert!(!intervals.undo_loss(start + 1));
    assert!(intervals.undo_loss(start));
}

#[test]
fn when_the_only_event_is_recovered_there_was_no_loss() {
    let (mut intervals, start) = intervals(&[100], true);
    assert!(intervals.undo_loss(start));
    assert!(intervals.loss_event_rate(now(start)).is_zero());
}

#[test]
fn an_event_of_two_losses_survives_the_recovery_of_one() {
    let (mut intervals, start) = intervals(&[100, 50], true);
    intervals.add_losses(1, start + 1);
    assert!(!intervals.undo_loss(start));
    assert!(intervals.undo_loss(start + 1));
}

proptest! {
    /// Whatever intervals follow, a discount factor only falls (RFC 5348 §5.5).
    #[test]
    fn no_discounted_interval_is_ever_undiscounted(lengths in prop::collection::vec(1u64..2_000, 1..40)) {
        let (mut intervals, mut start) = self::intervals(&[100], true);
        for length in lengths {
            let before = intervals.clone();
            start += length;
            intervals.begin_event(start, Instant::ZERO, self::now(start - 1), || 0.0);
            intervals.add_losses(1, start);
            prop_assert_eq!((intervals.recent[0].discount, intervals.recent[1].discount), (1.0, 1.0));
            for i in 2..intervals.len {
                let (now, then) = (intervals.recent[i], before.recent[i - 1]);
                prop_assert_eq!(now.start, then.start);
                prop_assert!(now.discount <= then.discount && now.discount >= then.discount * 0.25);
            }
        }
    }
}
