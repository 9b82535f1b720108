//! Tests of the order in which frames leave, and of those that give way.

use super::*;
use crate::frame::EncodedFrame;
use crate::packetize::Packetizer;
use crate::policy::{PolicyConfig, Rules};
use crate::test_support;
use evenkeel_codec::picture::AccessUnit;
use evenkeel_codec::test_support::jpeg_image;
use tfrc::units::Rate;

const OVERHEAD: usize = 24;

/// Returns a frame captured at `ms`, in packets of one interval each.
fn frame(ms: u64, packets: usize) -> PacketizedFrame {
    // RFC 2435 has tables of 255 for Q = 1, which take no bytes.
    let image = jpeg_image((16 * packets as u16, 16), 255, &vec![900; packets]);
    let frame = EncodedFrame {
        captured: at(ms),
        timestamp: ms as u32,
        picture: image.into(),
    };
    Packetizer::new(1_000)
        .packetize(frame)
        .expect("well formed")
}

/// Returns a path with a round trip of 60 ms.
fn path(packets_per_sec: f64) -> Path {
    test_support::path(Rate::from_bytes_per_sec(packets_per_sec * 938.0), 60)
}

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

struct Bench {
    buffer: SendingBuffer,
    policy: Policy,
    events: EventQueue,
}

impl Bench {
    fn new() -> Self {
        Self {
            buffer: SendingBuffer::new(OVERHEAD),
            policy: Policy::new(PolicyConfig::new(Duration::from_millis(40)), 1.0),
            events: EventQueue::default(),
        }
    }

    /// Lets one packet leave, and returns the timestamp of its frame and its index.
    fn depart(&mut self, ms: u64, path: &Path) -> Option<(u32, usize)> {
        let (policy, events) = (&self.policy, &mut self.events);
        let next = self.buffer.next_packet(at(ms), path, policy, events)?;
        let packet = (next.frame.timestamp(), next.index);
        self.buffer.packet_sent(at(ms), events);
        Some(packet)
    }

    fn discards(&mut self) -> Vec<(Option<u32>, Discard)> {
        std::iter::from_fn(|| self.events.pop())
            .filter_map(|event| match event.kind {
                EventKind::Discarded { timestamp, reason } => Some((timestamp, reason)),
                _ => None,
            })
            .collect()
    }
}

#[test]
fn frames_leave_in_order_and_whole() {
    let mut bench = Bench::new();
    let path = path(100.0);
    bench.buffer.push(frame(0, 2));
    let first: Vec<_> = (0..2).map(|n| bench.depart(40 + n, &path)).collect();
    bench.buffer.push(frame(40, 2));
    let second: Vec<_> = (0..3).map(|n| bench.depart(80 + n, &path)).collect();
    assert_eq!(first, [Some((0, 0)), Some((0, 1))]);
    assert_eq!(second, [Some((40, 0)), Some((40, 1)), None]);
    assert_eq!(bench.discards(), []);
    assert!(bench.buffer.is_empty());
    assert_eq!(bench.buffer.queued(), Bytes::ZERO);
}

#[test]
fn theta_counts_what_waits_and_what_remains() {
    let mut bench = Bench::new();
    bench.buffer.push(frame(0, 2));
    bench.depart(1, &path(100.0));
    let rest = bench.buffer.queued();
    assert_eq!(rest, Bytes::new(902 + 12 + 24));
    bench.buffer.push(frame(0, 2));
    let both = bench.buffer.queued();
    assert_eq!(both - rest, Bytes::new(2 * (900 + 12 + 24) + 2));
}

#[test]
fn a_newer_frame_replaces_one_that_waits() {
    let mut bench = Bench::new();
    let path = path(100.0);
    bench.buffer.push(frame(0, 2));
    assert_eq!(bench.depart(1, &path), Some((0, 0)));
    bench.buffer.push(frame(40, 2));
    bench.buffer.push(frame(80, 2));
    assert_eq!(bench.depart(90, &path), Some((0, 1)));
    assert_eq!(bench.depart(91, &path), Some((80, 0)));
    assert_eq!(bench.discards(), [(Some(40), Discard::Superseded)]);
    assert!(bench.buffer.take_gap());
}

