//! Cuts an uncompressed picture into RTP payloads (RFC 4175): its bytes in order, up to the packet size.

use evenkeel_codec::picture::RawPicture;
use evenkeel_rtp::packet::payload::raw::{GROUP_422, Segment, emit, headers_len};
use tfrc::units::Bytes;

use super::PacketizeError;
use crate::reassemble::Payload;

/// The most lines in a packet: more fit only where a line is shorter than a few headers.
const MAX_SEGMENTS: usize = 8;

/// A picture with the plan of its packets.
#[derive(Clone, Debug)]
pub(super) struct RawPayloads {
    picture: RawPicture,
    capacity: usize,
    /// The offset of each packet's data, then the length of the picture.
    starts: Vec<usize>,
}

impl RawPayloads {
    /// Plans the packets of a picture, whose payloads have at most `capacity` bytes.
    pub(super) fn plan(picture: RawPicture, capacity: usize) -> Result<Self, PacketizeError> {
        let (width, height) = (picture.width, picture.height);
        let possible = Payload::raw(width.into(), height.into()).is_some();
        let sized = picture.data.len() == picture.stride() * usize::from(height);
        if !possible || !sized {
            return Err(PacketizeError::Dimensions { width, height });
        }
        if capacity < headers_len(1) + GROUP_422 {
            return Err(PacketizeError::Capacity);
        }
        let mut payloads = Self {
            starts: vec![0],
            picture,
            capacity,
        };
        let mut end = 0;
        while end < payloads.picture.data.len() {
            end += payloads
                .segments(end)
                .map(|segment| usize::from(segment.len))
                .sum::<usize>();
            payloads.starts.push(end);
        }
        Ok(payloads)
    }

    /// Returns the size of the samples.
    pub(super) fn size(&self) -> Bytes {
        Bytes::from(self.picture.data.len())
    }

    pub(super) fn packets(&self) -> usize {
        self.starts.len() - 1
    }

    pub(super) fn payload_len(&self, index: usize) -> usize {
        let Some(&[start, end]) = self.starts.get(index..index + 2) else {
            return 0;
        };
        let stride = self.picture.stride();
        let lines = (end - 1) / stride - start / stride + 1;
        headers_len(lines) + end - start
    }

    /// Writes a payload; `sequence` is the extended sequence number of the packet.
    pub(super) fn write(&self, index: usize, sequence: u32, buf: &mut Vec<u8>) {
        let Some(&[start, end]) = self.starts.get(index..index + 2) else {
            return;
        };
        let mut segments = [Segment {
            len: 0,
            line: 0,
            second_field: false,
            offset: 0,
        }; MAX_SEGMENTS];
        let mut count = 0;
        for (place, segment) in segments.iter_mut().zip(self.segments(start)) {
            *place = segment;
            count += 1;
        }
        buf.resize(headers_len(count), 0);
        let written = emit((sequence >> 16) as u16, &segments[..count], buf);
        debug_assert_eq!(
            written,
            Some(buf.len()),
            "plan() admits what emit() can write"
        );
        buf.extend_from_slice(&self.picture.data[start..end]);
    }

    /// Returns the segments of a packet whose data begins at `start`.
    fn segments(&self, start: usize) -> impl Iterator<Item = Segment> {
        let stride = self.picture.stride();
        let end = self.picture.data.len();
        let mut at = start;
        let mut room = self.capacity - headers_len(0);
        std::iter::from_fn(move || {
            let usable = room.checked_sub(Segment::LEN)? / GROUP_422 * GROUP_422;
            let column = at % stride;
            // A longer run does not fit into 16 bits of length.
            let len = usable.min(stride - column).min(0xfffc);
            if at == end || len == 0 {
                return None;
            }
            let segment = Segment {
                len: len as u16,
                line: (at / stride) as u16,
                second_field: false,
                offset: (column / 2) as u16,
            };
            at += len;
            room -= Segment::LEN + len;
            Some(segment)
        })
        .take(MAX_SEGMENTS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_rtp::packet::payload::raw::RawPayload;

    fn picture(width: u16, height: u16) -> RawPicture {
        let size = 2 * usize::from(width) * usize::from(height);
        RawPicture {
            width,
            height,
            data: (0..size).map(|i| (i * 7) as u8).collect(),
            missing: Vec::new(),
        }
    }

    fn sent(payloads: &RawPayloads, index: usize) -> Vec<u8> {
        let mut payload = Vec::new();
        payloads.write(index, 0x0005_ffff, &mut payload);
        assert_eq!(payload.len(), payloads.payload_len(index));
        payload
    }

    #[test]
    fn every_sample_travels_once_and_packets_are_full() {
        for (width, height, capacity) in [
            (1280, 4, 1_188),
            (6, 50, 100),
            (2, 40, 64),
            (1920, 1, 9_000),
        ] {
            let picture = picture(width, height);
            let payloads = RawPayloads::plan(picture.clone(), capacity).unwrap();
            let mut data = vec![0; picture.data.len()];
            let mut total = 0;
            for index in 0..payloads.packets() {
                let bytes = sent(&payloads, index);
                assert!(bytes.len() <= capacity);
                let payload = RawPayload::parse(&bytes).unwrap();
                assert_eq!(payload.sequence_high, 5);
                for (segment, pixels) in payload.segments() {
                    let start = usize::from(segment.line) * picture.stride()
                        + 2 * usize::from(segment.offset);
                    data[start..start + pixels.len()].copy_from_slice(pixels);
                    total += pixels.len();
                }
            }
            assert_eq!(data, picture.data);
            assert_eq!(total, data.len(), "nothing travels twice");
        }
        // The capacity of 1,188 less three headers is no multiple of four, so one group's space may stay empty.
        let payloads = RawPayloads::plan(picture(1280, 4), 1_188).unwrap();
        for index in 0..payloads.packets() - 1 {
            assert!(sent(&payloads, index).len() > 1_188 - Segment::LEN - GROUP_422);
        }
    }

    #[test]
    fn what_cannot_travel_is_refused() {
        let odd = RawPicture {
            width: 3,
            ..picture(2, 2)
        };
        assert!(RawPayloads::plan(odd, 1_000).is_err());
        assert!(RawPayloads::plan(picture(0, 2), 1_000).is_err());
        let error = RawPayloads::plan(picture(2, 2), 11).unwrap_err();
        assert_eq!(error, PacketizeError::Capacity);
    }
}
