//! A peer whose address changes: it is followed where its source continues in sequence.

use std::net::SocketAddr;
use std::time::Duration;

use crate::pair::{End, Pair, secs};
use evenkeel_rtp::session::EventKind;

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
