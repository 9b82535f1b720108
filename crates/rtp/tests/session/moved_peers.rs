//! A peer whose address changes: it is followed where its source continues in sequence.

use std::net::SocketAddr;
use std::time::Duration;

use crate::pair::{End, Pair, secs};
use crate::reports::with;
use evenkeel_rtp::session::{EventKind, FeedbackMode};

fn moves(pair: &Pair) -> Vec<EventKind> {
    let is_move = |kind: &EventKind| matches!(kind, EventKind::PeerMoved { .. });
    pair.kinds(End::B).filter(is_move).collect()
}

/// A packet of A with a sequence number that is so far above the last that B received.
fn next(pair: &Pair, ahead: u16) -> Vec<u8> {
    let mut media = pair
        .log
        .iter()
        .filter(|sent| sent.is_media && sent.from == End::A);
    let mut bytes = media.next_back().expect("media").bytes.clone();
    let sequence = u16::from_be_bytes([bytes[2], bytes[3]]).wrapping_add(ahead);
    bytes[2..4].copy_from_slice(&sequence.to_be_bytes());
    bytes
}

fn ports() -> [SocketAddr; 2] {
    [
        SocketAddr::new(End::A.address().ip(), 61_000),
        SocketAddr::from(([203, 0, 113, 9], 5_004)),
    ]
}

#[test]
fn peer_is_followed_where_its_source_continues() {
    for to in ports() {
        for receiver in [End::B.receiver(2), End::B.caller(2)] {
            let mut pair = Pair::new(End::A.caller(1), receiver);
            pair.run(secs(3));
            pair.kill(End::A);
            pair.run(Duration::from_millis(300));
            assert_eq!(pair.inject(End::B, to, &next(&pair, 1)), "wrong_source");
            assert_eq!(pair.inject(End::B, to, &next(&pair, 2)), "media");
            assert_eq!(pair.session(End::B).peer_address(), Some(to));
            assert_eq!(pair.inject(End::B, to, &next(&pair, 3)), "media");
            let (now, mut buf) = (pair.now, [0; 2_048]);
            let b = pair.session_mut(End::B);
            while let Some(event) = b.poll_event() {
                if let EventKind::PeerMoved { from, to: there } = event.kind {
                    assert_eq!((from, there), (End::A.address(), to));
                }
            }
            let sent =
                (0..200).find_map(|ms| b.poll_transmit(now + Duration::from_millis(ms), &mut buf));
            assert_eq!(sent.map(|transmit| transmit.destination), Some(to));
        }
    }
}

#[test]
fn copies_beside_a_present_peer_move_nothing() {
    let mut pair = Pair::one_way();
    pair.run(secs(3));
    let [_, thief] = ports();
    for _ in 0..300 {
        // It knows what comes next, and the peer is still there.
        pair.inject(End::B, thief, &next(&pair, 1));
        pair.run(Duration::from_millis(10));
    }
    assert_eq!(moves(&pair), []);
    assert_eq!(pair.session(End::B).peer_address(), Some(End::A.address()));
}

#[test]
fn packets_out_of_sequence_move_nothing() {
    let mut pair = Pair::one_way();
    pair.run(secs(3));
    pair.kill(End::A);
    pair.run(Duration::from_millis(300));
    let [to, other] = ports();
    let mut stranger = next(&pair, 1);
    stranger[8] ^= 1;
    for (source, bytes) in [
        (to, next(&pair, 1)),
        (to, next(&pair, 1)),
        (to, next(&pair, 5)),
        (other, next(&pair, 6)),
        (to, next(&pair, 0)),
        (to, stranger),
    ] {
        assert_eq!(pair.inject(End::B, source, &bytes), "wrong_source");
    }
    assert_eq!(pair.session(End::B).peer_address(), Some(End::A.address()));
}

/// A receiver without media of its own, and the media packets that it gets in a second.
fn reporting(mode: FeedbackMode) -> (Pair, f64) {
    let mut pair = Pair::new(with(mode, End::A.sender(1)), with(mode, End::B.receiver(2)));
    pair.payload = pair.session(End::A).payload_capacity();
    pair.has_strangers = true;
    pair.run(secs(3));
    let before = received(&mut pair, secs(1));
    (pair, before)
}

fn received(pair: &mut Pair, time: Duration) -> f64 {
    let count = |pair: &Pair| pair.session(End::B).statistics().packets_received;
    let before = count(pair);
    pair.run(time);
    (count(pair) - before) as f64
}

#[test]
fn receiver_that_only_reports_is_followed() {
    let ports = [
        SocketAddr::new(End::B.address().ip(), 61_000),
        SocketAddr::from(([203, 0, 113, 9], 5_004)),
    ];
    for (mode, to) in FeedbackMode::ALL.into_iter().zip(ports.into_iter().cycle()) {
        let (mut pair, before) = reporting(mode);
        pair.moved = Some((End::B, to));
        // Silence, an answer to a report that left after the move, and a slow start.
        pair.run(secs(12));
        assert_eq!(pair.session(End::A).peer_address(), Some(to), "{mode:?}");
        let after = received(&mut pair, secs(1));
        assert!(after >= before * 0.5, "{mode:?}: {after} of {before}");
    }
}

#[test]
fn copied_reports_move_no_present_receiver() {
    let thief = SocketAddr::from(([203, 0, 113, 9], 5_004));
    for mode in FeedbackMode::ALL {
        let (mut pair, before) = reporting(mode);
        for _ in 0..500 {
            let mut reports = pair.log.iter().rev();
            let report = reports.find(|sent| sent.from == End::B).expect("a report");
            let bytes = report.bytes.clone();
            pair.inject(End::A, thief, &bytes);
            pair.run(Duration::from_millis(10));
        }
        let b = Some(End::B.address());
        assert_eq!(pair.session(End::A).peer_address(), b, "{mode:?}");
        let after = received(&mut pair, secs(1));
        assert!(after >= before * 0.5, "{mode:?}: {after} of {before}");
    }
}

#[test]
fn thief_of_a_silent_receiver_gets_three_times_its_bytes() {
    let thief = SocketAddr::from(([203, 0, 113, 9], 5_004));
    let (mut pair, _) = reporting(FeedbackMode::Ccfb);
    let mut reports = pair.log.iter().rev();
    let report = reports.find(|sent| sent.from == End::B).expect("a report");
    let bytes = report.bytes.clone();
    pair.kill(End::B);
    pair.run(secs(3));
    let sent = |pair: &Pair| {
        let statistics = pair.session(End::A).statistics();
        statistics.bytes_sent
    };
    // The first of two reports only makes the second count.
    pair.inject(End::A, thief, &bytes);
    pair.inject(End::A, thief, &bytes);
    assert_eq!(pair.session(End::A).peer_address(), Some(thief));
    let before = sent(&pair);
    for _ in 0..20 {
        pair.inject(End::A, thief, &bytes);
        pair.run(Duration::from_millis(100));
    }
    let media = sent(&pair) - before;
    assert!(media <= 3 * 21 * bytes.len() as u64, "{media} bytes");
}
