//! The RTP packet (RFC 3550 §5.1): a checked view to read one, a header to write one.

use std::fmt;

use tfrc::time::Instant;

use crate::packet::ext::{self, Element, Elements};
use crate::packet::wire::Writer;

/// The bytes of the fixed header, without CSRCs and extension.
pub const HEADER_LEN: usize = 12;

/// Returns `instant` on a media clock of `clock_rate` ticks a second that was zero at [`Instant::ZERO`].
pub const fn media_time(instant: Instant, clock_rate: u32) -> u32 {
    (instant.as_nanos() as u128 * clock_rate as u128 / 1_000_000_000) as u32
}

/// Returns true if a datagram on a port that RTP and RTCP share is RTCP. Its second byte is then a packet type of
/// 192 to 223 (RFC 5761 §4), so an RTP payload type must not be 64 to 95.
pub fn is_rtcp(datagram: &[u8]) -> bool {
    matches!(datagram.get(1), Some(192..=223))
}

/// The error that bytes are no RTP packet, with its offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtpError {
    /// The packet ends within the fixed header or its CSRCs; the offset is its end.
    Truncated(usize),
    /// The version is not 2.
    Version,
    /// The header extension exceeds the packet; the offset is the start of the extension.
    Extension(usize),
    /// The padding is longer than the payload, or zero; the offset is the place of its count.
    Padding(usize),
}

impl fmt::Display for RtpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated(at) => write!(f, "RTP header is cut short at byte {at}"),
            Self::Version => write!(f, "RTP version at byte 0 is not 2"),
            Self::Extension(at) => write!(f, "RTP header extension at byte {at} is cut short"),
            Self::Padding(at) => write!(f, "RTP padding count at byte {at} is invalid"),
        }
    }
}

impl std::error::Error for RtpError {}

/// A view of an RTP packet whose lengths have been checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtpPacket<'a> {
    header: &'a [u8; HEADER_LEN],
    csrcs: &'a [u8],
    extension: Option<(u16, &'a [u8])>,
    payload: &'a [u8],
}

impl<'a> RtpPacket<'a> {
    /// Checks version, CSRC count, extension and padding.
    ///
    /// # Errors
    ///
    /// Returns the first part that is truncated or invalid, with its offset in bytes.
    pub fn parse(packet: &'a [u8]) -> Result<Self, RtpError> {
        let (header, rest) = packet
            .split_first_chunk::<HEADER_LEN>()
            .ok_or(RtpError::Truncated(packet.len()))?;
        if header[0] >> 6 != 2 {
            return Err(RtpError::Version);
        }
        let csrcs = usize::from(header[0] & 0xf) * 4;
        let (csrcs, mut payload) = rest
            .split_at_checked(csrcs)
            .ok_or(RtpError::Truncated(packet.len()))?;
        let mut extension = None;
        if header[0] & 0x10 != 0 {
            let error = RtpError::Extension(HEADER_LEN + csrcs.len());
            let ([p1, p2, w1, w2], rest) = payload.split_first_chunk().ok_or(error)?;
            let len = usize::from(u16::from_be_bytes([*w1, *w2])) * 4;
            let (data, rest) = rest.split_at_checked(len).ok_or(error)?;
            extension = Some((u16::from_be_bytes([*p1, *p2]), data));
            payload = rest;
        }
        if header[0] & 0x20 != 0 {
            let error = RtpError::Padding(packet.len() - 1);
            let padding = usize::from(*payload.last().ok_or(error)?);
            if padding == 0 {
                return Err(error);
            }
            let len = payload.len().checked_sub(padding).ok_or(error)?;
            payload = &payload[..len];
        }
        Ok(Self {
            header,
            csrcs,
            extension,
            payload,
        })
    }

    /// Returns the fields of the fixed header.
    pub fn header(&self) -> RtpHeader {
        let h = self.header;
        RtpHeader {
            payload_type: h[1] & 0x7f,
            marker: h[1] & 0x80 != 0,
            sequence: u16::from_be_bytes([h[2], h[3]]),
            timestamp: u32::from_be_bytes([h[4], h[5], h[6], h[7]]),
            ssrc: u32::from_be_bytes([h[8], h[9], h[10], h[11]]),
        }
    }

    /// Returns the first contributing source; in a repair packet this is the protected source (RFC 8627 §4.2.1).
    pub fn first_csrc(&self) -> Option<u32> {
        let csrc = self.csrcs.first_chunk()?;
        Some(u32::from_be_bytes(*csrc))
    }

    /// Returns the elements of the header extension (RFC 8285); none if there is no such extension.
    pub fn elements(&self) -> Elements<'a> {
        let (profile, data) = self.extension.unwrap_or_default();
        ext::elements(profile, data)
    }

    /// Returns the bytes after the headers, without padding.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }
}

/// The fixed header of a packet: version 2, no padding, and no CSRC except the one of [`emit_for`](Self::emit_for).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtpHeader {
    /// The payload type, 7 bits.
    pub payload_type: u8,
    /// The marker: in video, the last packet of a frame.
    pub marker: bool,
    /// The sequence number, which grows by one a packet, modulo 2^16.
    pub sequence: u16,
    /// The sampling instant, in ticks of the media clock modulo 2^32.
    pub timestamp: u32,
    /// The synchronisation source.
    pub ssrc: u32,
}

