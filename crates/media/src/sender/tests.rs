//! Tests of the sending side: targets, keyframes and deadlines.

use super::*;
use crate::test_support;
use evenkeel_codec::picture::{AccessUnit, CodedPicture};
use tfrc::units::Rate;

const PATH: Path = test_support::path(Rate::from_bits_per_sec(3e6), 100);

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn sender() -> SendingSide {
    sender_with(PolicyConfig::new(Duration::from_millis(40)))
}

fn sender_with(policy: PolicyConfig) -> SendingSide {
    SendingSide::new(&SenderConfig {
        policy,
        payload_capacity: 1_000,
        packet_overhead: 24,
        filler_capacity: 0,
    })
}

fn codes_keyframe(sender: &mut SendingSide, ms: u64) -> bool {
    let target = sender.target(at(ms), &PATH);
    target.expect("a path with room").keyframe
}

#[test]
fn every_picture_has_a_target_or_a_reason() {
    let mut sender = sender();
    assert!(sender.target(at(0), &PATH).is_some());
    sender.leave_out(at(0));
    let events = std::iter::from_fn(|| sender.poll_event());
    let kinds: Vec<_> = events.map(|event| event.kind).collect();
    assert!(
        matches!(
            kinds[..],
            [
                EventKind::Target { .. },
                EventKind::Discarded {
                    timestamp: None,
                    reason: Discard::LeftOut
                }
            ]
        ),
        "{kinds:?}"
    );
}

#[test]
fn short_deadline_is_reported_with_the_first_target() {
    let policy = PolicyConfig {
        deadline: Duration::from_millis(20),
        ..PolicyConfig::new(Duration::from_millis(40))
    };
    let mut sender = sender_with(policy);
    let target = sender.target(at(0), &PATH).expect("a path with room");
    let kind = sender.poll_event().map(|event| event.kind);
    let deadline = target.deadline;
    assert_eq!(kind, Some(EventKind::Stretched { deadline }));
    assert!(deadline > policy.deadline);
}

#[test]
fn requested_keyframes_are_a_round_trip_apart() {
    let mut sender = sender();
    assert!(!codes_keyframe(&mut sender, 0));
    sender.request_keyframe(at(10), &PATH);
    sender.request_keyframe(at(20), &PATH);
    assert!(codes_keyframe(&mut sender, 40));
    // The keyframe was coded 99 ms ago, so the peer cannot have received it.
    sender.request_keyframe(at(139), &PATH);
    assert!(!codes_keyframe(&mut sender, 139));
    sender.request_keyframe(at(140), &PATH);
    assert!(codes_keyframe(&mut sender, 140));
}

#[test]
fn discarded_frame_makes_the_next_a_keyframe() {
    let mut sender = sender();
    sender.request_keyframe(at(0), &PATH);
    assert!(codes_keyframe(&mut sender, 0));
    for n in 0..=SendingBuffer::MAX_WAITING as u64 {
        let units = vec![Some(vec![0x61, 0x80, 1])];
        let frame = EncodedFrame {
            captured: at(n),
            timestamp: n as u32,
            picture: CodedPicture::from(AccessUnit { units }),
        };
        assert!(!codes_keyframe(&mut sender, n + 1));
        sender.push_frame(at(n + 1), frame).expect("well formed");
    }
    assert!(codes_keyframe(&mut sender, 10));
}
