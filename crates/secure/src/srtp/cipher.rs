//! The ciphers of a session: AES in counter mode with HMAC-SHA1 (RFC 3711 §4), and AES-GCM (RFC 7714).

use aes::Aes128;
use aes::cipher::{InnerIvInit, StreamCipherCore};
use ctr::CtrCore;
use ctr::flavors::Ctr32BE;
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use zeroize::ZeroizeOnDrop;

use super::gcm::{self, GcmKey};
use super::keys::MAX_SALT;

/// The tag of HMAC-SHA1 with 80 bits, in bytes.
const HMAC_TAG: usize = 10;

/// What a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Rtp,
    Rtcp,
}

/// The identity of a packet, from which its keystream follows. No two packets of a key may share one.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketId {
    pub(super) kind: Kind,
    pub(super) ssrc: u32,
    /// The packet index of SRTP (48 bits), or the index of SRTCP (31 bits).
    pub(super) index: u64,
}

impl PacketId {
    /// Returns the bytes that counter mode authenticates after the packet: the rollover counter, or the word that an SRTCP
    /// packet carries, with the flag for "encrypted" (RFC 3711 §4.2, §3.4).
    pub(super) fn trailer(self) -> [u8; 4] {
        match self.kind {
            Kind::Rtp => ((self.index >> 16) as u32).to_be_bytes(),
            Kind::Rtcp => (self.index as u32 | ENCRYPTED).to_be_bytes(),
        }
    }
}

/// The flag of an SRTCP packet that is encrypted (RFC 3711 §3.4).
pub(super) const ENCRYPTED: u32 = 1 << 31;

/// A packet whose tag does not belong to its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Forged;

/// Encrypts or decrypts the packets of one kind in one direction.
#[derive(ZeroizeOnDrop)]
pub(super) struct SessionCipher {
    /// The library wipes the keys within.
    #[zeroize(skip)]
    algorithm: Algorithm,
    salt: [u8; MAX_SALT],
}

enum Algorithm {
    CounterMode {
        cipher: Box<Aes128>,
        hmac: Hmac<Sha1>,
    },
    Gcm(GcmKey),
}

impl SessionCipher {
    pub(super) fn counter_mode(key: &[u8], authentication: &[u8], salt: [u8; MAX_SALT]) -> Self {
        let cipher = Box::new(Aes128::new_from_slice(key).expect("16 bytes"));
        let hmac = Hmac::new_from_slice(authentication).expect("any length");
        let algorithm = Algorithm::CounterMode { cipher, hmac };
        Self { algorithm, salt }
    }

    pub(super) fn gcm_128(key: &[u8], salt: [u8; MAX_SALT]) -> Self {
        let algorithm = Algorithm::Gcm(GcmKey::aes_128(key));
        Self { algorithm, salt }
    }

    pub(super) fn gcm_256(key: &[u8], salt: [u8; MAX_SALT]) -> Self {
        let algorithm = Algorithm::Gcm(GcmKey::aes_256(key));
        Self { algorithm, salt }
    }

    /// Returns the length of a tag in bytes.
    pub(super) fn tag_len(&self) -> usize {
        match self.algorithm {
            Algorithm::CounterMode { .. } => HMAC_TAG,
            Algorithm::Gcm(_) => gcm::TAG,
        }
    }

    /// Returns true if the tag of SRTCP follows the word with the index; that of AES-GCM precedes it (RFC 7714 §9.2).
    pub(super) fn tag_is_last(&self) -> bool {
        matches!(self.algorithm, Algorithm::CounterMode { .. })
    }

    /// Encrypts all but the first `clear` bytes of a packet, and writes the tag, of [`tag_len`](Self::tag_len) bytes.
    pub(super) fn seal(&self, id: PacketId, packet: &mut [u8], clear: usize, tag: &mut [u8]) {
        match &self.algorithm {
            Algorithm::CounterMode { cipher, hmac } => {
                self.apply_keystream(cipher, id, &mut packet[clear..]);
                let hmac = hmac.clone().chain_update(&*packet);
                let whole = hmac.chain_update(id.trailer()).finalize().into_bytes();
                tag.copy_from_slice(&whole[..HMAC_TAG]);
            }
            Algorithm::Gcm(key) => {
                let (header, payload) = packet.split_at_mut(clear);
                with_authenticated(id, header, |authenticated| {
                    key.seal(self.iv(id, 2), authenticated, payload, tag);
                });
            }
        }
    }

    /// Checks the tag, and decrypts all bytes after the first `clear`. If the tag is wrong, their content is lost.
    pub(super) fn open(
        &self,
        id: PacketId,
        packet: &mut [u8],
        clear: usize,
        tag: &[u8],
    ) -> Result<(), Forged> {
        match &self.algorithm {
            Algorithm::CounterMode { cipher, hmac } => {
                let hmac = hmac.clone().chain_update(&*packet);
                let hmac = hmac.chain_update(id.trailer());
                hmac.verify_truncated_left(tag).map_err(|_| Forged)?;
                self.apply_keystream(cipher, id, &mut packet[clear..]);
                Ok(())
            }
            Algorithm::Gcm(key) => {
                let (header, payload) = packet.split_at_mut(clear);
                let is_authentic = with_authenticated(id, header, |authenticated| {
                    key.open(self.iv(id, 2), authenticated, payload, tag)
                });
                is_authentic.then_some(()).ok_or(Forged)
            }
        }
    }

    fn apply_keystream(&self, cipher: &Aes128, id: PacketId, data: &mut [u8]) {
        let iv = self.iv::<16>(id, 4);
        let keystream = CtrCore::<_, Ctr32BE>::inner_iv_init(cipher, &iv.into());
        keystream.apply_keystream_partial(data.into());
    }

    /// Returns the salt with SSRC and index added, the SSRC at byte `at` (RFC 3711 §4.1.1, RFC 7714 §8.1 and §9.1).
    fn iv<const LEN: usize>(&self, id: PacketId, at: usize) -> [u8; LEN] {
        let mut iv = [0; LEN];
        iv[at..at + 4].copy_from_slice(&id.ssrc.to_be_bytes());
        iv[at + 4..at + 10].copy_from_slice(&id.index.to_be_bytes()[2..]);
        for (byte, salt) in iv.iter_mut().zip(self.salt) {
            *byte ^= salt;
        }
        iv
    }
}

/// Passes on what AES-GCM authenticates without encrypting it: the header, and of an SRTCP packet the word with the index.
fn with_authenticated<T>(id: PacketId, header: &[u8], use_it: impl FnOnce(&[u8]) -> T) -> T {
    match id.kind {
        Kind::Rtp => use_it(header),
        Kind::Rtcp => use_it(&[header, &id.trailer()].concat()),
    }
}
