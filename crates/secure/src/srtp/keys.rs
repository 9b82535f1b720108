//! Master keys, and the session keys that they give (RFC 3711 §4.3).

use aes::cipher::{KeyIvInit, StreamCipher};
use aes::{Aes128, Aes256};
use ctr::Ctr32BE;
use thiserror::Error;
use zeroize::{ZeroizeOnDrop, Zeroizing};

use super::cipher::SessionCipher;

/// The longest master key of any profile, in bytes.
pub(super) const MAX_KEY: usize = 32;
/// The longest master salt of any profile, in bytes.
pub(super) const MAX_SALT: usize = 14;

/// A protection profile: cipher, key lengths and tag length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Profile {
    /// `SRTP_AES128_CM_HMAC_SHA1_80` (RFC 5764 §4.1.2).
    Aes128CmSha1_80,
    /// `SRTP_AEAD_AES_128_GCM` (RFC 7714 §14.2).
    AeadAes128Gcm,
    /// `SRTP_AEAD_AES_256_GCM` (RFC 7714 §14.2).
    AeadAes256Gcm,
}

impl Profile {
    /// Returns the length of a master key in bytes.
    pub const fn key_len(self) -> usize {
        match self {
            Self::Aes128CmSha1_80 | Self::AeadAes128Gcm => 16,
            Self::AeadAes256Gcm => 32,
        }
    }

    /// Returns the length of a master salt in bytes.
    pub const fn salt_len(self) -> usize {
        match self {
            Self::Aes128CmSha1_80 => 14,
            Self::AeadAes128Gcm | Self::AeadAes256Gcm => 12,
        }
    }

    /// Returns the length of the keying material of both directions in bytes, as DTLS exports it (RFC 5764 §4.2).
    pub const fn material_len(self) -> usize {
        2 * (self.key_len() + self.salt_len())
    }
}

/// Keys or keying material of another length than the profile's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{given} bytes of keys for {profile:?}: there must be {expected}")]
pub struct KeyLengthError {
    profile: Profile,
    given: usize,
    expected: usize,
}

/// The master key and salt of one direction.
#[derive(Clone, ZeroizeOnDrop)]
pub struct MasterKey {
    #[zeroize(skip)]
    profile: Profile,
    key: [u8; MAX_KEY],
    /// The salt, filled up with zeros on the right (RFC 7714 §11).
    salt: [u8; MAX_SALT],
}

/// The master keys of both directions of a DTLS association.
#[derive(Clone)]
pub struct MasterKeys {
    /// The key of what the DTLS client sends.
    pub client: MasterKey,
    /// The key of what the DTLS server sends.
    pub server: MasterKey,
}

impl MasterKeys {
    /// Splits the keying material that DTLS exports (RFC 5764 §4.2).
    ///
    /// # Errors
    ///
    /// Refuses material of another length than [`Profile::material_len`].
    pub fn from_material(profile: Profile, material: &[u8]) -> Result<Self, KeyLengthError> {
        check_length(profile, material.len(), profile.material_len())?;
        let (keys, salts) = material.split_at(2 * profile.key_len());
        let (client_key, server_key) = keys.split_at(profile.key_len());
        let (client_salt, server_salt) = salts.split_at(profile.salt_len());
        Ok(Self {
            client: MasterKey::new(profile, client_key, client_salt)?,
            server: MasterKey::new(profile, server_key, server_salt)?,
        })
    }
}

impl MasterKey {
    /// Takes a key and a salt of the profile's lengths.
    ///
    /// # Errors
    ///
    /// Refuses a key or a salt of another length.
    pub fn new(profile: Profile, key: &[u8], salt: &[u8]) -> Result<Self, KeyLengthError> {
        check_length(profile, key.len(), profile.key_len())?;
        check_length(profile, salt.len(), profile.salt_len())?;
        let mut master = Self {
            profile,
            key: [0; MAX_KEY],
            salt: [0; MAX_SALT],
        };
        master.key[..key.len()].copy_from_slice(key);
        master.salt[..salt.len()].copy_from_slice(salt);
        Ok(master)
    }

