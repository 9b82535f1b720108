//! Tests of the receiving side: which frame is shown, and when.

use super::*;
use crate::packetize::Packetizer;
use crate::reassemble::Payload;
use crate::test_support::{Packet, packets};
use evenkeel_codec::picture::{CodedPicture, RawPicture};
use evenkeel_codec::test_support::jpeg_image;
use proptest::prelude::*;

const TICKS: u32 = 3_600;
const DEADLINE: Duration = Duration::from_millis(150);

/// A receiver of frames with four packets each, every 40 ms, with 70 ms of transit.
struct Bench {
    receiver: ReceivingSide,
    packetizer: Packetizer,
    /// The offset that is added to every timestamp.
    offset: u32,
    rtt: Option<Duration>,
}

impl Bench {
    fn new() -> Self {
        Self {
            offset: 0,
            rtt: None,
            receiver: ReceivingSide::new(Payload::Jpeg, 90_000, DEADLINE),
            packetizer: Packetizer::new(200),
        }
    }

    /// Delivers frame `n`, except the lost packets, `later` ms after the usual time.
    fn deliver(&mut self, n: u32, lost: &[usize], later: u64) {
        let image = jpeg_image((64, 16), 255, &[150; 4]);
        let timestamp = n * TICKS + self.offset;
        let packets = packets(&mut self.packetizer, image, timestamp, u64::from(n) * 4);
        assert_eq!(packets.len(), 4);
        let arrival = at(n, 70 + later);
        for (_, packet) in packets
            .iter()
            .enumerate()
            .filter(|(index, _)| !lost.contains(index))
        {
            let packet = MediaPacket {
                rtt: self.rtt,
                ..packet.media(arrival)
            };
            self.receiver.push_packet(arrival, &packet);
        }
    }

    fn poll(&mut self, n: u32, ms: u64) -> Option<(u32, usize)> {
        let frame = self.receiver.poll_frame(at(n, ms))?;
        let missing = frame.picture.parts().missing;
        Some(((frame.timestamp - self.offset) / TICKS, missing))
    }
}

/// Returns the time this many milliseconds after the capture of frame `n`.
fn at(n: u32, ms: u64) -> Instant {
    Instant::from_millis(1_000 + u64::from(n) * 40 + ms)
}

#[test]
fn a_whole_frame_is_shown_at_its_time() {
    let mut bench = Bench::new();
    assert_eq!(bench.receiver.poll_timeout(), None);
    bench.deliver(0, &[], 0);
    assert_eq!(bench.poll(0, 71), None);
    assert_eq!(bench.receiver.poll_timeout(), Some(at(0, 72)));
    assert_eq!(bench.poll(0, 72), Some((0, 0)));
    assert_eq!(bench.receiver.poll_timeout(), None);
}

#[test]
fn damaged_frame_is_shown_at_its_time() {
    let mut bench = Bench::new();
    bench.deliver(0, &[], 0);
    assert_eq!(bench.poll(0, 72), Some((0, 0)));
    bench.deliver(1, &[0], 0);
    assert_eq!(bench.poll(1, 71), None);
    assert_eq!(bench.poll(1, 72), Some((1, 1)));
}

#[test]
fn frame_without_end_waits_for_the_next_frame() {
    let mut bench = Bench::new();
    bench.deliver(0, &[], 0);
    assert_eq!(bench.poll(0, 72), Some((0, 0)));
    bench.deliver(1, &[3], 0);
    assert_eq!(bench.poll(1, 100), None);
    bench.deliver(2, &[], 0);
    assert_eq!(bench.poll(1, 110), Some((1, 1)));
    assert_eq!(bench.poll(2, 72), Some((2, 0)));
}

#[test]
fn frame_of_a_silent_sender_is_shown_eventually() {
    let mut bench = Bench::new();
    bench.deliver(0, &[2, 3], 0);
    assert_eq!(bench.receiver.poll_timeout(), Some(at(0, 570)));
    assert_eq!(bench.poll(0, 570), Some((0, 2)));
}

#[test]
fn the_newest_of_several_due_frames_is_shown() {
    let mut bench = Bench::new();
    for n in 0..4 {
        bench.deliver(n, &[], 0);
    }
    assert_eq!(bench.poll(3, 80), Some((3, 0)));
    assert_eq!(bench.poll(3, 80), None);
    let superseded = std::iter::from_fn(|| bench.receiver.poll_event())
        .filter(|event| matches!(event.kind, EventKind::Dropped { .. }))
        .count();
    assert_eq!(superseded, 3);
}

#[test]
fn late_frame_is_shown_on_arrival_and_reported() {
    let mut bench = Bench::new();
    for n in 0..30 {
        bench.deliver(n, &[], 0);
        assert_eq!(bench.poll(n, 72), Some((n, 0)));
    }
    bench.deliver(30, &[], 20);
    assert_eq!(bench.poll(30, 90), Some((30, 0)));
    let late = std::iter::from_fn(|| bench.receiver.poll_event())
        .filter(|event| matches!(event.kind, EventKind::Completed { late: true, .. }))
        .count();
    assert_eq!(late, 1);
}

