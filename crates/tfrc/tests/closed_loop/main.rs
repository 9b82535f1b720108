//! The sender and the receiver in one loop through a bottleneck, in virtual time.
//!
//! `cargo test -p tfrc --test closed_loop -- --nocapture` prints the figures behind the bounds.

mod conditions;
mod path;
mod reordering;
mod variants;

use std::time::Duration;

use conditions::{Conditions, Loss, Measured, PACKET, Source};
use path::Path;
use tfrc::equation;
use tfrc::trace::{Bound, Branch, Trace};
use tfrc::units::{LossEventRate, Rate};

/// A camera of 25 frames a second whose encoder fills 95 % of X.
const FRAMES: Source = Source::Frames(ms(40), 0.95);
const BOTH: [Source; 2] = [Source::Greedy, FRAMES];

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

fn megabits(rate: f64) -> Rate {
    Rate::from_bits_per_sec(rate * 1e6)
}

/// A link of this many Mb/s with a queue of 50 ms, and nothing lost but what overflows it.
fn link(rate: f64, rtt: Duration) -> Conditions {
    Conditions {
        rate: megabits(rate),
        delay: rtt / 2,
        queue: ms(50),
        loss: Loss::None,
        feedback_loss: 0.0,
        overtaken: 0.0,
    }
}

/// A link so fast that only `loss` holds the rate.
fn lossy(loss: Loss, rtt: Duration) -> Conditions {
    Conditions {
        loss,
        ..link(1e3, rtt)
    }
}

/// X over the equation's rate for this loss event rate.
fn over_equation(path: &Path, measured: &Measured, p: f64) -> f64 {
    let rtt = path.conditions.delay * 2;
    measured.mean_x / equation::rate(PACKET, rtt, LossEventRate::new(p)).bytes_per_sec()
}

fn over_link(path: &Path, measured: &Measured) -> f64 {
    measured.mean_x / path.conditions.rate.bytes_per_sec()
}

fn show(what: &str, path: &Path, measured: &Measured) {
    println!(
        "{what}: X {} ({:.1} % of the link), loss {:.2} %, p {:.5}, queue up to {:.0} ms",
        Rate::from_bytes_per_sec(measured.mean_x),
        over_link(path, measured) * 100.0,
        measured.loss() * 100.0,
        path.sender.loss_event_rate().get(),
        measured.max_queue.as_secs_f64() * 1e3,
    );
}

#[test]
fn slow_start_begins_with_the_initial_window_and_doubles_every_second_round_trip() {
    let mut path = Path::new(link(1e3, ms(100)), Source::Greedy, 1);
    path.run_until(ms(150), |path| path.sender.rtt().is_some());
    // RFC 3390: 4,380 bytes a round trip.
    let mut x = path.sender.allowed_rate();
    assert!((x.bytes_per_sec() / 43_800.0 - 1.0).abs() < 0.01, "{x}");
    // A report in the round trip after a doubling still covers time before it, and 2·X_recv is then no
    // more than X: only the next report doubles.
    for _ in 0..5 {
        x = path.sender.allowed_rate();
        path.run(ms(200));
        let factor = path.sender.allowed_rate() / x;
        println!("{x}, two round trips later × {factor:.2}");
        assert!((1.9..=4.2).contains(&factor), "{factor}");
    }
}

#[test]
fn the_first_loss_leaves_the_rate_near_what_the_link_delivered() {
    for source in BOTH {
        let mut path = Path::new(link(3.0, ms(60)), source, 1);
        path.run_until(secs(5), |path| !path.sender.loss_event_rate().is_zero());
        let share = path.sender.allowed_rate() / path.conditions.rate;
        println!("{:?} after start X is {share:.2} of the link", path.now);
        assert!((0.4..=1.1).contains(&share), "{share}");
    }
}

#[test]
fn one_packet_in_a_hundred_lost_gives_the_rate_of_the_equation() {
    for (rtt, source) in [5, 20, 60, 200, 500]
        .into_iter()
        .flat_map(|rtt| BOTH.map(|source| (ms(rtt), source)))
    {
        let mut path = Path::new(lossy(Loss::Every(100), rtt), source, 1);
        path.run(secs(60).max(rtt * 200));
        let measured = path.run(secs(60));
        let ratio = over_equation(&path, &measured, 0.01);
        // f(p) without its timeout term: the square-root law lies above the equation.
        let law = PACKET.as_f64() * (1.5f64 / 0.01).sqrt() / rtt.as_secs_f64();
        println!(
            "{rtt:?}: {ratio:.3} of the equation, {:.3} of the √p law",
            measured.mean_x / law
        );
        assert!((0.9..=1.1).contains(&ratio), "{rtt:?} {source:?}: {ratio}");
    }
}

