//! Datagrams of strangers, of second senders and of unknown payload types.

use std::time::Duration;

use crate::pair::{End, PAYLOAD_TYPE, Pair, secs};
use evenkeel_rtp::session::{EventKind, Ignored};

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
fn strangers_and_garbage_are_counted_during_a_call() {
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
fn second_sender_is_reported_once_strays_are_not() {
    let mut pair = Pair::one_way();
    pair.run(secs(2));
    let ignored = "203.0.113.9:9".parse().unwrap();
    let heard = End::A.address();
    let second_senders = |pair: &Pair| {
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
    assert_eq!(second_senders(&pair), []);
    for _ in 0..3 {
        pair.inject(End::B, ignored, &next());
    }
    pair.run(secs(1));
    assert_eq!(
        second_senders(&pair),
        [EventKind::SecondSender { heard, ignored }]
    );
}

#[test]
fn unknown_payload_type_is_reported_once_if_alone() {
    let mut receiver = End::B.receiver(2);
    receiver.peer = Some(End::A.address());
    let mut pair = Pair::new(End::A.sender(1), receiver);
    let unknown_types = |pair: &Pair| {
        let of = |kind| match kind {
            EventKind::UnknownPayloadType { payload_type } => Some(payload_type),
            _ => None,
        };
        pair.kinds(End::B).filter_map(of).collect::<Vec<_>>()
    };
    pair.session_mut(End::A).set_payload_type(98);
    // A stranger's packet neither counts nor is reported.
    let mut stray = [0; 40];
    stray[..2].copy_from_slice(&[0x80, 33]);
    let stranger = "203.0.113.9:9".parse().unwrap();
    assert_eq!(pair.inject(End::B, stranger, &stray), "wrong_source");
    pair.run(secs(4));
    assert_eq!(unknown_types(&pair), [98]);
    // Where no peer is known, neither does a packet that strays here, however often, nor does it hide what a peer sends.
    let mut pair = Pair::one_way();
    for _ in 0..3 {
        let kind = pair.inject(End::B, stranger, &stray);
        assert_eq!(kind, "unknown_payload_type");
    }
    assert_eq!(unknown_types(&pair), []);
    pair.session_mut(End::A).set_payload_type(98);
    pair.run(secs(4));
    assert_eq!(unknown_types(&pair), [98]);
    let mut pair = Pair::one_way();
    pair.run(secs(1));
    pair.session_mut(End::A).set_payload_type(98);
    pair.run(secs(1));
    assert_eq!(unknown_types(&pair), []);
}

#[test]
fn media_change_between_accepted_payload_types() {
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
