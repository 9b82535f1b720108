//! Receivers that know nothing of TFRC: plain reception reports, transport-wide feedback as others send it,
//! or no RTCP at all.

mod forged_reports;
mod world;

use std::time::Duration;

use evenkeel_rtp::session::{Breach, EventKind, FeedbackMode, RateSource};
use tfrc::units::Rate;
use world::{DELAY, Datagrams, Sends, World};

const RR: Sends = Sends::Reports(Duration::from_secs(5));

fn kbps(kbps: f64) -> Rate {
    Rate::from_bits_per_sec(kbps * 1e3)
}

#[test]
fn foreign_transport_wide_feedback_fills_a_link() {
    for (hold, datagrams) in [
        (0, Datagrams::One),
        (150, Datagrams::One),
        (150, Datagrams::Each),
    ] {
        let sends = Sends::TransportWide(Duration::from_millis(hold), datagrams);
        let mut world = World::new(sends, |send| send.feedback = FeedbackMode::Twcc);
        world.run(20);
        let (rate, lost) = world.run(30);
        let utilisation = rate / world.rate;
        assert!(
            (0.85..=1.02).contains(&utilisation),
            "{hold} ms, {datagrams:?}: {utilisation}"
        );
        assert!(lost <= 0.02, "{hold} ms, {datagrams:?}: {lost} lost");
        // The round trip has 40 ms and the queue, and nothing of what reports waited for one another.
        let rtt = world.session.path().unwrap().rtt.unwrap();
        let most = Duration::from_millis(150 + hold / 4);
        assert!(
            rtt >= DELAY * 2 && rtt <= most,
            "{hold} ms, {datagrams:?}: {rtt:?}"
        );
        assert_eq!(world.session.rate_source(), Some(RateSource::Feedback));
    }
}

#[test]
fn receiver_report_round_trip_starts_a_waiting_sender() {
    let sends = Sends::TransportWide(Duration::ZERO, Datagrams::One);
    let mut world = World::new(sends, |send| send.feedback = FeedbackMode::Twcc);
    world.run(1);
    // At one packet a second a frame of four takes three, and that is when a report would first leave.
    assert!(world.sent > 4, "{} packets in a second", world.sent);
    assert_eq!(
        world.session.path().unwrap().rtt.map(|rtt| rtt < DELAY * 4),
        Some(true)
    );
}

#[test]
fn receiver_reports_raise_rate_slowly_with_small_losses() {
    let mut world = World::new(RR, |_| ());
    let (early, _) = world.run(20);
    assert_eq!(world.sources(), [RateSource::ReceptionReports]);
    assert!(early < kbps(250.0), "{early:?}");
    world.run(100);
    let (rate, lost) = world.run(180);
    let utilisation = rate / world.rate;
    assert!((0.3..=1.0).contains(&utilisation), "{utilisation}");
    assert!(lost <= 0.02, "{lost} lost");
    assert_eq!(world.breaches(), []);
}

#[test]
fn narrowing_path_is_followed_within_few_reports() {
    let mut world = World::new(RR, |_| ());
    world.run(100);
    world.rate = kbps(200.0);
    world.run(20);
    let (rate, lost) = world.run(60);
    assert!(rate < kbps(230.0), "{rate:?}");
    assert!(lost < 0.1, "{lost} lost");
}

#[test]
fn rate_is_low_and_ends_without_rtcp() {
    let mut world = World::new(Sends::Nothing, |_| ());
    let (before, _) = world.run(5);
    assert!(before < kbps(10.0), "{before:?}");
    let (blind, _) = world.run(20);
    assert!((blind / kbps(128.0) - 1.0).abs() < 0.05, "{blind:?}");
    assert_eq!(world.sources(), [RateSource::Nothing]);
    world.run(6);
    let (after, _) = world.run(20);
    assert_eq!(after, Rate::ZERO);
    assert!(world.events.contains(&EventKind::GaveUp));
}

#[test]
fn late_reports_then_feedback_replace_the_blind_rate() {
    let mut world = World::new(Sends::Nothing, |send| send.feedback = FeedbackMode::Twcc);
    world.run(8);
    world.sends = RR;
    world.run(8);
    world.sends = Sends::TransportWide(Duration::ZERO, Datagrams::One);
    world.receiver.complete.clear();
    let (rate, _) = world.run(10);
    assert_eq!(
        world.sources(),
        [
            RateSource::Nothing,
            RateSource::ReceptionReports,
            RateSource::Feedback
        ]
    );
    assert!(rate > kbps(1_000.0), "{rate:?}");
}

#[test]
fn fixed_rate_far_above_path_is_ended() {
    let mut world = World::new(RR, |send| send.fixed_rate = Some(kbps(8_000.0)));
    world.rate = kbps(100.0);
    world.run(30);
    assert_eq!(world.breaches(), [(Breach::Congestion, false)]);
    world.run(60);
    assert_eq!(
        world.breaches(),
        [(Breach::Congestion, false), (Breach::Congestion, true)]
    );
    assert_eq!(world.run(10).0, Rate::ZERO);
}

#[test]
fn missing_or_unchanged_reports_end_a_fixed_rate() {
    let mut world = World::new(RR, |send| send.fixed_rate = Some(kbps(500.0)));
    world.run(20);
    world.sends = Sends::Nothing;
    world.run(20);
    assert_eq!(world.breaches(), [(Breach::NoReports, true)]);

    let mut world = World::new(RR, |send| send.fixed_rate = Some(kbps(500.0)));
    world.run(20);
    world.is_cut = true;
    world.run(35);
    assert_eq!(world.breaches(), [(Breach::NoMedia, true)]);
    assert_eq!(world.run(5).0, Rate::ZERO);
}
