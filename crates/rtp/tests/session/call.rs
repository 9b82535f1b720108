//! Calls between two sessions: rates, directions, control packets and capture times.

use std::time::Duration;

use crate::pair::{End, Pair, secs};
use evenkeel_rtp::packet::rtcp::{Packet, Packets};
use evenkeel_rtp::session::EventKind;
use tfrc::trace::Trace;
use tfrc::units::{Bytes, Rate};

/// The allowed rates after each feedback at `end`, in bytes per second.
fn rates(pair: &Pair, end: End) -> Vec<f64> {
    pair.kinds(end)
        .filter_map(|kind| match kind {
            EventKind::RateControl(Trace::Feedback { allowed_rate, .. }) => {
                Some(allowed_rate.bytes_per_sec())
            }
            _ => None,
        })
        .collect()
}

#[test]
fn slow_start_rises_and_the_rtt_is_exact() {
    let mut pair = Pair::one_way();
    pair.rate = Rate::INFINITY;
    pair.run(Duration::from_millis(400));
    let rates = rates(&pair, End::A);
    // W_init / R = 4,380 B / 50 ms.
    assert!((rates[0] / 87_600.0 - 1.0).abs() < 0.01, "{rates:?}");
    assert!(rates.is_sorted(), "{rates:?}");
    assert!(rates[rates.len() - 1] > 8.0 * rates[0], "{rates:?}");
    let path = pair.session(End::A).path().unwrap();
    // The send time is rounded down to the microsecond.
    let error = path.rtt.unwrap() - Duration::from_millis(50);
    assert!(error < Duration::from_micros(2), "{error:?}");
    assert!(path.loss_event_rate.is_zero());
    assert_eq!(pair.session(End::A).statistics().ignored_total(), 0);
    assert_eq!(pair.session(End::B).statistics().ignored_total(), 0);
}

#[test]
fn loss_drives_p_and_p_drives_the_rate() {
    let mut pair = Pair::one_way();
    let mut n = 0u32;
    pair.drops = Box::new(move |sent| {
        n += u32::from(sent.is_media);
        sent.is_media && n.is_multiple_of(100)
    });
    pair.run(secs(20));
    let path = pair.session(End::A).path().unwrap();
    // One loss in 100 packets, each an event: they are further apart than a round trip.
    let p = path.loss_event_rate.get();
    assert!((0.008..0.013).contains(&p), "{p}");
    let equation = tfrc::equation::rate(Bytes::new(1_200), path.rtt.unwrap(), path.loss_event_rate);
    let ratio = path.allowed_rate / equation;
    assert!((0.95..1.05).contains(&ratio), "{ratio}");
    let a = pair.session(End::A).statistics();
    let b = pair.session(End::B).statistics();
    // What is not lost is on its way.
    assert!(b.packets_lost >= a.packets_sent / 100 - 1);
    assert!(a.packets_sent - b.packets_received - b.packets_lost < 50);
}

#[test]
fn both_directions_run_at_once() {
    let mut pair = Pair::new(End::A.caller(1), End::B.caller(2));
    let mut n = 0u32;
    pair.drops = Box::new(move |_| {
        n += 1;
        n.is_multiple_of(211)
    });
    pair.run(secs(10));
    for end in [End::A, End::B] {
        let session = pair.session(end);
        let path = session.path().unwrap();
        let rtt = path.rtt.unwrap().as_secs_f64();
        assert!((0.05..0.11).contains(&rtt), "{rtt}");
        assert!(path.loss_event_rate.get() > 0.0);
        assert!(session.statistics().packets_received > 1_000);
        assert!(session.statistics().feedback_received > 100);
        assert_eq!(session.statistics().ignored_total(), 0, "{end:?}");
    }
}

#[test]
fn compounds_continue_and_feedback_leaves_between_them() {
    let mut pair = Pair::one_way();
    let mut n = 0u32;
    pair.drops = Box::new(move |sent| {
        n += u32::from(sent.is_media);
        sent.is_media && n.is_multiple_of(50)
    });
    pair.run(secs(30));
    let from_b: Vec<_> = pair
        .log
        .iter()
        .filter(|sent| sent.from == End::B)
        .map(|sent| Packets::parse(&sent.bytes).unwrap())
        .collect();
    // RFC 5506 §4.2: the first one is a compound.
    assert!(from_b[0].is_compound());
    let compounds = from_b
        .iter()
        .filter(|packets| packets.is_compound())
        .count();
    // The reduced minimum of a session of 1 Mb/s: 0.36 s on average.
    assert!((65..105).contains(&compounds), "{compounds}");
    assert!(from_b.len() > 5 * compounds);
    for packets in from_b.iter().filter(|packets| !packets.is_compound()) {
        let all: Vec<_> = packets.clone().collect();
        assert!(matches!(all[..], [Ok(Packet::Feedback(_))]));
    }
    let a = pair.session(End::A);
    assert_eq!(a.statistics().rtcp_received, from_b.len() as u64);
    assert!(
        pair.kinds(End::B)
            .any(|kind| matches!(kind, EventKind::SenderReport { .. }))
    );
    assert!(pair.kinds(End::A).any(|kind| matches!(
        kind,
        EventKind::ReceptionReport {
            fraction_lost: 3..8,
            ..
        }
    )));
}

#[test]
fn sender_report_carries_the_capture_instant() {
    let mut pair = Pair::one_way();
    pair.run(secs(3));
    let media = pair
        .log
        .iter()
        .rfind(|sent| sent.is_media)
        .expect("media was sent");
    let timestamp = evenkeel_rtp::packet::rtp::RtpPacket::parse(&media.bytes)
        .unwrap()
        .header()
        .timestamp;
    let captured = pair.session(End::B).captured_at(timestamp).unwrap();
    // Two media clocks are rounded to their ticks of 11 µs.
    let error = captured.as_nanos().abs_diff(media.at.as_nanos());
    assert!(error < 25_000, "{error} ns");
}