#[test]
fn a_frame_gives_way_to_none_that_refers_to_it() {
    let h264 = |ms: u64, kind: u8| {
        let access_unit = AccessUnit {
            // So few bytes fit into one packet.
            units: vec![Some(vec![kind; 20])],
        };
        let frame = EncodedFrame {
            captured: at(ms),
            timestamp: ms as u32,
            picture: access_unit.into(),
        };
        let packetized = Packetizer::new(1_000).packetize(frame);
        packetized.expect("well formed")
    };
    const KEYFRAME: u8 = 5;
    const OTHER: u8 = 1;
    let mut bench = Bench::new();
    let path = path(100.0);
    bench.buffer.push(h264(0, OTHER));
    bench.buffer.push(h264(40, OTHER));
    assert_eq!(bench.depart(50, &path), Some((0, 0)));
    assert_eq!(bench.discards(), []);
    bench.buffer.push(h264(80, KEYFRAME));
    bench.buffer.push(h264(120, OTHER));
    assert_eq!(bench.depart(130, &path), Some((80, 0)));
    assert_eq!(bench.discards(), [(Some(40), Discard::Superseded)]);
    assert_eq!(bench.depart(140, &path), Some((120, 0)));
    // After a gap only a keyframe can be shown.
    for ms in [160, 200, 240, 280] {
        bench.buffer.push(h264(ms, OTHER));
    }
    assert_eq!(bench.depart(290, &path), None);
    assert_eq!(
        bench.discards(),
        [200, 240, 280].map(|ms| (Some(ms), Discard::NoReference))
    );
    assert!(bench.buffer.take_gap());
    bench.buffer.push(h264(320, KEYFRAME));
    bench.buffer.push(h264(360, OTHER));
    assert_eq!(bench.depart(370, &path), Some((320, 0)));
    assert_eq!(bench.depart(380, &path), Some((360, 0)));
}

#[test]
fn thesis_skips_a_late_frame() {
    let mut bench = Bench::new();
    bench.policy.set_rules(Rules::Thesis);
    let path = path(100.0);
    // Network takes 30 ms, playout 16 and the frame some 50: it may wait for 54.
    bench.buffer.push(frame(0, 5));
    bench.buffer.push(frame(40, 5));
    assert_eq!(bench.depart(68, &path), Some((40, 0)));
    assert_eq!(bench.discards(), [(Some(0), Discard::TooLate)]);
}

#[test]
fn a_frame_once_begun_is_finished() {
    let mut bench = Bench::new();
    bench.buffer.push(frame(0, 3));
    bench.depart(1, &path(100.0));
    bench.buffer.push(frame(40, 1));
    let slow = path(10.0);
    assert_eq!(bench.depart(500, &slow), Some((0, 1)));
    assert_eq!(bench.depart(900, &slow), Some((0, 2)));
}

#[test]
fn what_is_half_sent_is_abandoned_when_worthless() {
    let mut bench = Bench::new();
    let path = path(100.0);
    bench.buffer.push(frame(0, 3));
    bench.depart(1, &path);
    bench.buffer.push(frame(2_000, 1));
    assert_eq!(bench.depart(2_010, &path), Some((2_000, 0)));
    assert_eq!(bench.discards(), [(Some(0), Discard::Abandoned)]);
}

#[test]
fn a_slow_path_finishes_its_frames() {
    let mut bench = Bench::new();
    // At a packet every two seconds the frame takes six seconds.
    let path = path(0.5);
    bench.buffer.push(frame(0, 3));
    for n in 0..3 {
        assert_eq!(bench.depart(1 + 2_000 * n, &path), Some((0, n as usize)));
    }
    assert_eq!(bench.discards(), []);
}

#[test]
fn no_more_frames_wait_than_may() {
    let mut buffer = SendingBuffer::new(OVERHEAD);
    for n in 0..SendingBuffer::MAX_WAITING as u64 {
        assert!(buffer.push(frame(n, 1)).is_none());
    }
    assert_eq!(
        buffer.push(frame(9, 1)).map(|frame| frame.timestamp()),
        Some(0)
    );
}

#[test]
fn old_frames_are_not_sent_after_a_pause() {
    let mut bench = Bench::new();
    bench.buffer.push(frame(0, 1));
    assert_eq!(bench.depart(60_000, &path(100.0)), None);
    assert_eq!(bench.discards(), [(Some(0), Discard::TooLate)]);
}
