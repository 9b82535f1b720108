//! A second implementation, slow and obvious, which keeps every packet for ever and computes everything
//! anew from the text of RFC 5348. It agrees with the fast one bit by bit on 10,000 random traces each
//! of a receiver and of a sender.
//!
//! Shared with the fast one are only the vocabulary (`time`, `units`) and the equation, whose numbers
//! `tests/vectors` compares with ones computed elsewhere.

mod loss;
mod random;
mod receiver;

use random::Random;
use tfrc::time::Instant;
use tfrc::units::LossEventRate;
use tfrc::{ReceiverConfig, Report};

const TRACES: u64 = 10_000;

#[test]
fn the_receiver_agrees_with_the_model_bit_by_bit() {
    let mut covered = Covered::default();
    for seed in 0..TRACES {
        follow_receiver(seed, &mut covered);
    }
    println!("{covered:?}");
    // A trace that reaches nothing proves nothing.
    let Covered {
        duplicates,
        losses,
        recovered,
        events,
        merged,
        reports,
        discounted,
        full,
    } = covered;
    for reached in [
        duplicates, losses, recovered, events, merged, reports, discounted, full,
    ] {
        assert!(reached > TRACES / 2);
    }
}

/// What the traces reached.
#[derive(Debug, Default)]
struct Covered {
    duplicates: u64,
    losses: u64,
    recovered: u64,
    events: u64,
    merged: u64,
    reports: u64,
    /// Arrivals while an interval was discounted.
    discounted: u64,
    /// Arrivals while n intervals were known.
    full: u64,
}

fn follow_receiver(seed: u64, covered: &mut Covered) {
    let mut random = Random::new(seed);
    let discounting = random.chance(0.7);
    let mut fast = tfrc::Receiver::new(ReceiverConfig { discounting });
    let mut model = receiver::Receiver::new(discounting);
    // A process that sleeps serves its timer late, and reads several packets at once.
    let sleeps = random.pick(&[0.0, 0.3]);
    let mut now = Instant::ZERO;
    for (i, arrival) in random::arrivals(&mut random).iter().enumerate() {
        let at = arrival.at;
        while let Some(due) = model.due().filter(|due| *due < at)
            && !random.chance(sleeps)
        {
            let report = model.poll_report(due.max(now));
            assert_same_report(fast.poll_report(due.max(now)), report, seed, i);
            covered.reports += u64::from(report.is_some());
        }
        now = at;
        let arrived = model.handle_data(arrival);
        assert_eq!(
            fast.handle_data(arrival),
            arrived,
            "seed {seed}, arrival {i}"
        );
        assert_same_p(
            fast.loss_event_rate(),
            model.losses().loss_event_rate(),
            seed,
            i,
        );
        let due = |due: Option<Instant>| due.map(|due| due.max(at));
        assert_eq!(
            due(fast.poll_timeout()),
            due(model.due()),
            "seed {seed}, arrival {i}"
        );
        assert_eq!(fast.round_trip_time(), model.losses().round_trip_time());
        if !random.chance(sleeps) {
            let report = model.poll_report(at);
            assert_same_report(fast.poll_report(at), report, seed, i);
            covered.reports += u64::from(report.is_some());
        }
        covered.duplicates += u64::from(arrived.duplicate);
        covered.losses += arrived.lost;
        covered.recovered += u64::from(arrived.recovered);
        covered.events += u64::from(arrived.new_event);
        covered.merged += u64::from(arrived.merged);
        let closed = model.losses().closed();
        covered.discounted += u64::from(closed.iter().any(|(_, discount)| *discount < 1.0));
        covered.full += u64::from(closed.len() == 8);
    }
}

fn assert_same_p(fast: LossEventRate, model: LossEventRate, seed: u64, arrival: usize) {
    assert_eq!(
        fast.get().to_bits(),
        model.get().to_bits(),
        "seed {seed}, arrival {arrival}: p is {} and should be {}",
        fast.get(),
        model.get()
    );
}

fn assert_same_report(fast: Option<Report>, model: Option<Report>, seed: u64, arrival: usize) {
    let bits = |report: Report| {
        (
            report.timestamp,
            report.delay,
            report.receive_rate.bytes_per_sec().to_bits(),
            report.loss_event_rate.get().to_bits(),
        )
    };
    assert_eq!(
        fast.map(bits),
        model.map(bits),
        "seed {seed}, arrival {arrival}: {fast:?} should be {model:?}"
    );
}
