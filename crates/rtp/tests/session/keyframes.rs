//! A receiver asks for keyframes, and a sender is told.

use std::time::Duration;

use crate::pair::{End, Pair};
use evenkeel_rtp::packet::rtcp::KeyframeRequest;
use evenkeel_rtp::session::EventKind;

fn requests(pair: &Pair) -> usize {
    let asked = |kind: &EventKind| *kind == EventKind::KeyframeRequested;
    pair.kinds(End::A).filter(asked).count()
}

#[test]
fn a_request_arrives_and_is_repeated_once_a_round_trip() {
    let mut pair = Pair::one_way();
    pair.run(Duration::from_secs(5));
    assert_eq!(requests(&pair), 0);
    // For a second, as often as there are pictures; R is 50 ms and what waits before the wire.
    for _ in 0..100 {
        let now = pair.now;
        pair.session_mut(End::B).request_keyframe(now);
        pair.run(Duration::from_millis(10));
    }
    pair.run(Duration::from_millis(200));
    let count = requests(&pair);
    assert!((5..=20).contains(&count), "{count} requests");
    pair.run(Duration::from_secs(2));
    assert_eq!(requests(&pair), count);
}

#[test]
fn nobody_is_asked_before_there_is_media() {
    let mut pair = Pair::new(End::A.receiver(1), End::B.receiver(2));
    let now = pair.now;
    pair.session_mut(End::B).request_keyframe(now);
    pair.run(Duration::from_secs(1));
    assert!(pair.log.is_empty());
}

#[test]
fn a_full_intra_request_counts_once_for_its_number() {
    let mut pair = Pair::one_way();
    pair.run(Duration::from_secs(2));
    let (ours, theirs) = (pair.session(End::A).ssrc(), pair.session(End::B).ssrc());
    let mut buf = [0; 20];
    for number in [5, 5, 6, 6, 5] {
        let request = KeyframeRequest::FullIntra { number };
        let len = request.emit(theirs, ours, &mut buf).unwrap();
        let source = End::B.address();
        assert_eq!(pair.inject(End::A, source, &buf[..len]), "control");
    }
    // One about another source.
    let len = KeyframeRequest::PictureLoss
        .emit(theirs, ours ^ 1, &mut buf)
        .unwrap();
    pair.inject(End::A, End::B.address(), &buf[..len]);
    pair.run(Duration::from_millis(1));
    assert_eq!(requests(&pair), 3);
}