#[test]
fn random_loss_gives_the_rate_of_the_equation_within_its_spread() {
    for (p, source) in [0.001, 0.01, 0.05]
        .into_iter()
        .flat_map(|p| BOTH.map(|source| (p, source)))
    {
        let mut path = Path::new(lossy(Loss::Bernoulli(p), ms(60)), source, 7);
        path.run(secs(30));
        let measured = path.run(secs(200));
        // Losses of one round trip are one event, and the mean of a convex function of p lies above
        // that of the mean: X exceeds the equation at the packet loss rate.
        let ratio = over_equation(&path, &measured, p);
        println!("loss {p}: {ratio:.3} of the equation");
        assert!((0.85..=1.4).contains(&ratio), "{p} {source:?}: {ratio}");
    }
}

#[test]
fn frames_smaller_than_a_packet_keep_the_rate_of_the_equation() {
    let mut path = Path::new(lossy(Loss::Bernoulli(0.15), ms(60)), FRAMES, 7);
    path.smallest_frame = 0;
    path.run(secs(30));
    let measured = path.run(secs(200));
    let ratio = over_equation(&path, &measured, 0.15);
    println!("{ratio:.3} of the equation");
    assert!(ratio > 0.7, "{ratio}");
}

#[test]
fn a_shallow_queue_is_used_fully_and_overflows_rarely() {
    for (rtt, source) in [1, 5, 20, 60, 100, 200]
        .into_iter()
        .flat_map(|rtt| BOTH.map(|source| (ms(rtt), source)))
    {
        let mut path = Path::new(link(3.0, rtt), source, 1);
        path.run(secs(10));
        let measured = path.run(secs(60));
        show(&format!("{rtt:?} {source:?}"), &path, &measured);
        let used = measured.sent_bytes as f64 / (measured.mean_x * 60.0);
        assert!(over_link(&path, &measured) >= 0.85, "{rtt:?}: {measured:?}");
        assert!(measured.loss() <= 0.02, "{rtt:?}: {measured:?}");
        // X_inst lies below X while the queue grows (§4.5).
        assert!(used >= 0.9, "{used} of X used");
    }
}

#[test]
fn very_long_round_trips_are_slow_and_steady() {
    for (rtt, source) in [500, 1_000, 2_000]
        .into_iter()
        .flat_map(|rtt| BOTH.map(|source| (ms(rtt), source)))
    {
        let mut path = Path::new(link(3.0, rtt), source, 1);
        path.run(rtt * 30);
        let measured = path.run(rtt * 120);
        show(&format!("{rtt:?} {source:?}"), &path, &measured);
        assert!(over_link(&path, &measured) >= 0.4, "{rtt:?}: {measured:?}");
        assert!(measured.loss() <= 0.02, "{rtt:?}: {measured:?}");
    }
}

#[test]
fn a_link_that_drops_to_a_quarter_and_comes_back_is_followed() {
    for source in BOTH {
        let mut path = Path::new(link(8.0, ms(60)), source, 1);
        path.run(secs(12));
        path.conditions.rate = megabits(2.0);
        let first = path.run(secs(1));
        show("first second at 2 Mb/s", &path, &first);
        let rest = path.run(secs(11));
        show("the rest at 2 Mb/s", &path, &rest);
        assert!(rest.loss() <= 0.02, "{rest:?}");
        path.conditions.rate = megabits(8.0);
        let time = path.run_until(secs(12), |path| path.sender.allowed_rate() > megabits(5.0));
        println!("above 5 of 8 Mb/s again after {time:?}");
    }
}

#[test]
fn a_sender_of_frames_is_held_by_the_path_and_not_by_the_receive_rate() {
    let mut path = Path::new(link(3.0, ms(60)), FRAMES, 1);
    path.run(secs(10));
    path.traces.clear();
    path.run(secs(60));
    let by_receive_rate = path
        .traces
        .iter()
        .filter(|(_, trace)| matches!(trace, Trace::Feedback { bound, .. } if *bound != Bound::Equation))
        .count();
    println!("{by_receive_rate} of {} reports", path.traces.len());
    assert!(
        by_receive_rate * 20 < path.traces.len(),
        "{by_receive_rate}"
    );
}

#[test]
fn short_bursts_lose_far_less_than_a_round_trip_of_credit() {
    let loss = |credit| {
        let mut path = Path::with_credit(link(3.0, ms(60)), FRAMES, credit);
        path.run(secs(20));
        let measured = path.run(secs(120));
        show(&format!("credit {credit:?}"), &path, &measured);
        measured.loss()
    };
    assert!(loss(ms(10)) < 0.5 * loss(Duration::MAX));
}

