//! Finds the parts of an RTP or RTCP header that encryption depends on.

/// The length of the RTCP header that stays in the clear, in bytes (RFC 3711 §3.4).
pub(super) const RTCP_CLEAR: usize = 8;

/// The fixed part of an RTP header, in bytes (RFC 3550 §5.1).
const RTP_FIXED: usize = 12;

/// The fields of an RTP header that SRTP uses.
#[derive(Clone, Copy, Debug)]
pub(super) struct RtpHeader {
    pub(super) ssrc: u32,
    pub(super) sequence: u16,
    /// The length of the header in bytes, with contributing sources and extension.
    pub(super) len: usize,
}

impl RtpHeader {
    /// Reads a header, or returns `None` if the packet ends within the header.
    pub(super) fn parse(packet: &[u8]) -> Option<Self> {
        let (fixed, _) = packet.split_first_chunk::<RTP_FIXED>()?;
        let [first, _, high, low, _, _, _, _, ssrc @ ..] = *fixed;
        let mut len = RTP_FIXED + 4 * usize::from(first & 0x0F);
        if first & 0x10 != 0 {
            let [_, _, high, low] = *packet.get(len..)?.first_chunk()?;
            len += 4 + 4 * usize::from(u16::from_be_bytes([high, low]));
        }
        (len <= packet.len()).then_some(Self {
            ssrc: u32::from_be_bytes(ssrc),
            sequence: u16::from_be_bytes([high, low]),
            len,
        })
    }
}

/// Returns the SSRC of the first RTCP packet's sender, or `None` if the packet ends before.
pub(super) fn rtcp_ssrc(packet: &[u8]) -> Option<u32> {
    let (header, _) = packet.split_first_chunk::<RTCP_CLEAR>()?;
    let [_, _, _, _, ssrc @ ..] = *header;
    Some(u32::from_be_bytes(ssrc))
}
