//! The common header of RTCP packets (RFC 3550 §6.1).

use crate::packet::wire::{ParseError, Writer};

/// Packet type of a sender report.
pub const SENDER_REPORT: u8 = 200;
/// Packet type of a receiver report.
pub const RECEIVER_REPORT: u8 = 201;
/// Packet type of a source description.
pub const SOURCE_DESCRIPTION: u8 = 202;
/// Packet type of BYE.
pub const GOODBYE: u8 = 203;
/// Packet type of an application-defined packet.
pub const APPLICATION: u8 = 204;
/// Packet type of transport-layer feedback, RTPFB (RFC 4585 §6.1).
pub const TRANSPORT_FEEDBACK: u8 = 205;
/// Packet type of payload-specific feedback, PSFB (RFC 4585 §6.1).
pub const PAYLOAD_FEEDBACK: u8 = 206;

/// The common header of an RTCP packet, and the packet's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawPacket<'a> {
    /// The five bits beside the version: a count, or a feedback format.
    pub count: u8,
    /// The packet type.
    pub packet_type: u8,
    /// The bytes after the common header of four bytes, without padding.
    pub body: &'a [u8],
    /// The offset of the packet in its datagram.
    pub offset: usize,
}

impl RawPacket<'_> {
    /// Converts the offset of an error in the body to the offset in the datagram.
    pub(super) fn locate(&self, error: ParseError) -> ParseError {
        let base = self.offset + 4;
        match error {
            ParseError::Truncated { field, offset } => ParseError::Truncated {
                field,
                offset: base + offset,
            },
            ParseError::Invalid { field, offset } => ParseError::Invalid {
                field,
                offset: base + offset,
            },
        }
    }
}

/// Reads the packet at `offset`, and returns the offset of its end.
pub(super) fn raw_packet(
    datagram: &[u8],
    offset: usize,
) -> Result<(RawPacket<'_>, usize), ParseError> {
    let truncated = |field| ParseError::Truncated { field, offset };
    let rest = datagram.get(offset..).unwrap_or_default();
    let (&[first, packet_type, w1, w2], _) =
        rest.split_first_chunk().ok_or(truncated("RTCP header"))?;
    if first >> 6 != 2 {
        return Err(ParseError::Invalid {
            field: "version",
            offset,
        });
    }
    let len = (usize::from(u16::from_be_bytes([w1, w2])) + 1) * 4;
    let packet = rest.get(..len).ok_or(truncated("RTCP packet"))?;
    let end = offset + len;
    let mut body = &packet[4..];
    if first & 0x20 != 0 {
        // libwebrtc pads by what the last word lacks, not by whole words as RFC 3550 §6.4.1 has it.
        let padding = usize::from(packet[len - 1]);
        let kept = body.len().checked_sub(padding).filter(|_| padding > 0);
        body = &body[..kept.ok_or(ParseError::Invalid {
            field: "padding count",
            offset: end - 1,
        })?];
    }
    let raw = RawPacket {
        count: first & 0x1f,
        packet_type,
        body,
        offset,
    };
    Ok((raw, end))
}

/// Writes the common header of a packet whose body has `body_len` bytes, a multiple of four.
pub(super) fn emit_header(
    writer: &mut Writer<'_>,
    count: u8,
    packet_type: u8,
    body_len: usize,
) -> Option<()> {
    debug_assert!(body_len.is_multiple_of(4));
    if count > 31 {
        return None;
    }
    writer.u8(0x80 | count)?;
    writer.u8(packet_type)?;
    writer.u16(u16::try_from(body_len / 4).ok()?)
}