impl RtpHeader {
    /// Writes the header, and `elements` as a one-byte header extension if there are any. Returns the length, or
    /// `None` if `buf` is too short or a value is out of its range.
    pub fn emit(&self, elements: &[Element<'_>], buf: &mut [u8]) -> Option<usize> {
        self.emit_for(None, elements, buf)
    }

    /// Writes the same, with a contributing source if one is given.
    pub fn emit_for(
        &self,
        csrc: Option<u32>,
        elements: &[Element<'_>],
        buf: &mut [u8],
    ) -> Option<usize> {
        if self.payload_type > 0x7f {
            return None;
        }
        let mut writer = Writer::new(buf);
        let count = u8::from(csrc.is_some());
        writer.u8(0x80 | u8::from(!elements.is_empty()) << 4 | count)?;
        writer.u8(u8::from(self.marker) << 7 | self.payload_type)?;
        writer.u16(self.sequence)?;
        writer.u32(self.timestamp)?;
        writer.u32(self.ssrc)?;
        if let Some(csrc) = csrc {
            writer.u32(csrc)?;
        }
        if !elements.is_empty() {
            ext::emit_one_byte(elements, &mut writer)?;
        }
        Some(writer.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The packet has two CSRCs, a one-byte extension of one word, three bytes of payload and five of padding.
    const FULL: [u8; 36] = [
        0xb2, 0x9a, 0x12, 0x34, 0, 0, 0, 9, 0xde, 0xad, 0xbe, 0xef, // fixed
        0, 0, 0, 1, 0, 0, 0, 2, // CSRCs
        0xbe, 0xde, 0, 1, 0x31, 7, 8, 0, // extension
        1, 2, 3, 0, 0, 0, 0, 5, // payload and padding
    ];

    #[test]
    fn every_optional_part_is_found_and_removed() {
        let packet = RtpPacket::parse(&FULL).unwrap();
        let header = RtpHeader {
            payload_type: 26,
            marker: true,
            sequence: 0x1234,
            timestamp: 9,
            ssrc: 0xdead_beef,
        };
        assert_eq!(packet.header(), header);
        assert_eq!(packet.payload(), [1, 2, 3]);
        assert_eq!(packet.first_csrc(), Some(1));
        let element = Element {
            id: 3,
            data: &[7, 8],
        };
        assert_eq!(packet.elements().collect::<Vec<_>>(), [Ok(element)]);
    }

    #[test]
    fn each_error_names_its_place() {
        for len in 0..20 {
            assert_eq!(
                RtpPacket::parse(&FULL[..len]),
                Err(RtpError::Truncated(len))
            );
        }
        for len in 20..28 {
            assert_eq!(RtpPacket::parse(&FULL[..len]), Err(RtpError::Extension(20)));
        }
        let mut bad = FULL;
        bad[0] = 0x72;
        assert_eq!(RtpPacket::parse(&bad), Err(RtpError::Version));
        for padding in [0, 9, 255] {
            let mut bad = FULL;
            bad[35] = padding;
            assert_eq!(RtpPacket::parse(&bad), Err(RtpError::Padding(35)));
        }
    }

    #[test]
    fn rtcp_is_told_by_its_packet_type() {
        assert!(is_rtcp(&[0x80, 200]));
        assert!(is_rtcp(&[0x82, 205]));
        assert!(!is_rtcp(&[0x80, 26]));
        assert!(!is_rtcp(&[0x80, 0x80 | 96]));
        assert!(!is_rtcp(&[0x80]));
    }

    #[test]
    fn the_media_clock_wraps() {
        assert_eq!(media_time(Instant::from_secs(1), 90_000), 90_000);
        assert_eq!(media_time(Instant::from_secs(1 << 32), 90_000), 0);
    }

    proptest! {
        #[test]
        fn parsing_undoes_emitting(
            (payload_type, marker, sequence, timestamp, ssrc)
                in (0..128u8, any::<bool>(), any::<u16>(), any::<u32>(), any::<u32>()),
            payload: Vec<u8>,
            csrc: Option<u32>,
            element in proptest::option::of(
                (1..=14u8, proptest::collection::vec(any::<u8>(), 1..=16))),
        ) {
            let header = RtpHeader { payload_type, marker, sequence, timestamp, ssrc };
            let elements: Vec<_> =
                element.iter().map(|(id, data)| Element { id: *id, data }).collect();
            let mut buf = [0; 64];
            let len = header.emit_for(csrc, &elements, &mut buf).unwrap();
            let bytes = [&buf[..len], &payload].concat();
            let packet = RtpPacket::parse(&bytes).unwrap();
            prop_assert_eq!(packet.header(), header);
            prop_assert_eq!(packet.first_csrc(), csrc);
            prop_assert_eq!(packet.payload(), &payload[..]);
            prop_assert_eq!(packet.elements().collect::<Result<Vec<_>, _>>(), Ok(elements));
            for cut in 0..len {
                prop_assert!(RtpPacket::parse(&bytes[..cut]).is_err());
            }
        }

        #[test]
        fn arbitrary_bytes_never_panic(mut bytes: Vec<u8>) {
            if let Some(first) = bytes.first_mut() {
                *first = *first & 0x3f | 0x80;
            }
            if let Ok(packet) = RtpPacket::parse(&bytes) {
                prop_assert!(packet.payload().len() + HEADER_LEN <= bytes.len());
                packet.elements().for_each(drop);
            }
        }
    }
}
