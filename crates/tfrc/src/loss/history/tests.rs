//! Tests of the reception record: which packets are missing, and which are lost.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::vec::Vec;

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn next_loss(history: &mut History) -> Option<Hole> {
    history.next_loss(&Reordering::new(false), Duration::from_secs(1))
}

fn feed(history: &mut History, seqs: &[u64]) -> Vec<Hole> {
    let mut losses = Vec::new();
    for seq in seqs {
        history.record(*seq, at(*seq));
        losses.extend(core::iter::from_fn(|| next_loss(history)));
    }
    losses
}

#[test]
fn three_arrivals_above_make_a_loss_and_two_do_not() {
    let mut history = History::new(Standard::Rfc5348);
    assert!(feed(&mut history, &[1, 3, 4]).is_empty());
    let losses = feed(&mut history, &[5]);
    assert_eq!((losses[0].first, losses[0].last), (2, 2));
}

#[test]
fn a_packet_overtaken_by_two_is_no_loss() {
    assert!(feed(&mut History::new(Standard::Rfc5348), &[1, 3, 4, 2, 5, 6, 7]).is_empty());
}

#[test]
fn a_packet_overtaken_by_three_is_lost_then_recovered() {
    let mut history = History::new(Standard::Rfc5348);
    assert_eq!(feed(&mut history, &[1, 5, 4, 3]).len(), 1);
    let lateness = Lateness {
        places: 3,
        time: Duration::from_millis(4),
    };
    assert_eq!(history.record(2, at(9)), Recorded::Recovered(lateness));
    assert_eq!(history.record(2, at(10)), Recorded::Duplicate);
}

#[test]
fn the_time_of_a_loss_is_interpolated() {
    let mut history = History::new(Standard::Rfc5348);
    history.record(10, at(100));
    history.record(15, at(200));
    let hole = *history.pending.first().unwrap();
    assert_eq!(hole.nominal_time(11), at(120));
    assert_eq!(hole.nominal_time(14), at(180));
    assert_eq!(hole.packets_until(11, at(150)), 2);
    assert_eq!(hole.packets_until(11, at(500)), 4);
    assert_eq!(hole.packets_until(11, at(110)), 0);
}

#[test]
fn packets_of_one_nanosecond_are_counted_at_once() {
    let mut history = History::new(Standard::Rfc5348);
    history.record(0, Instant::from_nanos(0));
    history.record(1 << 62, Instant::from_nanos(4));
    let hole = *history.pending.first().unwrap();
    let count = hole.packets_until(1, Instant::from_nanos(1));
    assert_eq!(count, (1 << 61) - 1);
    assert_eq!(hole.nominal_time(count).as_nanos(), 1);
    assert_eq!(hole.nominal_time(count + 1).as_nanos(), 2);
}

#[test]
fn the_arrival_before_is_the_last_to_arrive_not_the_highest() {
    let mut history = History::new(Standard::Rfc5348);
    // 3 is the highest, yet 2 arrived last before 5 did.
    for (seq, ms) in [(1, 10), (3, 20), (2, 30), (5, 50)] {
        history.record(seq, at(ms));
    }
    // S_before = 2 at 30 ms, S_after = 5 at 50 ms: 4 lies two thirds of the way.
    assert_eq!(
        history.pending.first().unwrap().nominal_time(4).as_micros(),
        43_333
    );
}

/// RFC 3448 §5.2: "T_before can either be before or after T_after due to reordering".
#[test]
fn in_rfc_3448_a_late_packet_is_the_one_before() {
    let mut history = History::new(Standard::Rfc3448);
    for (seq, ms) in [(1, 10), (3, 20), (7, 50), (2, 60)] {
        history.record(seq, at(ms));
    }
    // S_before = 2 at 60 ms, S_after = 7 at 50 ms: times fall by 2 ms a packet.
    let hole = *history.pending.first().unwrap();
    assert_eq!((hole.first, hole.nominal_time(5)), (4, at(54)));
    assert_eq!(hole.packets_until(5, at(54)), 2);
    assert_eq!(hole.packets_until(5, at(53)), 0);
}

#[test]
fn a_jump_of_any_size_is_one_hole() {
    let mut history = History::new(Standard::Rfc5348);
    let losses = feed(
        &mut history,
        &[1, u64::MAX / 2, u64::MAX / 2 + 1, u64::MAX / 2 + 2],
    );
    assert_eq!(losses.len(), 1);
    assert_eq!(losses[0].first, 2);
}

proptest! {
    /// In any order each packet is new once, and each loss is a packet that had not arrived.
    #[test]
    fn packets_are_new_once_and_losses_were_missing(seqs in prop::collection::vec(1u64..120, 1..300)) {
        let mut history = History::new(Standard::Rfc5348);
        let (mut seen, mut lost) = (BTreeSet::new(), BTreeSet::new());
        let mut first = None;
        for (now, seq) in seqs.into_iter().enumerate() {
            let recorded = history.record(seq, at(now as u64));
            let first = *first.get_or_insert(seq);
            if seq > first || seen.is_empty() {
                let as_expected = match recorded {
                    Recorded::Duplicate => seen.contains(&seq),
                    Recorded::Recovered(_) => lost.contains(&seq),
                    Recorded::New | Recorded::Late(_) => !seen.contains(&seq) && !lost.contains(&seq),
                };
                prop_assert!(as_expected, "{} was {:?}", seq, recorded);
                seen.insert(seq);
                lost.remove(&seq);
            }
            while let Some(hole) = next_loss(&mut history) {
                for seq in hole.first..=hole.last {
                    prop_assert!(!seen.contains(&seq));
                    lost.insert(seq);
                }
            }
            prop_assert!(history.pending.len() < PENDING);
        }
    }
}
