//! Finds the parts of an RTP or RTCP header that encryption depends on.

/// The length of the RTCP header that stays in the clear, in bytes (RFC 3711 §3.4).
pub(super) const RTCP_CLEAR: usize = 8;

/// The fixed part of an RTP header, in bytes (RFC 3550 §5.1).
const RTP_FIXED: usize = 12;

/// The bytes that stay in the clear where the header extension is encrypted: the fixed part, and profile and length of the
/// extension (RFC 9335 §5).
const CRYPTEX_CLEAR: usize = RTP_FIXED + 4;

/// The profiles of header extensions (RFC 8285 §4), each with the one that says that the extension is encrypted (RFC 9335 §4).
const PROFILES: [(u16, u16); 2] = [(0xBEDE, 0xC0DE), (0x1000, 0xC2DE)];

/// The fields of an RTP header that SRTP uses.
#[derive(Clone, Copy, Debug)]
pub(super) struct RtpHeader {
    pub(super) ssrc: u32,
    pub(super) sequence: u16,
    /// The length of the header in bytes, with contributing sources and extension.
    pub(super) len: usize,
    /// The profile of the extension, of a packet that has one and no contributing sources.
    profile: Option<u16>,
}

impl RtpHeader {
    /// Reads a header, or returns `None` if the packet ends within the header.
    pub(super) fn parse(packet: &[u8]) -> Option<Self> {
        let (fixed, _) = packet.split_first_chunk::<RTP_FIXED>()?;
        let [first, _, high, low, _, _, _, _, ssrc @ ..] = *fixed;
        let mut len = RTP_FIXED + 4 * usize::from(first & 0x0F);
        let mut profile = None;
        if first & 0x10 != 0 {
            let [from_high, from_low, high, low] = *packet.get(len..)?.first_chunk()?;
            profile = (len == RTP_FIXED).then_some(u16::from_be_bytes([from_high, from_low]));
            len += 4 + 4 * usize::from(u16::from_be_bytes([high, low]));
        }
        (len <= packet.len()).then_some(Self {
            ssrc: u32::from_be_bytes(ssrc),
            sequence: u16::from_be_bytes([high, low]),
            len,
            profile,
        })
    }

    /// Marks the extension as encrypted, and returns true if there is one. Packets with contributing sources keep their extension
    /// in the clear; no session of this project sends any.
    pub(super) fn mark_encrypted(&self, packet: &mut [u8]) -> bool {
        let found = PROFILES
            .iter()
            .find(|(plain, _)| Some(*plain) == self.profile);
        found.is_some_and(|(_, encrypted)| set_profile(packet, *encrypted))
    }

    /// Returns the profile that the extension has once it is decrypted; `None` if it is not encrypted.
    pub(super) fn plain_profile(&self) -> Option<u16> {
        let found = PROFILES
            .iter()
            .find(|(_, encrypted)| Some(*encrypted) == self.profile);
        found.map(|(plain, _)| *plain)
    }

    /// Returns the number of bytes that stay in the clear.
    pub(super) fn clear(&self, extension_is_encrypted: bool) -> usize {
        if extension_is_encrypted {
            CRYPTEX_CLEAR
        } else {
            self.len
        }
    }
}

/// Sets the profile of the extension of a packet without contributing sources.
pub(super) fn set_profile(packet: &mut [u8], profile: u16) -> bool {
    let place = packet.get_mut(RTP_FIXED..RTP_FIXED + 2);
    place.is_some_and(|place| {
        place.copy_from_slice(&profile.to_be_bytes());
        true
    })
}

/// Returns the SSRC of the first RTCP packet's sender, or `None` if the packet ends before.
pub(super) fn rtcp_ssrc(packet: &[u8]) -> Option<u32> {
    let (header, _) = packet.split_first_chunk::<RTCP_CLEAR>()?;
    let [_, _, _, _, ssrc @ ..] = *header;
    Some(u32::from_be_bytes(ssrc))
}