/// A report with a transit of 70 ms shows that frames take as long. With a round trip of 100 ms they are then 50 ms
/// old.
#[test]
fn timely_frame_is_not_held_beyond_the_deadline() {
    let mut bench = Bench::new();
    bench.rtt = Some(Duration::from_millis(100));
    bench.receiver.report_arrived(at(0, 70), 0);
    for n in 0..30 {
        bench.deliver(n, &[], if n % 4 == 0 { 120 } else { 90 });
    }
    while bench.receiver.poll_frame(at(30, 150)).is_some() {}
    let due = 70 + 100 - 2;
    bench.deliver(30, &[], 90);
    assert_eq!(bench.poll(30, due - 1), None);
    assert_eq!(bench.poll(30, due), Some((30, 0)));
    bench.deliver(31, &[], 120);
    assert_eq!(bench.poll(31, 190), Some((31, 0)));
}

#[test]
fn a_jump_of_the_peers_clock_begins_anew() {
    let mut bench = Bench::new();
    bench.deliver(0, &[], 0);
    assert_eq!(bench.poll(0, 72), Some((0, 0)));
    for (n, offset) in [(1, 600 * 90_000), (2, 0)] {
        bench.offset = offset;
        bench.deliver(n, &[], 0);
        assert_eq!(bench.poll(n, 72), Some((n, 0)));
    }
}

#[test]
fn a_pause_of_the_peer_changes_nothing() {
    let mut bench = Bench::new();
    for n in [0, 1, 1_000, 1_001] {
        bench.deliver(n, &[], 0);
        assert_eq!(bench.poll(n, 71), None);
        assert_eq!(bench.poll(n, 72), Some((n, 0)));
    }
}

#[test]
fn unexpected_picture_size_is_reported_once() {
    let payload = |width, height| Payload::raw(width, height).expect("possible");
    for (sent, received, reported) in [
        ((32, 16), (64, 48), 1),
        ((64, 48), (32, 16), 1),
        ((64, 16), (64, 48), 1),
        ((64, 48), (64, 48), 0),
    ] {
        let mut receiver = ReceivingSide::new(payload(received.0, received.1), 90_000, DEADLINE);
        let mut packetizer = Packetizer::new(200);
        let mut sequence = 0;
        for n in 0..3 {
            let picture = CodedPicture::Raw(RawPicture {
                width: sent.0 as u16,
                height: sent.1 as u16,
                data: vec![1; 2 * sent.0 * sent.1],
                missing: Vec::new(),
            });
            let packets = packets(&mut packetizer, picture, n * TICKS, sequence);
            sequence += packets.len() as u64;
            for packet in &packets {
                receiver.push_packet(at(n, 70), &packet.media(at(n, 70)));
            }
        }
        let events: Vec<_> = std::iter::from_fn(|| receiver.poll_event())
            .filter_map(|event| match event.kind {
                EventKind::OtherSize { sent, received } => Some((sent, received)),
                _ => None,
            })
            .collect();
        let size = |(width, height): (usize, usize)| (width as u16, height as u16);
        assert_eq!(events, vec![(size(sent), size(received)); reported]);
    }
}

proptest! {
    /// Whatever arrives, due frames leave: polling ends, and no wake-up remains in the past.
    #[test]
    fn polling_clears_every_wake_up_for_any_packets(
        packets in proptest::collection::vec(
            (0..60u64, any::<u32>(), any::<bool>(), 0..5u8, 0..2_000u64),
            0..120,
        ),
    ) {
        let mut bench = Bench::new();
        let mut now = Instant::ZERO;
        for (sequence, timestamp, marker, count, wait) in packets {
            now += Duration::from_millis(wait);
            let packet = Packet {
                payload_type: 0,
                sequence,
                timestamp: timestamp % 1_000_000,
                marker,
                payload: vec![0, 0, 0, 0, 65, 40, 8, 2, 0, 1, 0xc0, count, 7],
            };
            bench.receiver.push_packet(now, &packet.media(now));
            let drained = std::iter::from_fn(|| bench.receiver.poll_frame(now)).count();
            prop_assert!(drained <= Reassembler::MAX_FRAMES);
            prop_assert!(bench.receiver.poll_timeout().is_none_or(|at| at > now));
        }
    }
}

/// The session believes no timestamp that lies further off at once.
#[test]
fn one_timestamp_off_delays_no_picture() {
    for seconds in [-1.9, -0.5, 0.1, 0.5, 1.0, 1.9] {
        for marker in [false, true] {
            let mut bench = Bench::new();
            for n in 0..30 {
                bench.deliver(n, &[], 0);
                assert_eq!(bench.poll(n, 72), Some((n, 0)));
            }
            let image = jpeg_image((64, 16), 255, &[150; 4]);
            let forged = packets(&mut Packetizer::new(200), image, 30 * TICKS, 120);
            let forged = MediaPacket {
                timestamp: (30 * TICKS).wrapping_add_signed((seconds * 90_000.0) as i32),
                marker,
                ..forged[0].media(at(29, 75))
            };
            bench.receiver.push_packet(at(29, 75), &forged);
            let shown = (30..100).filter(|&n| {
                bench.deliver(n, &[], 0);
                // An earlier picture may be among those that are due.
                (0..40).any(|ms| bench.poll(n, 72 + ms).is_some_and(|shown| shown.0 == n))
            });
            let shown = shown.count();
            assert!(shown >= 68, "{seconds} s, {marker}: {shown} of 70");
        }
    }
}
