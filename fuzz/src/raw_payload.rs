//! Payloads of uncompressed video, put together as a stream and decoded.

use arbitrary::{Arbitrary, Unstructured};
use evenkeel_codec::VideoDecoder as _;
use evenkeel_codec::raw::Decoder;
use evenkeel_media::reassemble::{Payload, Reassembler};
use evenkeel_rtp::packet::payload::raw::{RawPayload, Segment, emit, headers_len};
use tfrc::time::Instant;

use crate::media_packet;

/// A picture of few packets.
const SIZE: (usize, usize) = (16, 6);

#[derive(Arbitrary, Debug)]
struct Packet {
    sequence: u8,
    timestamp: u8,
    marker: bool,
    /// Bytes, groups into the line, line: mostly within the picture.
    segments: Vec<(u8, u8, u8)>,
    take: bool,
}

/// Reads the bytes as one payload, then as a stream of packets.
pub fn check(data: &[u8]) {
    check_lengths(data);
    let mut stream = Unstructured::new(data);
    let payload = Payload::raw(SIZE.0, SIZE.1).expect("small and even");
    let mut reassembler = Reassembler::new(payload);
    let mut decoder = Decoder::default();
    let mut now = Instant::ZERO;
    while !stream.is_empty() {
        let Ok(packet) = Packet::arbitrary(&mut stream) else {
            return;
        };
        now += std::time::Duration::from_millis(1);
        let payload = packet.payload();
        check_lengths(&payload);
        let frame = (packet.timestamp.into(), packet.marker);
        reassembler.push(&media_packet(now, packet.sequence.into(), frame, &payload));
        assert!(reassembler.frames().count() <= Reassembler::MAX_FRAMES);
        let oldest = reassembler.frames().next();
        let taken = oldest.filter(|_| packet.take).map(|frame| frame.timestamp);
        if let Some(Ok(frame)) = taken.and_then(|timestamp| reassembler.take(timestamp, now)) {
            let decoded = decoder
                .decode(&frame.picture)
                .expect("reassembled pictures are possible");
            assert_eq!((decoded.picture.width(), decoded.picture.height()), SIZE);
            assert_eq!(decoded.concealed == 0, frame.picture.is_whole());
        }
    }
}

impl Packet {
    fn payload(&self) -> Vec<u8> {
        let segment = |&(len, group, line): &(u8, u8, u8)| Segment {
            len: u16::from(len % 9) * 4,
            line: u16::from(line % 7),
            second_field: line > 250,
            offset: u16::from(group % 9) * 2,
        };
        let segments: Vec<Segment> = self.segments.iter().map(segment).collect();
        let mut payload = vec![0; headers_len(segments.len())];
        if emit(0, &segments, &mut payload).is_none() {
            return Vec::new();
        }
        let data: usize = segments
            .iter()
            .map(|segment| usize::from(segment.len))
            .sum();
        payload.resize(payload.len() + data, self.sequence);
        payload
    }
}

fn check_lengths(bytes: &[u8]) {
    if let Ok(payload) = RawPayload::parse(bytes) {
        let data: usize = payload.segments().map(|(_, data)| data.len()).sum();
        assert!(data <= bytes.len());
    }
}
