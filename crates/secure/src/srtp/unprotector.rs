//! Checks and decrypts the packets of one direction as they arrive.

use thiserror::Error;

use super::cipher::{ENCRYPTED, Kind, PacketId, SessionCipher};
use super::header::{RTCP_CLEAR, RtpHeader, rtcp_ssrc, set_profile};
use super::keys::MasterKey;
use super::streams::Streams;

/// The reason for which a packet was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum UnprotectError {
    /// The packet ends within its header or its tag.
    #[error("the packet ends within its header or its tag")]
    Truncated,
    /// The packet arrived before, or is older than the window of 2,048 packets (RFC 3711 §3.3.2).
    #[error("the packet arrived before, or is too old")]
    Replayed,
    /// The tag does not belong to the packet: it was forged or damaged, or another key protects it.
    #[error("the tag does not belong to the packet")]
    Forged,
    /// The SRTCP packet is not encrypted.
    #[error("the packet is not encrypted")]
    NotEncrypted,
    /// The packet is authentic and of one stream too many.
    #[error("there are too many streams")]
    TooManyStreams,
}

/// Checks and decrypts what one end receives. A packet that is refused changes nothing but its own bytes, which are then
/// meaningless.
pub struct Unprotector {
    rtp: SessionCipher,
    rtcp: SessionCipher,
    rtp_streams: Streams,
    rtcp_streams: Streams,
}

impl Unprotector {
    /// Creates an unprotector that has received nothing.
    pub fn new(key: &MasterKey) -> Self {
        Self::with_ciphers(key.rtp_cipher(), key.rtcp_cipher())
    }

    pub(super) fn with_ciphers(rtp: SessionCipher, rtcp: SessionCipher) -> Self {
        Self {
            rtp,
            rtcp,
            rtp_streams: Streams::default(),
            rtcp_streams: Streams::default(),
        }
    }

    /// Decrypts an RTP packet in place, and returns its length without the tag in bytes (RFC 3711 §3.3). A header extension that
    /// says that it is encrypted is decrypted, too (RFC 9335).
    ///
    /// # Errors
    ///
    /// Refuses a packet that is not authentic or that arrived before.
    pub fn unprotect_rtp(&mut self, packet: &mut [u8]) -> Result<usize, UnprotectError> {
        let len = packet.len().checked_sub(self.rtp.tag_len());
        let len = len.ok_or(UnprotectError::Truncated)?;
        let (packet, tag) = packet.split_at_mut(len);
        let header = RtpHeader::parse(packet).ok_or(UnprotectError::Truncated)?;
        let profile = header.plain_profile();
        let clear = header.clear(profile.is_some());
        let first = self.rtp_streams.index(header.ssrc, header.sequence);
        let second = self.rtp_streams.second_index(header.ssrc, header.sequence);
        // A cipher that refuses a packet may have overwritten it.
        let copy = second.map(|index| (index, packet.to_vec()));
        let mut open = |index, packet: &mut [u8]| {
            let id = PacketId {
                kind: Kind::Rtp,
                ssrc: header.ssrc,
                index,
            };
            open(&self.rtp, &mut self.rtp_streams, id, packet, clear, tag)
        };
        let opened = first.map_or(Err(UnprotectError::Replayed), |index| open(index, packet));
        match (opened, copy) {
            (Err(UnprotectError::Forged), Some((index, copy))) => {
                packet.copy_from_slice(&copy);
                open(index, packet)?;
            }
            (opened, _) => opened?,
        }
        if let Some(profile) = profile {
            set_profile(packet, profile);
        }
        Ok(len)
    }

    /// Decrypts an RTCP packet in place, and returns its length without index and tag in bytes (RFC 3711 §3.4).
    ///
    /// # Errors
    ///
    /// Refuses a packet that is not authentic, not encrypted, or that arrived before.
    pub fn unprotect_rtcp(&mut self, packet: &mut [u8]) -> Result<usize, UnprotectError> {
        let tag_len = self.rtcp.tag_len();
        let len = packet.len().checked_sub(4 + tag_len);
        let len = len.ok_or(UnprotectError::Truncated)?;
        let (packet, rest) = packet.split_at_mut(len);
        let ssrc = rtcp_ssrc(packet).ok_or(UnprotectError::Truncated)?;
        let (word, tag) = if self.rtcp.tag_is_last() {
            rest.split_at(4)
        } else {
            let (tag, word) = rest.split_at(tag_len);
            (word, tag)
        };
        let word = word.try_into().map_err(|_| UnprotectError::Truncated)?;
        let word = u32::from_be_bytes(word);
        if word & ENCRYPTED == 0 {
            return Err(UnprotectError::NotEncrypted);
        }
        let id = PacketId {
            kind: Kind::Rtcp,
            ssrc,
            index: (word & !ENCRYPTED).into(),
        };
        open(
            &self.rtcp,
            &mut self.rtcp_streams,
            id,
            packet,
            RTCP_CLEAR,
            tag,
        )?;
        Ok(len)
    }
}

/// Opens a packet that did not arrive before, and remembers it.
fn open(
    cipher: &SessionCipher,
    streams: &mut Streams,
    id: PacketId,
    packet: &mut [u8],
    clear: usize,
    tag: &[u8],
) -> Result<(), UnprotectError> {
    if !streams.is_fresh(id.ssrc, id.index) {
        return Err(UnprotectError::Replayed);
    }
    let opened = cipher.open(id, packet, clear, tag);
    opened.map_err(|_| UnprotectError::Forged)?;
    if !streams.has_room(id.ssrc) {
        return Err(UnprotectError::TooManyStreams);
    }
    streams.insert(id.ssrc, id.index);
    Ok(())
}
