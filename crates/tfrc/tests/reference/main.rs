//! A second implementation, slow and obvious, which keeps every packet for ever and computes everything
//! anew from the text of RFC 5348. It agrees with the fast one bit by bit on 10,000 random traces each
//! of a receiver and of a sender.
//!
//! Shared with the fast one are only the vocabulary (`time`, `units`) and the equation, whose numbers
//! `tests/vectors` compares with ones computed elsewhere.

mod loss;
mod random;
mod receiver;
mod sender;

use std::time::Duration;

use random::Random;
use sender::Decision;
use tfrc::time::Instant;
use tfrc::trace::{Branch, Trace};
use tfrc::units::{Bytes, LossEventRate, Rate};
use tfrc::{Feedback, FeedbackPacket, ReceiverConfig, SenderConfig};

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
    let mut fast = tfrc::Receiver::new(ReceiverConfig {
        discounting,
        ..ReceiverConfig::default()
    });
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
        covered.events += arrived.new_events;
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

fn assert_same_report(
    fast: Option<FeedbackPacket>,
    model: Option<FeedbackPacket>,
    seed: u64,
    arrival: usize,
) {
    let bits = |report: FeedbackPacket| {
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

#[test]
fn the_sender_agrees_with_the_model_bit_by_bit() {
    let mut reached = Vec::new();
    let mut data_limited = 0;
    for seed in 0..TRACES {
        for decision in follow_sender(seed) {
            match decision {
                Decision::NoFeedback { branch, .. } => reached.push(branch),
                Decision::Feedback {
                    data_limited: true, ..
                } => data_limited += 1,
                Decision::Feedback { .. } => {}
            }
        }
    }
    for branch in [
        Branch::BeforeFirstReport,
        Branch::Idle,
        Branch::WithoutLoss,
        Branch::ReceiveRateHalved,
        Branch::EquationHalved,
    ] {
        let count = reached.iter().filter(|reached| **reached == branch).count();
        println!("{branch:?}: {count}");
        assert!(count > 100, "{branch:?} only {count} times");
    }
    println!("data-limited: {data_limited}");
    assert!(data_limited > TRACES);
}

fn follow_sender(seed: u64) -> Vec<Decision> {
    let mut random = Random::new(seed);
    let config = SenderConfig {
        segment_size: Bytes::new(random.pick(&[40, 1_000, 1_460, 9_000])),
        oscillation_reduction: random.chance(0.7),
        max_credit: Duration::from_millis(random.pick(&[0, 10, 1_000])),
        min_nofeedback: Duration::from_millis(random.pick(&[0, 20])),
        ..SenderConfig::default()
    };
    let mut now = Instant::from_micros(random.below(0, 1_000_000));
    let mut fast = tfrc::Sender::new(now, config.clone());
    let mut model = sender::Sender::new(now, config.clone());
    let mut rtt = random.log(1e-4, 20.0);
    let grid = random::Grid::draw(&mut random, rtt);
    let mut p = 0.0;
    let losses = random.pick(&[0.0, 0.1, 0.5]);
    let reports = random.pick(&[0.0, 0.3, 0.9]);
    // How much of what it may send the application has.
    let has_data = random.pick(&[0.0, 0.2, 0.9, 1.0]);
    let step = rtt * random.log(0.05, 3.0);
    let mut decisions = Vec::new();
    for _ in 0..random.below(5, 60) {
        now += grid.snap(step * random.log(0.3, 3.0));
        if random.chance(0.03) {
            rtt = (rtt * random.log(0.1, 10.0)).clamp(1e-4, 20.0);
        }
        if random.chance(reports) {
            if random.chance(losses) {
                p = random.pick(&[0.0, 1.0]) + random.log(1e-7, 1.0);
            } else {
                p *= random.pick(&[1.0, 0.99]);
            }
            let delay = Duration::from_secs_f64(rtt * random.pick(&[0.0, 0.0, 0.1, 1.5]));
            let jitter = if random.chance(0.5) {
                1.0
            } else {
                random.log(0.8, 1.5)
            };
            let x = fast.allowed_rate().bytes_per_sec();
            let feedback = Feedback {
                sent_at: now - grid.snap(rtt * jitter) - delay,
                delay,
                receive_rate: Rate::from_bytes_per_sec(x * random.pick(&[0.0, 0.2, 0.7, 1.0, 1.1])),
                loss_event_rate: LossEventRate::new(p),
            };
            let expected = model.handle_feedback(now, &feedback);
            assert_eq!(
                decision(fast.handle_feedback(now, &feedback)),
                expected,
                "seed {seed}"
            );
            decisions.push(expected);
        }
        // A process that slept serves its timer late.
        if random.chance(0.9) {
            let expected = model.handle_timeout(now);
            assert_eq!(
                fast.handle_timeout(now).map(decision),
                expected,
                "seed {seed}"
            );
            decisions.extend(expected);
        }
        let mut bursts = 0;
        while bursts < 8 && model.next_departure(now) <= now && random.chance(has_data) {
            let size = random.pick(&[config.segment_size, Bytes::new(30)]);
            fast.handle_sent(now, size);
            model.handle_sent(now, size);
            bursts += 1;
        }
        assert_eq!(
            fast.next_departure(now),
            model.next_departure(now),
            "seed {seed}"
        );
        assert_eq!(fast.poll_timeout(), model.timer(), "seed {seed}");
        assert_eq!(fast.instantaneous_rate(), model.x_inst(), "seed {seed}");
    }
    decisions
}

fn decision(trace: Trace) -> Decision {
    let bits = |rate: Rate| rate.bytes_per_sec().to_bits();
    match trace {
        Trace::Feedback {
            allowed_rate,
            instantaneous_rate,
            rtt,
            rtt_sample,
            data_limited,
            ..
        } => Decision::Feedback {
            x: bits(allowed_rate),
            x_inst: bits(instantaneous_rate),
            r: rtt,
            r_sample: rtt_sample,
            data_limited,
        },
        Trace::NoFeedback {
            branch,
            allowed_rate,
            interval,
        } => Decision::NoFeedback {
            branch,
            x: bits(allowed_rate),
            interval,
        },
        other => unreachable!("{other:?}"),
    }
}