    /// Derives the cipher of RTP packets.
    pub(super) fn rtp_cipher(&self) -> SessionCipher {
        self.cipher(0)
    }

    /// Derives the cipher of RTCP packets.
    pub(super) fn rtcp_cipher(&self) -> SessionCipher {
        self.cipher(3)
    }

    /// Derives the cipher whose labels start at `label`: encryption, authentication, salt (RFC 3711 §4.3.2).
    fn cipher(&self, label: u8) -> SessionCipher {
        let mut key = Zeroizing::new([0; MAX_KEY]);
        let key = &mut key[..self.profile.key_len()];
        self.derive(label, key);
        let mut salt = [0; MAX_SALT];
        self.derive(label + 2, &mut salt[..self.profile.salt_len()]);
        match self.profile {
            Profile::Aes128CmSha1_80 => {
                let mut authentication = Zeroizing::new([0; 20]);
                self.derive(label + 1, &mut *authentication);
                SessionCipher::counter_mode(key, &*authentication, salt)
            }
            Profile::AeadAes128Gcm => SessionCipher::gcm_128(key, salt),
            Profile::AeadAes256Gcm => SessionCipher::gcm_256(key, salt),
        }
    }

    /// Fills `out` with the key that belongs to `label`: a keystream of the master key (RFC 3711 §4.3.3).
    fn derive(&self, label: u8, out: &mut [u8]) {
        out.fill(0);
        let mut iv = [0; 16];
        iv[..MAX_SALT].copy_from_slice(&self.salt);
        iv[7] ^= label;
        let key = &self.key[..self.profile.key_len()];
        if key.len() == 16 {
            keystream::<Ctr32BE<Aes128>>(key, iv, out);
        } else {
            keystream::<Ctr32BE<Aes256>>(key, iv, out);
        }
    }
}

/// Adds the keystream of a cipher to `out`.
fn keystream<C: KeyIvInit + StreamCipher>(key: &[u8], iv: [u8; 16], out: &mut [u8]) {
    let mut cipher = C::new_from_slices(key, &iv).expect("the lengths are the cipher's");
    cipher.apply_keystream(out);
}

fn check_length(profile: Profile, given: usize, expected: usize) -> Result<(), KeyLengthError> {
    if given == expected {
        return Ok(());
    }
    Err(KeyLengthError {
        profile,
        given,
        expected,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::srtp::tests::hex;

    #[test]
    fn keys_are_wiped_when_dropped() {
        fn is_wiped<T: ZeroizeOnDrop>() {}
        is_wiped::<MasterKey>();
        is_wiped::<SessionCipher>();
        is_wiped::<Aes128>();
        is_wiped::<crate::srtp::gcm::GcmKey>();
        // HMAC's state is two of SHA-1.
        is_wiped::<sha1::block_api::Sha1Core>();
        is_wiped::<Ctr32BE<Aes128>>();
        is_wiped::<Ctr32BE<Aes256>>();
    }

    #[test]
    fn derivation_gives_the_keys_of_rfc_3711() {
        // RFC 3711 §B.3.
        let master = MasterKey::new(
            Profile::Aes128CmSha1_80,
            &hex("e1f97a0d3e018be0d64fa32c06de4139"),
            &hex("0ec675ad498afeebb6960b3aabe6"),
        )
        .unwrap();
        let derived = |label, len| {
            let mut out = vec![0; len];
            master.derive(label, &mut out);
            out
        };
        assert_eq!(derived(0, 16), hex("c61e7a93744f39ee10734afe3ff7a087"));
        assert_eq!(derived(2, 14), hex("30cbbc08863d8c85d49db34a9ae1"));
        assert_eq!(
            derived(1, 20),
            hex("cebe321f6ff7716b6fd4ab49af256a156d38baa4")
        );
    }

    #[test]
    fn material_of_another_length_is_refused() {
        let profile = Profile::AeadAes128Gcm;
        for len in [0, 55, 57] {
            let error = MasterKeys::from_material(profile, &vec![0; len])
                .err()
                .unwrap();
            assert!(error.to_string().contains("there must be 56"), "{error}");
        }
        assert!(MasterKeys::from_material(profile, &[0; 56]).is_ok());
    }
}
