//! Calls in which the receiver reports what came, and the sender makes p and X_recv of it.

use std::time::Duration;

use crate::pair::{End, Pair};
use evenkeel_rtp::packet::rtcp::sack::{self, Sack};
use evenkeel_rtp::packet::rtcp::{Packet, Packets};
use evenkeel_rtp::session::{Config, FeedbackMode, Path, Statistics};
use tfrc::units::{Bytes, Rate};

/// The formats in which arrivals are reported.
pub(crate) const MODES: [FeedbackMode; 3] =
    [FeedbackMode::Ccfb, FeedbackMode::Twcc, FeedbackMode::Sack];

pub(crate) fn with(mode: FeedbackMode, mut config: Config) -> Config {
    if let Some(send) = &mut config.send {
        send.feedback = mode;
    }
    if let Some(receive) = &mut config.receive {
        receive.feedback = mode;
    }
    config
}

pub(crate) fn one_way(mode: FeedbackMode) -> Pair {
    let mut pair = Pair::new(with(mode, End::A.sender(1)), with(mode, End::B.receiver(2)));
    // A format may need a header extension of its own.
    pair.payload = pair.session(End::A).payload_capacity();
    pair
}

/// What came of a call over a path that loses a packet in so many, and a report in so many.
struct Outcome {
    /// Of the last twenty seconds.
    rate: Rate,
    path: Path,
    sender: Statistics,
    receiver: Statistics,
}

fn call(mode: FeedbackMode, data_loss: u32, report_loss: u32) -> Outcome {
    let mut pair = one_way(mode);
    let (mut media, mut control) = (0u32, 0u32);
    pair.drops = Box::new(move |sent| {
        if sent.is_media {
            media += 1;
            media.is_multiple_of(data_loss)
        } else {
            control += 1;
            control > 5 && control.is_multiple_of(report_loss)
        }
    });
    pair.run(Duration::from_secs(10));
    let before = pair.session(End::A).statistics().bytes_sent;
    pair.run(Duration::from_secs(20));
    let sender = pair.session(End::A).statistics().clone();
    Outcome {
        rate: Bytes::new(sender.bytes_sent - before) / Duration::from_secs(20),
        path: pair.session(End::A).path().expect("A sends"),
        sender,
        receiver: pair.session(End::B).statistics().clone(),
    }
}

#[test]
fn rate_equals_that_with_p_from_the_receiver() {
    let by_receiver = call(FeedbackMode::Tfrc, 100, u32::MAX);
    for mode in MODES {
        let computed = call(mode, 100, u32::MAX);
        let ratio = computed.rate / by_receiver.rate;
        assert!((0.97..1.03).contains(&ratio), "{mode:?}: {ratio}");
        let p = computed.path.loss_event_rate.get();
        assert!((0.008..0.013).contains(&p), "{mode:?}: {p}");
        assert_eq!(computed.sender.ignored_total(), 0, "{mode:?}");
        assert_eq!(computed.receiver.ignored_total(), 0, "{mode:?}");
    }
}

#[test]
fn lost_reports_cost_little_due_to_repetition() {
    for mode in MODES {
        let all = call(mode, 100, u32::MAX);
        let most = call(mode, 100, 4);
        let ratio = most.rate / all.rate;
        assert!((0.95..1.05).contains(&ratio), "{mode:?}: {ratio}");
    }
}

#[test]
fn report_leaves_at_least_once_per_rtt() {
    for mode in MODES {
        let outcome = call(mode, 100, u32::MAX);
        let round_trips = 30.0 / outcome.path.rtt.unwrap().as_secs_f64();
        let reports = outcome.receiver.feedback_sent as f64;
        assert!(
            reports > 0.9 * round_trips,
            "{mode:?}: {reports} in {round_trips}"
        );
        let share = outcome.receiver.rtcp_bytes_sent as f64 / outcome.sender.bytes_sent as f64;
        assert!(share < 0.03, "{mode:?}: {share}");
    }
}

#[test]
fn without_loss_the_path_is_filled() {
    for mode in MODES {
        let outcome = call(mode, u32::MAX, u32::MAX);
        let share = outcome.rate / Rate::from_bits_per_sec(2e6);
        assert!((0.9..1.05).contains(&share), "{mode:?}: {share}");
    }
}

#[test]
fn silent_receiver_stops_the_sender() {
    for mode in MODES {
        let mut pair = one_way(mode);
        pair.run(Duration::from_secs(5));
        pair.kill(End::B);
        pair.run(Duration::from_secs(10));
        let since = pair.now;
        pair.run(Duration::from_secs(10));
        // The nofeedback timer has halved the rate to less than a packet a second.
        assert!(pair.media_since(End::A, since) < 10, "{mode:?}");
    }
}

/// Packets so small that RTCP's bandwidth is a report in some three round trips.
#[test]
fn report_above_its_budget_leaves_with_next_packet() {
    let mut sender = with(FeedbackMode::Sack, End::A.sender(1));
    if let Some(send) = &mut sender.send {
        send.packet_size = Bytes::new(64);
    }
    let receiver = with(FeedbackMode::Sack, End::B.receiver(2));
    let mut pair = Pair::new(sender, receiver);
    pair.payload = 20;
    pair.delay = Duration::from_millis(5);
    let mut media = 0u32;
    pair.drops = Box::new(move |sent| {
        media += u32::from(sent.is_media);
        sent.is_media && media.is_multiple_of(20)
    });
    pair.run(Duration::from_secs(10));
    let reports = pair
        .log
        .iter()
        .filter(|sent| sent.from == End::B && !sent.is_media);
    let waits: Vec<Duration> = reports
        .flat_map(|sent| Packets::parse(&sent.bytes).unwrap().flatten())
        .filter_map(|packet| match packet {
            Packet::Application(app) if app.name == sack::NAME => Sack::parse(&app).ok(),
            _ => None,
        })
        .map(|sack| sack.vector.delay)
        .collect();
    let round_trips = 10.0
        / pair
            .session(End::A)
            .path()
            .unwrap()
            .rtt
            .unwrap()
            .as_secs_f64();
    assert!(waits.len() > 100 && (waits.len() as f64) < 0.7 * round_trips);
    let alone = waits.iter().filter(|wait| !wait.is_zero()).count();
    assert!(alone * 50 < waits.len(), "{alone} of {}", waits.len());
}