#[test]
fn lost_reports_cost_little() {
    for source in BOTH {
        let conditions = Conditions {
            feedback_loss: 0.3,
            ..link(3.0, ms(60))
        };
        let mut path = Path::new(conditions, source, 3);
        path.run(secs(20));
        let measured = path.run(secs(60));
        show("30 % of reports lost", &path, &measured);
        assert!(over_link(&path, &measured) >= 0.85, "{measured:?}");
        assert!(measured.loss() <= 0.02, "{measured:?}");
    }
}

#[test]
fn without_reports_the_sender_all_but_stops_and_with_them_it_comes_back() {
    for source in BOTH {
        let mut path = Path::new(link(3.0, ms(60)), source, 1);
        path.run(secs(30));
        let before = path.sender.allowed_rate();
        path.conditions.feedback_loss = 1.0;
        path.run(secs(8));
        let spacing = path.sender.segment_size() / path.sender.instantaneous_rate();
        println!("after 8 s without reports: a packet every {spacing:?}");
        assert!(spacing > secs(1), "{spacing:?}");
        let silent = path.run(secs(4));
        assert!(silent.sent <= 4, "{silent:?}");

        path.conditions.feedback_loss = 0.0;
        let reports = path.reports();
        let waited = path.run_until(secs(20), |path| path.reports() > reports);
        let time = path.run_until(secs(2), |path| path.sender.allowed_rate() / before > 0.7);
        println!("first report {waited:?} after they can pass, rate back {time:?} later");
    }
}

#[test]
fn every_branch_of_a_blackout_halves_the_rate_at_its_time() {
    let mut path = Path::new(link(3.0, ms(60)), Source::Greedy, 1);
    path.run(secs(30));
    path.conditions.feedback_loss = 1.0;
    path.run(ms(100));
    path.traces.clear();
    let x = path.sender.allowed_rate();
    path.run(secs(3));
    let branches: Vec<Branch> = path
        .traces
        .iter()
        .filter_map(|(_, trace)| match trace {
            Trace::NoFeedback { branch, .. } => Some(*branch),
            _ => None,
        })
        .collect();
    println!("{branches:?}");
    assert_eq!(branches[0], Branch::EquationHalved);
    assert!(
        branches[1..]
            .iter()
            .all(|branch| *branch == Branch::ReceiveRateHalved)
    );
    let halved = x / 2f64.powi(branches.len() as i32);
    assert!((path.sender.allowed_rate() / halved - 1.0).abs() < 1e-9);
}

#[test]
fn a_sender_with_nothing_to_say_for_two_seconds_comes_back_within_half_a_second() {
    for (rtt, source) in [5, 60, 200]
        .into_iter()
        .flat_map(|rtt| BOTH.map(|source| (ms(rtt), source)))
    {
        let mut path = Path::new(link(3.0, rtt), source, 1);
        path.run(secs(30));
        let before = path.sender.allowed_rate();
        path.source = Source::Silent;
        path.run(secs(2));
        // Idle, it is not reduced below half of the recover rate, W_init / R.
        let recover = 4_380.0 / path.sender.rtt().unwrap().as_secs_f64();
        let idle = path.sender.allowed_rate();
        assert!(
            idle.bytes_per_sec() >= recover * 0.5 || idle >= before * 0.5,
            "{idle}"
        );
        path.source = source;
        let time = path.run_until(rtt * 8 + ms(150), |path| {
            path.sender.allowed_rate() / before > 0.7
        });
        println!("{rtt:?}: idle at {idle}, back after {time:?}");
        let after = path.run(secs(3));
        assert!(after.loss() < 0.03, "{after:?}");
    }
}

#[test]
fn a_stopped_process_goes_on_where_it_was() {
    for (rtt, source) in [5, 60, 200]
        .into_iter()
        .flat_map(|rtt| BOTH.map(|source| (ms(rtt), source)))
    {
        let mut path = Path::new(link(3.0, rtt), source, 1);
        path.run(secs(30));
        let before = path.sender.allowed_rate();
        path.stop_sender(secs(2));
        path.run(secs(2));
        let time = path.run_until(secs(3), |path| path.sender.allowed_rate() / before > 0.7);
        let after = path.run(secs(3));
        show(&format!("{rtt:?}, back after {time:?}"), &path, &after);
        assert!(after.loss() < 0.03, "{after:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_decisions() {
    let run = || {
        let mut path = Path::new(lossy(Loss::Bernoulli(0.02), ms(60)), FRAMES, 11);
        path.run(secs(10));
        path.traces
    };
    assert_eq!(run(), run());
}
