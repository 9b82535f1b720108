//! Time that packets, reports and decisions take. Run it on a machine that does nothing else.
//!
//! `cargo bench -p tfrc --bench nanoseconds`. A sample is a thousand steps, so its microseconds are the
//! nanoseconds of one step; the step of HDTV is a second of the stream, so a millisecond is 0.1 % of a core.

mod cases;

use cases::{
    HDTV, IN_ORDER, LATENESS, LIGHT_PATH, LOSSY, SIZE, Traffic, WARM_UP, decide, feed_back,
    receive, receiver, report, reports, sender,
};
use divan::{Bencher, black_box};
use tfrc::time::Instant;

const STEPS: u64 = 1_000;

fn main() {
    divan::main();
}

/// Times the receiver on `count` packets, after as many.
fn time_receiver(bencher: Bencher<'_, '_>, traffic: Traffic, count: usize) {
    let arrivals = traffic.arrivals(3 * count as u64);
    let mut warm = receiver();
    for arrival in &arrivals[..count] {
        receive(&mut warm, arrival);
        report(&mut warm, arrival.at);
    }
    bencher
        .with_inputs(|| warm.clone())
        .bench_local_refs(|receiver| {
            for arrival in &arrivals[count..2 * count] {
                black_box(receive(receiver, arrival));
                black_box(report(receiver, arrival.at));
            }
        });
}

#[divan::bench]
fn receiver_in_order(bencher: Bencher<'_, '_>) {
    time_receiver(bencher, IN_ORDER, STEPS as usize);
}

#[divan::bench]
fn receiver_lossy(bencher: Bencher<'_, '_>) {
    time_receiver(bencher, LOSSY, STEPS as usize);
}

#[divan::bench]
fn receiver_light_path(bencher: Bencher<'_, '_>) {
    time_receiver(bencher, LIGHT_PATH, STEPS as usize);
}

#[divan::bench]
fn receiver_hdtv_second(bencher: Bencher<'_, '_>) {
    time_receiver(bencher, HDTV, 75_000);
}

#[divan::bench]
fn sender_feedback(bencher: Bencher<'_, '_>) {
    let reports = reports(WARM_UP + STEPS);
    bencher.with_inputs(sender).bench_local_refs(|sender| {
        for (now, feedback) in &reports[WARM_UP as usize..] {
            black_box(feed_back(sender, (*now, feedback)));
        }
    });
}

#[divan::bench]
fn pacer_decision(bencher: Bencher<'_, '_>) {
    bencher.with_inputs(sender).bench_local_refs(|sender| {
        for _ in 0..STEPS {
            let now = black_box(sender.next_departure(Instant::ZERO) + LATENESS);
            black_box(decide(sender, (now, black_box(SIZE))));
        }
    });
}
