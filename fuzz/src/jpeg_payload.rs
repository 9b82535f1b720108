//! JPEG payloads: their headers, their reassembly in any order, the decoding of what is left.

use std::time::Duration;

use arbitrary::{Arbitrary, Unstructured};
use evenkeel_codec::mjpeg::Decoder;
use evenkeel_codec::picture::CodedPicture;
use evenkeel_media::reassemble::{Payload, Pushed, Reassembler};
use evenkeel_rtp::packet::payload::jpeg::{JpegHeader, JpegType, Restart, Tables};
use tfrc::time::Instant;

use crate::media_packet;

/// Larger images are reassembled, but not decoded: an execution should take microseconds.
const MOST_MCUS: usize = 256;

/// A packet as the session would hand it over.
#[derive(Arbitrary, Debug)]
struct Packet<'a> {
    sequence: u8,
    timestamp: u8,
    marker: bool,
    headers: Option<Headers>,
    data: &'a [u8],
    then: Then,
}

/// Headers that are well formed, as random bytes seldom are.
#[derive(Arbitrary, Debug)]
struct Headers {
    offset: u8,
    full_chroma: bool,
    q: u8,
    blocks: (u8, u8),
    restart: Option<(u8, bool, bool, u8)>,
    tables: bool,
}

/// What the receiver does after a packet.
#[derive(Arbitrary, Debug)]
enum Then {
    Wait,
    TakeOldest,
    TakeComplete,
    Reset,
}

/// Reads the bytes as one payload, then as a stream of packets.
pub fn check(data: &[u8]) {
    check_headers(data);
    let mut stream = Unstructured::new(data);
    let mut reassembler = Reassembler::new(Payload::Jpeg);
    let mut decoder = Decoder::new();
    let mut now = Instant::ZERO;
    while !stream.is_empty() {
        let Ok(packet) = Packet::arbitrary(&mut stream) else {
            return;
        };
        now += Duration::from_millis(1);
        let payload = packet.payload();
        check_headers(&payload);
        let timestamp = u32::from(packet.timestamp).wrapping_sub(100);
        let frame = (timestamp, packet.marker);
        let (pushed, _) =
            reassembler.push(&media_packet(now, packet.sequence.into(), frame, &payload));
        assert!(reassembler.frames().count() <= Reassembler::MAX_FRAMES);
        let taken = match (packet.then, pushed) {
            (Then::TakeOldest, _) => reassembler.frames().next().map(|frame| frame.timestamp),
            (Then::TakeComplete, Pushed::Complete { timestamp }) => Some(timestamp),
            (Then::Reset, _) => {
                reassembler.reset();
                None
            }
            _ => None,
        };
        let frame = taken.and_then(|timestamp| reassembler.take(timestamp, now));
        if let Some(Ok(frame)) = frame
            && let CodedPicture::Jpeg(image) = &frame.picture
            && image.mcus() <= MOST_MCUS
        {
            let picture = decoder
                .decode(image)
                .expect("reassembled images are possible");
            let size = (picture.picture.width(), picture.picture.height());
            assert_eq!(size, (image.width.into(), image.height.into()));
        }
    }
}

impl Packet<'_> {
    fn payload(&self) -> Vec<u8> {
        let mut payload = vec![0; JpegHeader::MAX_LEN];
        let tables = [16; 128];
        let len = self.headers.as_ref().and_then(|headers| {
            let has_tables = headers.q >= 128 && headers.offset == 0;
            let header = JpegHeader {
                type_specific: 0,
                offset: headers.offset.into(),
                kind: if headers.full_chroma {
                    JpegType::Yuv422
                } else {
                    JpegType::Yuv420
                },
                q: headers.q,
                width: u16::from(headers.blocks.0 % 8 + 1) * 8,
                height: u16::from(headers.blocks.1 % 8 + 1) * 8,
                restart: headers
                    .restart
                    .map(|(interval, first, last, count)| Restart {
                        interval: interval.into(),
                        first,
                        last,
                        count: count.into(),
                    }),
                tables: has_tables.then_some(if headers.tables {
                    Tables::InBand(&tables)
                } else {
                    Tables::Unchanged
                }),
            };
            header.emit(&mut payload)
        });
        payload.truncate(len.unwrap_or(0));
        payload.extend(self.data);
        payload
    }
}

/// What reads well must survive being written and read.
fn check_headers(payload: &[u8]) {
    let Ok((header, data)) = JpegHeader::parse(payload) else {
        return;
    };
    let mut buf = [0; JpegHeader::MAX_LEN];
    let len = header.emit(&mut buf).expect("what was read is in range");
    assert_eq!((len, len + data.len()), (header.len(), payload.len()));
    assert_eq!(JpegHeader::parse(&buf[..len]), Ok((header, &[][..])));
}
