//! The variants in a closed loop: each reaches the rate that it is meant to reach.

use tfrc::equation;
use tfrc::loss::{Average, Weights};
use tfrc::units::{Bytes, LossEventRate};
use tfrc::{ReceiverConfig, RetransmissionTimeout, SenderConfig, Standard};

use crate::conditions::{Loss, PACKET, Source};
use crate::path::Path;
use crate::{link, lossy, ms, over_equation, over_link, secs, show};

fn rfc3448() -> (SenderConfig, ReceiverConfig) {
    let standard = Standard::Rfc3448;
    (
        SenderConfig {
            standard,
            ..SenderConfig::default()
        },
        ReceiverConfig {
            standard,
            ..ReceiverConfig::default()
        },
    )
}

#[test]
fn rfc_3448_starts_with_a_packet_a_round_trip_and_fills_the_link() {
    let (sender, receiver) = rfc3448();
    let mut path = Path::with_ends(link(3.0, ms(60)), Source::Greedy, sender, receiver);
    path.run_until(ms(150), |path| path.sender.rtt().is_some());
    let rtt = path.sender.rtt().unwrap();
    assert_eq!(path.sender.allowed_rate() * rtt, PACKET);
    path.run(secs(30));
    let measured = path.run(secs(60));
    show("RFC 3448", &path, &measured);
    let share = over_link(&path, &measured);
    assert!((0.95..=1.05).contains(&share), "{share}");
}

/// The change that RFC 5348 makes for senders of frames: what they did not send is not held against them.
#[test]
fn rfc_3448_holds_a_sender_of_little_to_twice_what_it_sent() {
    let kept = |sender, receiver| {
        let conditions = lossy(Loss::Every(100), ms(60));
        let mut path = Path::with_ends(conditions, Source::Greedy, sender, receiver);
        path.run(secs(30));
        let before = path.sender.allowed_rate();
        path.conditions.loss = Loss::None;
        path.source = Source::Frames(ms(40), 0.25);
        path.run(secs(2));
        path.sender.allowed_rate() / before
    };
    let (sender, receiver) = rfc3448();
    let old = kept(sender, receiver);
    let new = kept(SenderConfig::default(), ReceiverConfig::default());
    println!("of X remain {old:.2} in RFC 3448, {new:.2} in RFC 5348");
    assert!(old < 0.5 && new > 0.99, "{old} {new}");
}

#[test]
fn every_average_gives_the_rate_of_a_periodic_loss() {
    for average in [
        Average::default(),
        Average::Weighted(Weights::falling(32)),
        Average::Weighted(Weights::equal(16)),
        Average::Plain(8),
        Average::Ewma(0.25),
        Average::Window(20),
    ] {
        let receiver = ReceiverConfig {
            average,
            ..ReceiverConfig::default()
        };
        let conditions = lossy(Loss::Every(100), ms(60));
        let sender = SenderConfig::default();
        let mut path = Path::with_ends(conditions, Source::Greedy, sender, receiver);
        path.run(secs(60));
        let measured = path.run(secs(60));
        let ratio = over_equation(&path, &measured, 0.01);
        println!("{average:?}: {ratio:.3} of the equation");
        assert!((0.9..=1.1).contains(&ratio), "{average:?}: {ratio}");
    }
}

#[test]
fn a_timeout_of_a_second_gives_its_own_equations_rate() {
    for retransmission_timeout in [
        RetransmissionTimeout::AtLeastASecond,
        RetransmissionTimeout::Rfc6298,
    ] {
        let sender = SenderConfig {
            retransmission_timeout,
            ..SenderConfig::default()
        };
        let receiver = ReceiverConfig::default();
        let conditions = lossy(Loss::Every(50), ms(60));
        let mut path = Path::with_ends(conditions, Source::Greedy, sender, receiver);
        path.run(secs(60));
        let measured = path.run(secs(60));
        let (rtt, p) = (ms(60), LossEventRate::new(0.02));
        let own = equation::rate_with_timeout(PACKET, rtt, secs(1), p).bytes_per_sec();
        let ratio = measured.mean_x / own;
        println!("{retransmission_timeout:?}: {ratio:.3}");
        assert!((0.9..=1.1).contains(&ratio), "{ratio}");
        assert!(own < 0.7 * equation::rate(PACKET, rtt, p).bytes_per_sec());
    }
}

/// Packets a second over what RFC 4828 §4.1 means: the rate of 1,460-byte packets at the loss rate of
/// packets, headers taken off, at most a hundred packets a second.
fn small_packets(loss: f64, size: u64, receiver_counts: bool) -> (f64, f64) {
    let sender = SenderConfig {
        small_packets: true,
        ..SenderConfig::default()
    };
    let receiver = ReceiverConfig {
        small_packets: receiver_counts,
        ..ReceiverConfig::default()
    };
    let conditions = lossy(Loss::Bernoulli(loss), ms(100));
    let mut path = Path::with_ends(conditions, Source::Greedy, sender, receiver);
    path.packet = Bytes::new(size);
    path.run(secs(60));
    let packets = path.run(secs(300)).sent as f64 / 300.0;
    let large = equation::rate(PACKET, ms(100), LossEventRate::new(loss)).bytes_per_sec();
    (packets, packets / (large / (size as f64 + 40.0)).min(100.0))
}

#[test]
fn small_packets_share_like_large_ones() {
    for (loss, size) in [(0.01, 200), (0.1, 200), (0.2, 1_000)] {
        let (packets, ratio) = small_packets(loss, size, true);
        println!("{loss}, {size} bytes: {packets:.1} packets/s, {ratio:.2} of what is meant");
        assert!(packets < 100.1, "{packets}");
        assert!((0.75..=1.25).contains(&ratio), "{ratio}");
    }
}

/// Intervals longer than two round trips still count one loss, so that more is sent than is meant; yet it
/// is far less than loss events alone would allow, which RFC 4828 §4.4 warns of.
#[test]
fn many_losses_of_small_packets_in_a_round_trip_are_many() {
    for (loss, size) in [(0.2, 200), (0.3, 200), (0.3, 60)] {
        let (_, ratio) = small_packets(loss, size, true);
        let (_, by_events) = small_packets(loss, size, false);
        println!("{loss}, {size} bytes: {ratio:.2} of what is meant, {by_events:.2} by events");
        assert!(ratio < 3.0, "{ratio}");
        assert!(by_events > ratio, "{by_events}");
    }
}
