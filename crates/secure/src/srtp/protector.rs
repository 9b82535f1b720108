//! Protects the packets of one direction before they leave.

use thiserror::Error;

use super::cipher::{Kind, PacketId, SessionCipher};
use super::header::{RTCP_CLEAR, RtpHeader, rtcp_ssrc};
use super::keys::MasterKey;
use super::streams::{RTCP_INDICES, Streams};

/// The reason for which a packet was not protected, and must not leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ProtectError {
    /// The packet ends within its header.
    #[error("the packet ends within its header")]
    Truncated,
    /// The buffer is shorter than packet and tag.
    #[error("the buffer has no room for the tag")]
    NoRoom,
    /// A packet with this SSRC and sequence number was protected before, or the number is too old to know. A second
    /// packet with the same keystream would give both away.
    #[error("the sequence number was used before")]
    NumberReused,
    /// All packet indices of this key are used up (RFC 3711 §9.2), or there are too many streams.
    #[error("the key is used up")]
    KeyUsedUp,
}

/// Protects what one end sends.
pub struct Protector {
    rtp: SessionCipher,
    rtcp: SessionCipher,
    streams: Streams,
    next_rtcp_index: u64,
    encrypts_extensions: bool,
}

impl Protector {
    /// Creates a protector that has sent nothing.
    pub fn new(key: &MasterKey) -> Self {
        Self {
            rtp: key.rtp_cipher(),
            rtcp: key.rtcp_cipher(),
            streams: Streams::default(),
            next_rtcp_index: 0,
            encrypts_extensions: false,
        }
    }

    /// Encrypts header extensions, too (RFC 9335), for a peer that knows it.
    #[must_use]
    pub fn with_encrypted_extensions(mut self, encrypted: bool) -> Self {
        self.encrypts_extensions = encrypted;
        self
    }

    /// Protects the RTP packet in the first `len` bytes of `buffer`, and returns its new length in bytes (RFC 3711 §3.3).
    ///
    /// # Errors
    ///
    /// Refuses a packet that must not leave. Its bytes are unchanged.
    pub fn protect_rtp(&mut self, buffer: &mut [u8], len: usize) -> Result<usize, ProtectError> {
        let packet = buffer.get(..len).ok_or(ProtectError::NoRoom)?;
        let header = RtpHeader::parse(packet).ok_or(ProtectError::Truncated)?;
        let index = self.streams.index(header.ssrc, header.sequence);
        let index = index.filter(|_| self.streams.has_room(header.ssrc));
        let index = index.ok_or(ProtectError::KeyUsedUp)?;
        if !self.streams.is_fresh(header.ssrc, index) {
            return Err(ProtectError::NumberReused);
        }
        let end = len + self.rtp.tag_len();
        let whole = buffer.get_mut(..end).ok_or(ProtectError::NoRoom)?;
        let (packet, tag) = whole.split_at_mut(len);
        let id = PacketId {
            kind: Kind::Rtp,
            ssrc: header.ssrc,
            index,
        };
        let is_encrypted = self.encrypts_extensions && header.mark_encrypted(packet);
        self.rtp.seal(id, packet, header.clear(is_encrypted), tag);
        self.streams.insert(header.ssrc, index);
        Ok(end)
    }

    /// Protects the RTCP packet in the first `len` bytes of `buffer`, and returns its new length in bytes (RFC 3711 §3.4).
    ///
    /// # Errors
    ///
    /// Refuses a packet that must not leave. Its bytes are unchanged.
    pub fn protect_rtcp(&mut self, buffer: &mut [u8], len: usize) -> Result<usize, ProtectError> {
        let packet = buffer.get(..len).ok_or(ProtectError::NoRoom)?;
        let ssrc = rtcp_ssrc(packet).ok_or(ProtectError::Truncated)?;
        let index = self.next_rtcp_index;
        if index >= RTCP_INDICES {
            return Err(ProtectError::KeyUsedUp);
        }
        let tag_len = self.rtcp.tag_len();
        let end = len + 4 + tag_len;
        let whole = buffer.get_mut(..end).ok_or(ProtectError::NoRoom)?;
        let (packet, rest) = whole.split_at_mut(len);
        let id = PacketId {
            kind: Kind::Rtcp,
            ssrc,
            index,
        };
        let (word, tag) = if self.rtcp.tag_is_last() {
            rest.split_at_mut(4)
        } else {
            let (tag, word) = rest.split_at_mut(tag_len);
            (word, tag)
        };
        word.copy_from_slice(&id.trailer());
        self.rtcp.seal(id, packet, RTCP_CLEAR, tag);
        self.next_rtcp_index += 1;
        Ok(end)
    }

    #[cfg(test)]
    pub(super) fn with_ciphers(
        rtp: SessionCipher,
        rtcp: SessionCipher,
        next_rtcp_index: u64,
    ) -> Self {
        Self {
            rtp,
            rtcp,
            streams: Streams::default(),
            next_rtcp_index,
            encrypts_extensions: false,
        }
    }
}
