//! Calls in which p and R travel in APP packets, beside the reports that RTCP sends anyway.

use std::time::Duration;

use crate::pair::{End, Pair, Sent};
use evenkeel_rtp::packet::rtcp::{Packet, Packets, TfrcApp};
use evenkeel_rtp::session::{Config, FeedbackMode, Ignored};
use tfrc::units::{Bytes, Rate};

/// The round trip of the path, with empty queues.
const RTT: Duration = Duration::from_millis(50);

fn with_app(mut config: Config, reduced_size: bool) -> Config {
    config.reduced_size = reduced_size;
    // A compound every half a round trip, on average.
    config.bandwidth = Rate::from_bits_per_sec(360e3 / (RTT / 2).as_secs_f64());
    if let Some(send) = &mut config.send {
        send.feedback = FeedbackMode::App;
    }
    if let Some(receive) = &mut config.receive {
        receive.feedback = FeedbackMode::App;
    }
    config
}

fn one_way(reduced_size: bool) -> Pair {
    Pair::new(
        with_app(End::A.sender(1), reduced_size),
        with_app(End::B.receiver(2), reduced_size),
    )
}

/// The APP packets that an end sent, and whether each was a part of a full compound.
fn app_packets(pair: &Pair, from: End) -> Vec<(TfrcApp, bool)> {
    let datagrams = pair.log.iter().filter(|sent| sent.from == from);
    datagrams
        .filter(|sent| !sent.is_media)
        .filter_map(|sent| {
            let packets: Vec<_> = Packets::parse(&sent.bytes)
                .expect("what a session sends is RTCP")
                .flatten()
                .collect();
            let has_name = packets.iter().any(|p| matches!(p, Packet::Sdes(_)));
            packets.iter().find_map(|packet| match packet {
                Packet::Application(app) => {
                    Some((TfrcApp::parse(app).expect("it is ours")?, has_name))
                }
                _ => None,
            })
        })
        .collect()
}

/// The rate of twenty seconds over a path that loses every hundredth packet, after ten.
fn rate(mut pair: Pair) -> Rate {
    let mut media = 0u32;
    pair.drops = Box::new(move |sent| {
        media += u32::from(sent.is_media);
        sent.is_media && media.is_multiple_of(100)
    });
    pair.run(Duration::from_secs(10));
    let before = pair.session(End::A).statistics().bytes_sent;
    pair.run(Duration::from_secs(20));
    let sender = pair.session(End::A).statistics();
    assert_eq!(sender.ignored_total(), 0);
    assert_eq!(pair.session(End::B).statistics().ignored_total(), 0);
    Bytes::new(sender.bytes_sent - before) / Duration::from_secs(20)
}

#[test]
fn the_rate_is_that_of_tfrc_s_own_message() {
    let own = rate(Pair::one_way());
    for reduced_size in [false, true] {
        let ratio = rate(one_way(reduced_size)) / own;
        assert!((0.93..1.07).contains(&ratio), "{reduced_size}: {ratio}");
    }
}

#[test]
fn without_reduced_size_every_report_rides_on_a_compound() {
    let mut pair = one_way(false);
    pair.run(Duration::from_secs(5));
    for end in [End::A, End::B] {
        let app_packets = app_packets(&pair, end);
        // Every 25 ms, give or take.
        assert!(
            (150..250).contains(&app_packets.len()),
            "{end:?}: {}",
            app_packets.len()
        );
        assert!(
            app_packets.iter().all(|(_, is_compound)| *is_compound),
            "{end:?}"
        );
    }
}

#[test]
fn with_reduced_size_a_loss_is_reported_before_the_next_compound_is_due() {
    let [a, b] = [End::A.sender(1), End::B.receiver(2)].map(|config| Config {
        // Compounds every 36 s.
        bandwidth: Rate::from_bits_per_sec(10e3),
        ..with_app(config, true)
    });
    let mut pair = Pair::new(a, b);
    pair.run(Duration::from_secs(5));
    let reports = app_packets(&pair, End::B);
    let early = reports.iter().filter(|(_, is_compound)| !is_compound);
    // Once a round trip, which the queue makes longer.
    assert!((40..110).contains(&early.count()), "{}", reports.len());
    let rtts = app_packets(&pair, End::A);
    assert!(
        matches!(
            rtts[..],
            [(TfrcApp::RoundTrip(0), _), (TfrcApp::RoundTrip(1..), _), ..]
        ),
        "the first round-trip time is told at once: {rtts:?}"
    );
}

#[test]
fn the_receiver_learns_the_round_trip_time_from_sender_reports() {
    let mut pair = one_way(false);
    pair.run(Duration::from_secs(3));
    let rtts = app_packets(&pair, End::A);
    let (TfrcApp::RoundTrip(last), _) = *rtts.last().unwrap() else {
        panic!("{rtts:?}");
    };
    let known = pair.session(End::A).path().unwrap().rtt.unwrap();
    let difference = known.abs_diff(Duration::from_micros(last.into()));
    assert!(difference < RTT / 2, "{last} us, {known:?}");
    assert!(known >= RTT);
}

#[test]
fn a_report_that_is_played_again_changes_nothing() {
    let mut pair = one_way(false);
    pair.run(Duration::from_secs(3));
    let last: Sent = pair
        .log
        .iter()
        .rfind(|sent| sent.from == End::B)
        .cloned()
        .unwrap();
    pair.run(Duration::from_secs(1));
    let before = pair.session(End::A).path();
    pair.inject(End::A, End::B.address(), &last.bytes);
    let sender = pair.session(End::A);
    assert_eq!(sender.path(), before);
    assert_eq!(sender.statistics().ignored(Ignored::Replayed), 1);
}
