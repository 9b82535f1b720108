//! Tests of the nofeedback timer: X is halved for each missing report, and recovers.

use super::*;

/// The values are from checks 21 to 23 of the thesis: departures and halvings without any report.
#[test]
fn rate_halves_to_its_floor_without_any_report() {
    let mut sender = Sender::new(Instant::ZERO, config());
    let (mut now, mut departures, mut halvings) = (Instant::ZERO, Vec::new(), Vec::new());
    while now < Instant::from_secs(260) {
        // At equal times the packet leaves first, because it was due before the timer expired.
        if sender.next_departure(now) <= now {
            departures.push(now.as_nanos() / 1_000_000_000);
            sender.handle_sent(now, SIZE);
        }
        if sender.handle_timeout(now).is_some() {
            halvings.push(now.as_nanos() / 1_000_000_000);
        }
        now = sender
            .next_departure(now)
            .min(sender.poll_timeout())
            .max(now + Duration::from_nanos(1));
    }
    assert_eq!(halvings[..6], [2, 6, 14, 30, 62, 126]);
    assert_eq!(
        departures,
        [0, 1, 2, 4, 6, 10, 14, 22, 30, 46, 62, 94, 126, 190, 254]
    );
    assert!((sender.allowed_rate().bytes_per_sec() - 1_460.0 / 64.0).abs() < 1e-9);
}

#[test]
fn an_idle_sender_keeps_the_recover_rate() {
    let mut sender = started();
    let before = sender.allowed_rate();
    let trace = sender.handle_timeout(at(500)).unwrap();
    assert!(matches!(
        trace,
        Trace::NoFeedback {
            branch: Branch::Idle,
            ..
        }
    ));
    assert_eq!(sender.allowed_rate(), before);
}

#[test]
fn missing_report_without_loss_halves_the_rate() {
    let mut sender = started();
    sender.handle_sent(at(100), SIZE);
    let before = sender.allowed_rate();
    let trace = sender.handle_timeout(at(500)).unwrap();
    assert!(matches!(
        trace,
        Trace::NoFeedback {
            branch: Branch::WithoutLoss,
            ..
        }
    ));
    assert_eq!(sender.allowed_rate(), before / 2.0);
    assert_eq!(sender.handle_timeout(at(501)), None);
}

#[test]
fn missing_report_with_loss_halves_the_active_bound() {
    let mut sender = started();
    saturate(&mut sender, 100, 400);
    sender.handle_feedback(at(400), &report(at(400), 1e6, 0.01));
    let equation = sender.allowed_rate();
    assert_eq!(sender.bound(), Bound::Equation);
    sender.handle_sent(at(400), SIZE);
    let trace = sender.handle_timeout(at(800)).unwrap();
    assert!(matches!(
        trace,
        Trace::NoFeedback {
            branch: Branch::EquationHalved,
            ..
        }
    ));
    assert!((sender.allowed_rate() / equation - 0.5).abs() < 1e-9);
    sender.handle_sent(at(800), SIZE);
    let trace = sender.handle_timeout(at(1_200)).unwrap();
    assert!(matches!(
        trace,
        Trace::NoFeedback {
            branch: Branch::ReceiveRateHalved,
            ..
        }
    ));
    assert!((sender.allowed_rate() / equation - 0.25).abs() < 1e-9);
}

#[test]
fn rate_doubles_back_after_a_blackout() {
    let mut sender = started();
    saturate(&mut sender, 100, 400);
    sender.handle_feedback(at(400), &report(at(400), 200_000.0, 0.001));
    let before = sender.allowed_rate();
    for _ in 0..6 {
        let now = sender.poll_timeout();
        sender.handle_sent(now, SIZE);
        sender.handle_timeout(now);
    }
    assert!(
        sender.allowed_rate() < before / 32.0,
        "{} of {before}",
        sender.allowed_rate()
    );
    let mut ms = sender.poll_timeout().as_nanos() / 1_000_000;
    let mut rounds = 0;
    while sender.allowed_rate() < before * 0.99 {
        saturate(&mut sender, ms, ms + 100);
        ms += 100;
        let seen = sender.allowed_rate().bytes_per_sec();
        sender.handle_feedback(at(ms), &report(at(ms), seen, 0.001));
        rounds += 1;
        assert!(
            rounds < 10,
            "{} after {rounds} round trips",
            sender.allowed_rate()
        );
    }
}
