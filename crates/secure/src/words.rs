//! Four words that both ends show: equal if nobody stands between them.

use std::fmt;

use bip39::Language;
use sha2::{Digest as _, Sha256};

/// A short authentication string (RFC 6189 §4.4): two people who read it to each other learn if someone listens.
///
/// A man in the middle shares different keys with each end, and needs 2^44 attempts on average, within the time of one
/// handshake, for equal words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShortAuthenticationString([u8; 32]);

impl ShortAuthenticationString {
    /// The number of words, of 11 bits each.
    pub const WORDS: usize = 4;

    /// Returns the string of the keys that a handshake gave both ends.
    pub(crate) fn of(keying_material: &[u8]) -> Self {
        let hash = Sha256::new().chain_update(b"evenkeel words ");
        Self(hash.chain_update(keying_material).finalize().into())
    }

    /// Returns the words.
    pub fn words(&self) -> [&'static str; Self::WORDS] {
        let list = Language::English.word_list();
        std::array::from_fn(|n| {
            let [high, low] = [self.0[2 * n], self.0[2 * n + 1]];
            list[usize::from(u16::from_be_bytes([high, low])) % list.len()]
        })
    }
}

impl fmt::Display for ShortAuthenticationString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words().join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_follow_from_keys() {
        let words = |keys: &[u8]| ShortAuthenticationString::of(keys).to_string();
        assert_eq!(words(b"keys"), words(b"keys"));
        assert_ne!(words(b"keys"), words(b"keyt"));
        assert_eq!(words(b"keys").split(' ').count(), 4);
    }
}
