//! AES-GCM by `ring`, whose assembly encrypts and authenticates in one pass.

use ring::aead::{AES_128_GCM, AES_256_GCM, Aad, Algorithm, LessSafeKey, Nonce, UnboundKey};
use zeroize::{ZeroizeOnDrop, optimization_barrier};

use super::keys::MAX_KEY;

/// The length of a nonce in bytes.
pub(super) const NONCE: usize = 12;
/// The length of a tag in bytes.
pub(super) const TAG: usize = 16;

/// A key of AES-GCM, expanded. The caller never seals two packets with one nonce.
pub(super) struct GcmKey(Box<LessSafeKey>);

impl GcmKey {
    /// Expands a key of 16 bytes.
    pub(super) fn aes_128(key: &[u8]) -> Self {
        Self(Box::new(expand(&AES_128_GCM, key)))
    }

    /// Expands a key of 32 bytes.
    pub(super) fn aes_256(key: &[u8]) -> Self {
        Self(Box::new(expand(&AES_256_GCM, key)))
    }

    /// Encrypts `payload` in place, and writes the tag of both into `tag`, of [`TAG`] bytes.
    pub(super) fn seal(
        &self,
        nonce: [u8; NONCE],
        authenticated: &[u8],
        payload: &mut [u8],
        tag: &mut [u8],
    ) {
        let nonce = Nonce::assume_unique_for_key(nonce);
        let sealed = self
            .0
            .seal_in_place_separate_tag(nonce, Aad::from(authenticated), payload);
        let sealed = sealed.expect("a datagram is shorter than the limit of AES-GCM, 64 GiB");
        tag.copy_from_slice(sealed.as_ref());
    }

    /// Decrypts `payload` in place, and returns true if `tag` belongs to both. Otherwise the payload's bytes are lost.
    pub(super) fn open(
        &self,
        nonce: [u8; NONCE],
        authenticated: &[u8],
        payload: &mut [u8],
        tag: &[u8],
    ) -> bool {
        let Ok(tag) = tag.try_into() else {
            return false;
        };
        let nonce = Nonce::assume_unique_for_key(nonce);
        let authenticated = Aad::from(authenticated);
        let opened = self
            .0
            .open_in_place_separate_tag(nonce, authenticated, tag, payload, 0..);
        opened.is_ok()
    }

    /// Replaces the key by zeros, expanded, as `ring` wipes nothing.
    fn wipe(&mut self) {
        let algorithm = self.0.algorithm();
        *self.0 = expand(algorithm, &[0; MAX_KEY][..algorithm.key_len()]);
        optimization_barrier(&*self.0);
    }
}

impl Drop for GcmKey {
    fn drop(&mut self) {
        self.wipe();
    }
}

impl ZeroizeOnDrop for GcmKey {}

fn expand(algorithm: &'static Algorithm, key: &[u8]) -> LessSafeKey {
    LessSafeKey::new(UnboundKey::new(algorithm, key).expect("a key of the algorithm's length"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(key: &GcmKey) -> ([u8; 32], [u8; TAG]) {
        let (mut payload, mut tag) = ([7; 32], [0; TAG]);
        key.seal([3; NONCE], b"header", &mut payload, &mut tag);
        (payload, tag)
    }

    #[test]
    fn wiped_key_is_that_of_zeros() {
        let pairs = [
            (GcmKey::aes_128(&[5; 16]), GcmKey::aes_128(&[0; 16])),
            (GcmKey::aes_256(&[5; 32]), GcmKey::aes_256(&[0; 32])),
        ];
        for (mut key, zeros) in pairs {
            assert_ne!(sealed(&key), sealed(&zeros));
            key.wipe();
            assert_eq!(sealed(&key), sealed(&zeros));
        }
    }
}
