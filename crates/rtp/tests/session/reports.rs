//! Calls in which the receiver reports what came, and the sender makes p and X_recv of it.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use crate::pair::{End, Pair};
use evenkeel_rtp::packet::rtcp::sack::{self, Sack};
use evenkeel_rtp::packet::rtcp::{Packet, Packets};
use evenkeel_rtp::session::{Config, FeedbackMode, Ignored, Path, PathSignal, Statistics};
use tfrc::units::{Bytes, Rate};

/// The formats in which arrivals are reported.
const MODES: [FeedbackMode; 3] = [FeedbackMode::Ccfb, FeedbackMode::Twcc, FeedbackMode::Sack];

fn with(mode: FeedbackMode, mut config: Config) -> Config {
    if let Some(send) = &mut config.send {
        send.feedback = mode;
    }
    if let Some(receive) = &mut config.receive {
        receive.feedback = mode;
    }
    config
}

fn one_way(mode: FeedbackMode) -> Pair {
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
fn the_rate_is_that_of_a_receiver_which_computes_p_itself() {
    let told = call(FeedbackMode::Tfrc, 100, u32::MAX);
    for mode in MODES {
        let computed = call(mode, 100, u32::MAX);
        let ratio = computed.rate / told.rate;
        assert!((0.97..1.03).contains(&ratio), "{mode:?}: {ratio}");
        let p = computed.path.loss_event_rate.get();
        assert!((0.008..0.013).contains(&p), "{mode:?}: {p}");
        assert_eq!(computed.sender.ignored_total(), 0, "{mode:?}");
        assert_eq!(computed.receiver.ignored_total(), 0, "{mode:?}");
    }
}

#[test]
fn reports_that_are_lost_cost_little_for_the_next_repeat_them() {
    for mode in MODES {
        let all = call(mode, 100, u32::MAX);
        let most = call(mode, 100, 4);
        let ratio = most.rate / all.rate;
        assert!((0.95..1.05).contains(&ratio), "{mode:?}: {ratio}");
    }
}

#[test]
fn a_report_leaves_at_least_once_a_round_trip() {
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
fn a_receiver_that_falls_silent_stops_the_sender() {
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

/// Where the last packet of a datagram begins: the report, if there is one.
fn report_in(datagram: &[u8]) -> usize {
    let (mut last, mut next) = (0, 0);
    while next < datagram.len() {
        last = next;
        let words = u16::from_be_bytes([datagram[last + 2], datagram[last + 3]]);
        next += 4 * (1 + usize::from(words));
    }
    last
}

/// Where a report names the source that it is about.
fn place_of_source(mode: FeedbackMode) -> usize {
    if mode == FeedbackMode::Sack { 12 } else { 8 }
}

/// A report that is refused for this: of another source, or one that says nothing.
fn refused(kind: Ignored, mode: FeedbackMode, report: &[u8]) -> Vec<u8> {
    let (place, mut bytes) = (place_of_source(mode), report.to_vec());
    if kind == Ignored::WrongSsrc {
        bytes[place] ^= 1;
    } else {
        bytes.truncate(place + 4);
        bytes[3] = (place / 4) as u8;
    }
    bytes
}

/// The receiver always says something before what it says of our source, or behind it.
#[test]
fn a_report_that_is_refused_takes_nothing_from_the_others_of_its_datagram_and_is_counted() {
    for mode in MODES {
        for (kind, is_first) in [
            (Ignored::WrongSsrc, false),
            (Ignored::WrongSsrc, true),
            (Ignored::BadRtcp, false),
            (Ignored::BadRtcp, true),
        ] {
            let what = format!("{mode:?}, {kind:?}, first: {is_first}");
            let mut pair = one_way(mode);
            pair.run(Duration::from_secs(3));
            let before = pair.session(End::A).statistics().clone();
            let rate = pair.session(End::A).path().unwrap().allowed_rate;
            // What the receiver sends comes by our hand.
            pair.drops = Box::new(|sent| sent.from == End::B);
            let (mut handed, mut seen) = (0, pair.log.len());
            for _ in 0..300 {
                pair.run(Duration::from_millis(10));
                let new = pair.log[seen..].iter().filter(|sent| sent.from == End::B);
                let datagrams: Vec<_> = new.map(|sent| sent.bytes.clone()).collect();
                seen = pair.log.len();
                for datagram in datagrams {
                    let (others, report) = datagram.split_at(report_in(&datagram));
                    // A compound may have none.
                    if ![204, 205].contains(&report[1]) {
                        continue;
                    }
                    let bad = refused(kind, mode, report);
                    let reports = if is_first {
                        [&bad, report]
                    } else {
                        [report, &bad]
                    };
                    let datagram = [others, &reports.concat()].concat();
                    let verdict = pair.inject(End::A, End::B.address(), &datagram);
                    assert_eq!(verdict, "control", "{what}");
                    handed += 1;
                }
            }
            let after = pair.session(End::A).statistics();
            // The first were under way when others began to come by our hand.
            let received = after.feedback_received - before.feedback_received;
            assert!(handed > 20 && received >= handed, "{what}: {received}");
            assert_eq!(after.ignored(kind), handed, "{what}");
            assert_eq!(after.ignored_total(), handed, "{what}");
            assert_eq!(after.nofeedback_expiries, 0, "{what}");
            let share = pair.session(End::A).path().unwrap().allowed_rate / rate;
            assert!(share > 0.8, "{what}: {share}");
        }
    }
}

/// Alone it is why.
#[test]
fn a_datagram_whose_reports_are_all_refused_is_ignored() {
    for mode in MODES {
        let mut pair = one_way(mode);
        pair.run(Duration::from_secs(3));
        let control = pair.log.iter().rfind(|sent| sent.from == End::B).unwrap();
        let report = &control.bytes[report_in(&control.bytes)..];
        let bad = [Ignored::BadRtcp, Ignored::WrongSsrc].map(|kind| refused(kind, mode, report));
        let before = pair.session(End::A).statistics().clone();
        let verdict = pair.inject(End::A, End::B.address(), &bad.concat());
        assert_eq!(verdict, Ignored::BadRtcp.name(), "{mode:?}");
        let after = pair.session(End::A).statistics();
        assert_eq!(after.ignored_total(), 1, "{mode:?}");
        assert_eq!(
            after.feedback_received, before.feedback_received,
            "{mode:?}"
        );
    }
}

/// Packets so small that RTCP's bandwidth is a report in some three round trips.
#[test]
fn a_report_that_was_too_dear_leaves_with_the_next_packet() {
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

#[test]
fn path_sample_comes_with_each_report() {
    for mode in FeedbackMode::ALL {
        let mut pair = one_way(mode);
        let mut media = 0u32;
        pair.drops = Box::new(move |sent| {
            media += u32::from(sent.is_media);
            sent.is_media && media.is_multiple_of(50)
        });
        pair.run(Duration::from_secs(10));
        let reports = pair.session(End::A).statistics().feedback_received;
        assert!(reports > 50, "{mode:?}: {reports}");
        assert_eq!(pair.samples.len() as u64, reports, "{mode:?}");
        assert!(pair.samples.iter().all(|sample| sample.from == End::A));
        for sample in &pair.samples {
            let is_per_packet = matches!(mode, FeedbackMode::Ccfb | FeedbackMode::Twcc);
            assert_eq!(!sample.deliveries.is_empty(), is_per_packet, "{mode:?}");
            match sample.signal {
                PathSignal::Deliveries => assert!(is_per_packet, "{mode:?}"),
                PathSignal::TransitBounds { .. } => panic!("nobody asked for {sample:?}"),
                PathSignal::RoundTrip {
                    sent_at,
                    round_trip,
                    receive_rate,
                } => {
                    assert!(!is_per_packet, "{mode:?}");
                    assert!(sent_at < sample.at && receive_rate.is_finite());
                    // Twice the path's delay of 25 ms, and its queue.
                    let is_true = round_trip >= Duration::from_millis(50)
                        && round_trip <= sample.at - sent_at;
                    assert!(is_true, "{mode:?}: {round_trip:?}");
                }
            }
        }
    }
}

#[test]
fn path_samples_report_loss_events() {
    for mode in FeedbackMode::ALL {
        let mut pair = one_way(mode);
        let mut media = 0u32;
        pair.drops = Box::new(move |sent| {
            media += u32::from(sent.is_media);
            sent.is_media && [200, 600].contains(&media)
        });
        pair.run(Duration::from_secs(10));
        let told = pair.samples.iter().filter(|sample| sample.loss_event);
        let told = told.count() as u64;
        let lost = pair.session(End::B).statistics().packets_lost;
        println!("{mode:?}: {told} of {lost}");
        assert!((2..=lost).contains(&told), "{mode:?}: {told} of {lost}");
        assert!(!pair.samples[0].loss_event, "{mode:?}");
    }
}

/// Every hundredth packet is lost.
#[test]
fn tolerated_losses_leave_the_rate_alone() {
    for mode in [FeedbackMode::Ccfb, FeedbackMode::Twcc, FeedbackMode::Sack] {
        let [counted, tolerated] = [0.0, 0.03].map(|ratio| {
            let mut pair = one_way(mode);
            let dropped = Rc::new(Cell::new(0));
            let mut media = 0u32;
            let count = Rc::clone(&dropped);
            pair.drops = Box::new(move |sent| {
                media += u32::from(sent.is_media);
                let drops = sent.is_media && media > 400 && media.is_multiple_of(100);
                count.set(count.get() + u64::from(drops));
                drops
            });
            // The queue does not overflow.
            pair.rate = Rate::from_bits_per_sec(1e9);
            pair.run(Duration::from_secs(1));
            pair.session_mut(End::A).tolerate_losses(ratio);
            pair.run(Duration::from_secs(2));
            let lost: u64 = pair.samples.iter().map(|sample| sample.lost).sum();
            // The last round trip is not reported yet.
            let dropped = dropped.get();
            assert!(
                (dropped - 2..=dropped).contains(&lost),
                "{mode:?}: {lost} of {dropped}"
            );
            let path = pair.session(End::A).path().unwrap();
            path.loss_event_rate.get()
        });
        assert!((0.005..0.02).contains(&counted), "{mode:?}: {counted}");
        assert!(tolerated < counted / 10.0, "{mode:?}: {tolerated}");
    }
}

#[test]
fn path_samples_give_each_delivery_once() {
    for mode in [FeedbackMode::Ccfb, FeedbackMode::Twcc] {
        let mut pair = one_way(mode);
        pair.run(Duration::from_secs(5));
        let received = pair.session(End::B).statistics().packets_received;
        let mut numbers = std::collections::BTreeSet::new();
        let last = pair.session(End::A).last_number();
        for delivery in pair.samples.iter().flat_map(|sample| &sample.deliveries) {
            assert!(numbers.insert(delivery.number), "{mode:?}");
            assert!(delivery.number <= last, "{mode:?}");
        }
        // The last round trip is not reported yet.
        let missing = received - numbers.len() as u64;
        assert!(missing < received / 10, "{mode:?}: {missing} of {received}");
    }
}

#[test]
fn path_has_no_sample_before_feedback() {
    for mode in FeedbackMode::ALL {
        let mut pair = one_way(mode);
        pair.kill(End::B);
        pair.run(Duration::from_secs(5));
        assert!(pair.samples.is_empty(), "{mode:?}");
        assert!(pair.session_mut(End::A).poll_path().is_none(), "{mode:?}");
    }
}

/// Both clocks are one, so that a transit time is at least the delay of the path.
#[test]
fn transit_bounds_are_those_of_the_path_where_asked_for() {
    for is_asked_for in [false, true] {
        let mut receiver = with(FeedbackMode::Tfrc, End::B.receiver(2));
        let receive = receiver.receive.as_mut().expect("it receives");
        receive.transit_bounds = is_asked_for;
        let mut pair = Pair::new(with(FeedbackMode::Tfrc, End::A.sender(1)), receiver);
        pair.run(Duration::from_secs(10));
        assert!(pair.samples.len() > 50);
        assert_eq!(pair.session(End::A).statistics().ignored_total(), 0);
        for sample in &pair.samples {
            let PathSignal::TransitBounds {
                round_trip,
                least,
                largest,
                ..
            } = sample.signal
            else {
                assert!(!is_asked_for, "{sample:?}");
                continue;
            };
            assert!(is_asked_for, "{sample:?}");
            let [least, largest] = [least, largest].map(|it| Duration::from_micros(it.into()));
            let path = Duration::from_millis(25);
            // Timestamps are of whole microseconds.
            let slack = Duration::from_micros(2);
            assert!(least + slack >= path && largest >= least, "{sample:?}");
            assert!(least + path <= round_trip + slack, "{sample:?}");
            // Its queue holds 50 ms.
            let most = path + Duration::from_millis(60);
            assert!(largest <= most, "{sample:?}");
        }
    }
}
