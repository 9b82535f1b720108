//! Calls between two sessions, in virtual time.

use std::time::Duration;

use crate::pair::{End, PAYLOAD_TYPE, Pair};
use evenkeel_rtp::packet::rtcp::{Packet, Packets};
use evenkeel_rtp::session::{EventKind, Ignored};
use tfrc::trace::Trace;
use tfrc::units::{Bytes, Rate};

fn one_way() -> Pair {
    Pair::new(End::A.sender(1), End::B.receiver(2))
}

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

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

/// The last datagram of `end` that has certainly arrived by now.
fn delivered(pair: &Pair, end: End, is_media: bool) -> Vec<u8> {
    let mut log = pair.log.iter();
    let sent = log.rfind(|sent| {
        sent.from == end
            && sent.is_media == is_media
            && sent.at + Duration::from_millis(110) < pair.now
    });
    sent.expect("something arrived").bytes.clone()
}

#[test]
fn slow_start_rises_and_the_rtt_is_exact() {
    let mut pair = one_way();
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
    let mut pair = one_way();
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
fn compounds_keep_coming_and_feedback_leaves_alone_between_them() {
    let mut pair = one_way();
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
fn the_capture_instant_crosses_by_the_sender_report() {
    let mut pair = one_way();
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

#[test]
fn a_mute_receiver_is_given_up_by_halves() {
    let mut pair = one_way();
    pair.run(secs(2));
    pair.kill(End::B);
    let killed = pair.now;
    pair.run(secs(8));
    let slow = pair.now;
    pair.run(secs(3));
    // Below one packet a second within 8 s.
    assert!(pair.media_since(End::A, slow) <= 3);
    pair.run(secs(40));
    let stopped = pair
        .events
        .iter()
        .find(|(_, event)| event.kind == EventKind::GaveUp)
        .expect("gave up")
        .1
        .at;
    let waited = stopped - killed;
    assert!((29.0..31.0).contains(&waited.as_secs_f64()), "{waited:?}");
    assert_eq!(pair.media_since(End::A, stopped), 0);
    assert_eq!(pair.session(End::A).next_departure(pair.now), None);
    assert!(pair.session(End::A).statistics().nofeedback_expiries > 3);
}

#[test]
fn the_sender_resumes_when_the_receiver_returns_with_another_source() {
    let mut pair = one_way();
    pair.run(secs(2));
    pair.kill(End::B);
    pair.run(secs(12));
    pair.restart(End::B, End::B.receiver(77));
    let returned = pair.now;
    pair.run(secs(15));
    assert!(
        pair.kinds(End::A)
            .any(|kind| matches!(kind, EventKind::PeerChanged { .. }))
    );
    assert!(pair.media_since(End::A, returned) > 1_000);
    assert!(!pair.kinds(End::A).any(|kind| kind == EventKind::GaveUp));
}

#[test]
fn the_receiver_follows_a_sender_that_was_restarted() {
    let mut pair = one_way();
    pair.run(secs(2));
    pair.kill(End::A);
    pair.run(Duration::from_millis(2_100));
    pair.restart(End::A, End::A.sender(78));
    let before = pair.session(End::B).statistics().packets_received;
    pair.run(secs(2));
    assert!(pair.session(End::B).statistics().packets_received > before + 100);
    // The gap between the two random sequence numbers is no loss.
    assert!(pair.session(End::B).statistics().packets_lost < 100);
}

#[test]
fn a_bye_is_said_once_and_makes_the_peer_probe() {
    let mut pair = one_way();
    pair.run(secs(2));
    let now = pair.now;
    pair.session_mut(End::B).close(now);
    pair.run(secs(1));
    assert_eq!(
        pair.kinds(End::A)
            .filter(|k| *k == EventKind::PeerLeft)
            .count(),
        1
    );
    let since = pair.now;
    pair.run(secs(10));
    assert!((1..=10).contains(&pair.media_since(End::A, since)));
    let last = pair.log.iter().rfind(|sent| sent.from == End::B).unwrap();
    assert!(
        Packets::parse(&last.bytes)
            .unwrap()
            .any(|packet| matches!(packet, Ok(Packet::Bye(_))))
    );
    // The receiver's other self takes over at once.
    pair.restart(End::B, End::B.receiver(79));
    pair.run(secs(30));
    assert!(pair.media_since(End::A, since) > 1_000);
}

#[test]
fn a_call_that_was_given_up_resumes_when_the_peer_is_heard() {
    let mut pair = Pair::new(End::A.caller(1), End::B.caller(2));
    pair.run(secs(2));
    let b = pair.sessions.remove(&End::B).unwrap();
    pair.run(secs(40));
    assert!(pair.kinds(End::A).any(|kind| kind == EventKind::GaveUp));
    let returned = pair.now;
    pair.sessions.insert(End::B, b);
    pair.restart(End::B, End::B.caller(80));
    pair.run(secs(5));
    assert!(pair.kinds(End::A).any(|kind| kind == EventKind::Returned));
    assert!(pair.media_since(End::A, returned) > 500);
    assert!(pair.media_since(End::B, returned) > 500);
}

#[test]
fn lost_feedback_slows_the_sender_and_its_return_brings_it_back() {
    let mut pair = one_way();
    pair.run(secs(1));
    let fast = pair.session(End::A).path().unwrap().allowed_rate;
    pair.drops = Box::new(|sent| !sent.is_media);
    pair.run(secs(1));
    let slow = pair.session(End::A).path().unwrap().allowed_rate;
    assert!(slow / fast < 0.2, "{slow} {fast}");
    pair.drops = Box::new(|_| false);
    pair.run(secs(10));
    assert!(pair.session(End::A).path().unwrap().allowed_rate / fast > 0.5);
}

#[test]
fn a_fixed_rate_needs_no_feedback_and_is_kept() {
    let mut config = End::A.sender(1);
    if let Some(send) = &mut config.send {
        send.fixed_rate = Some(Rate::from_bits_per_sec(960_000.0));
    }
    let mut pair = Pair::new(config, End::B.receiver(2));
    pair.kill(End::B);
    pair.run(secs(60));
    // 960 kb/s of 1,200 bytes: a hundred packets a second.
    let sent = pair.session(End::A).statistics().packets_sent;
    assert!((5_990..=6_002).contains(&sent), "{sent}");
    assert!(!pair.kinds(End::A).any(|kind| kind == EventKind::GaveUp));
}

#[test]
fn strangers_and_garbage_leave_the_call_running_and_are_counted() {
    let mut pair = Pair::new(End::A.caller(1), End::B.caller(2));
    pair.run(secs(2));
    let stranger = "203.0.113.9:9".parse().unwrap();
    let media = delivered(&pair, End::A, true);
    let feedback = delivered(&pair, End::A, false);
    let mut wrong_type = media.clone();
    wrong_type[1] = 0x80 | 33;
    let mut wrong_ssrc = media.clone();
    wrong_ssrc[8] ^= 0xff;
    let mut no_extension = media.clone();
    no_extension[0] &= !0x10;
    let mut far = media.clone();
    far[2] ^= 0x40;
    let mut bad_padding = media.clone();
    bad_padding[0] |= 0x20;
    *bad_padding.last_mut().unwrap() = 0;
    let mut cut = feedback.clone();
    cut.pop();
    let peer = End::A.address();
    let cases: &[(_, &[u8], Ignored)] = &[
        (stranger, &[], Ignored::TooShort),
        (stranger, &[0x80; 11], Ignored::TooShort),
        (stranger, &[0; 40], Ignored::BadVersion),
        (stranger, &vec![0x80; 9_217], Ignored::Oversized),
        (stranger, &media, Ignored::WrongSource),
        (stranger, &feedback, Ignored::WrongSource),
        (stranger, &wrong_type, Ignored::WrongSource),
        (peer, &wrong_type, Ignored::UnknownPayloadType),
        (peer, &wrong_ssrc, Ignored::WrongSsrc),
        (peer, &no_extension, Ignored::MissingExtension),
        (peer, &media[..16], Ignored::BadExtension),
        (peer, &bad_padding, Ignored::BadPadding),
        (peer, &far, Ignored::SequenceJump),
        (peer, &media, Ignored::Duplicate),
        (peer, &cut, Ignored::BadRtcp),
        (peer, &feedback, Ignored::Replayed),
    ];
    for (source, bytes, kind) in cases {
        let before = pair.session(End::B).statistics().ignored(*kind);
        assert_eq!(pair.inject(End::B, *source, bytes), kind.name());
        let after = pair.session(End::B).statistics().ignored(*kind);
        assert_eq!(after, before + 1);
    }
    let events = pair.events.len();
    let received = pair.session(End::B).statistics().packets_received;
    pair.run(secs(2));
    assert!(pair.session(End::B).statistics().packets_received > received + 100);
    assert!(
        !pair.events[events..]
            .iter()
            .any(|(_, event)| matches!(event.kind, EventKind::PeerChanged { .. }))
    );
}

#[test]
fn a_second_sender_is_told_once_with_who_is_heard_and_a_packet_that_strayed_is_not() {
    let mut pair = Pair::new(End::A.sender(1), End::B.receiver(2));
    pair.run(secs(2));
    let ignored = "203.0.113.9:9".parse().unwrap();
    let heard = End::A.address();
    let told = |pair: &Pair| {
        let of = |kind| matches!(kind, EventKind::SecondSender { .. }).then_some(kind);
        pair.kinds(End::B).filter_map(of).collect::<Vec<_>>()
    };
    let mut media = delivered(&pair, End::A, true);
    let mut next = || {
        let sequence = u16::from_be_bytes([media[2], media[3]]).wrapping_add(1);
        media[2..4].copy_from_slice(&sequence.to_be_bytes());
        media.clone()
    };
    // The peer may be gone, and this its successor: nothing was heard of it since.
    for _ in 0..3 {
        assert_eq!(pair.inject(End::B, ignored, &next()), "wrong_source");
    }
    pair.run(secs(1));
    let strayed = next();
    for _ in 0..3 {
        pair.inject(End::B, ignored, &strayed);
    }
    assert_eq!(told(&pair), []);
    for _ in 0..3 {
        pair.inject(End::B, ignored, &next());
    }
    pair.run(secs(1));
    assert_eq!(told(&pair), [EventKind::SecondSender { heard, ignored }]);
}

#[test]
fn a_payload_type_that_is_not_taken_is_told_once_and_not_beside_one_that_is() {
    let mut receiver = End::B.receiver(2);
    receiver.peer = Some(End::A.address());
    let mut pair = Pair::new(End::A.sender(1), receiver);
    let told = |pair: &Pair| {
        let of = |kind| match kind {
            EventKind::UnknownPayloadType { payload_type } => Some(payload_type),
            _ => None,
        };
        pair.kinds(End::B).filter_map(of).collect::<Vec<_>>()
    };
    pair.session_mut(End::A).set_payload_type(98);
    // A stranger's neither counts nor is told of.
    let mut stray = [0; 40];
    stray[..2].copy_from_slice(&[0x80, 33]);
    let stranger = "203.0.113.9:9".parse().unwrap();
    assert_eq!(pair.inject(End::B, stranger, &stray), "wrong_source");
    pair.run(secs(4));
    assert_eq!(told(&pair), [98]);
    // Where no peer is known, neither does a packet that strays here, however often, nor does it hide what a peer sends.
    let mut pair = Pair::new(End::A.sender(1), End::B.receiver(2));
    for _ in 0..3 {
        let kind = pair.inject(End::B, stranger, &stray);
        assert_eq!(kind, "unknown_payload_type");
    }
    assert_eq!(told(&pair), []);
    pair.session_mut(End::A).set_payload_type(98);
    pair.run(secs(4));
    assert_eq!(told(&pair), [98]);
    let mut pair = Pair::new(End::A.sender(1), End::B.receiver(2));
    pair.run(secs(1));
    pair.session_mut(End::A).set_payload_type(98);
    pair.run(secs(1));
    assert_eq!(told(&pair), []);
}

#[test]
fn media_change_their_payload_type_among_those_that_the_receiver_takes() {
    let mut receiver = End::B.receiver(2);
    if let Some(receive) = &mut receiver.receive {
        receive.alternatives = vec![97];
    }
    let mut pair = Pair::new(End::A.sender(1), receiver);
    pair.run(secs(1));
    pair.session_mut(End::A).set_payload_type(97);
    pair.run(secs(1));
    let of_type = |pair: &Pair, number: u8| {
        let mut media = pair.log.iter().filter(|sent| sent.is_media);
        media.any(|sent| sent.bytes[1] & 0x7f == number)
    };
    assert!(of_type(&pair, PAYLOAD_TYPE) && of_type(&pair, 97));
    assert_eq!(pair.session(End::B).statistics().ignored_total(), 0);
    let received = pair.session(End::B).statistics().packets_received;
    // One that it does not take is ignored, and does not end what was.
    pair.session_mut(End::A).set_payload_type(98);
    pair.run(Duration::from_millis(200));
    let ignored = pair.session(End::B).statistics();
    assert!(ignored.ignored(Ignored::UnknownPayloadType) > 0);
    pair.session_mut(End::A).set_payload_type(PAYLOAD_TYPE);
    pair.run(secs(1));
    assert!(pair.session(End::B).statistics().packets_received > received + 50);
}
