//! The mailbox at a rendezvous in which a joiner leaves its reply, sealed.

use std::fmt;

use aes_gcm::aead::AeadInOut as _;
use aes_gcm::{Aes256Gcm, KeyInit as _};
use base64ct::{Base64UrlUnpadded, Encoding as _};
use hmac::{Hmac, Mac as _};
use sha2::Sha256;
use zeroize::Zeroizing;

use super::{MAX_ADDRESS_LEN, MAX_ADDRESSES, Reply};

const NONCE_LEN: usize = 12;
const TAG_LEN: usize = 16;

/// The bytes of a reply before it is sealed: its length, the reply, and zeros, so that a host does not learn how many
/// addresses there are.
const PADDED_LEN: usize = 1 + MAX_ADDRESSES * MAX_ADDRESS_LEN;

/// The length of a mailbox's name: 32 bytes in the alphabet of base64url.
pub const MAILBOX_NAME_LEN: usize = 43;

/// The length of a sealed reply in bytes.
pub const SEALED_REPLY_LEN: usize = NONCE_LEN + PADDED_LEN + TAG_LEN;

/// The mailbox of an invitation.
///
/// Name and key are derived from the invitation's secret (HMAC-SHA-256), which the host of the mailbox does not learn. What a
/// joiner leaves is sealed by AES-256-GCM under the mailbox's name.
pub struct Mailbox {
    name: String,
    cipher: Aes256Gcm,
    nonce_key: Zeroizing<[u8; 32]>,
}

impl Mailbox {
    pub(super) fn new(derive: impl Fn(&str) -> Zeroizing<[u8; 32]>) -> Self {
        let key = derive("mailbox key");
        Self {
            name: Base64UrlUnpadded::encode_string(&*derive("mailbox name")),
            cipher: Aes256Gcm::new((&*key).into()),
            nonce_key: derive("mailbox nonce"),
        }
    }

    /// Returns the name by which the host knows the mailbox, of [`MAILBOX_NAME_LEN`] letters.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Seals a reply.
    ///
    /// # Panics
    ///
    /// Never: a reply is shorter than the limit of AES-GCM.
    pub fn seal(&self, reply: &Reply) -> [u8; SEALED_REPLY_LEN] {
        let mut body = Vec::with_capacity(PADDED_LEN);
        reply.put(&mut body);
        let mut sealed = [0; SEALED_REPLY_LEN];
        let (nonce, rest) = sealed.split_at_mut(NONCE_LEN);
        let (text, tag) = rest.split_at_mut(PADDED_LEN);
        text[0] = body.len() as u8;
        text[1..=body.len()].copy_from_slice(&body);
        nonce.copy_from_slice(&self.nonce(text));
        let nonce = <[u8; NONCE_LEN]>::try_from(&*nonce).expect("as long");
        let made =
            self.cipher
                .encrypt_inout_detached(&nonce.into(), self.name.as_bytes(), text.into());
        tag.copy_from_slice(&made.expect("shorter than the limit of AES-GCM, 64 GiB"));
        sealed
    }

    /// Opens what somebody left; `None` unless a holder of the invitation sealed it.
    pub fn open(&self, sealed: &[u8]) -> Option<Reply> {
        let (nonce, rest) = sealed.split_first_chunk::<NONCE_LEN>()?;
        let (text, tag) = rest.split_last_chunk::<TAG_LEN>()?;
        let mut text: [u8; PADDED_LEN] = text.try_into().ok()?;
        let opened = self.cipher.decrypt_inout_detached(
            &(*nonce).into(),
            self.name.as_bytes(),
            text.as_mut_slice().into(),
            &(*tag).into(),
        );
        opened.ok()?;
        let (&len, rest) = text.split_first()?;
        Reply::take(rest.get(..usize::from(len))?)
    }

    /// Returns a nonce that follows from the text: no two texts share one, and no random numbers are needed.
    fn nonce(&self, text: &[u8]) -> [u8; NONCE_LEN] {
        let mac = <Hmac<Sha256>>::new_from_slice(&*self.nonce_key).expect("HMAC takes any length");
        let hash: [u8; 32] = mac.chain_update(text).finalize().into_bytes().into();
        std::array::from_fn(|n| hash[n])
    }
}

impl fmt::Debug for Mailbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mailbox").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use is::Candidate;
    use proptest::prelude::*;

    use super::*;

    fn mailbox(secret: u8) -> Mailbox {
        Mailbox::new(|label| {
            let mut derived = [secret; 32];
            derived[..label.len()].copy_from_slice(label.as_bytes());
            Zeroizing::new(derived)
        })
    }

    fn reply(count: u16) -> Reply {
        let address = |port| format!("[2001:db8::7]:{port}").parse().unwrap();
        let candidates = (1..=count).map(|port| Candidate::host(address(port), "udp").unwrap());
        Reply(candidates.collect())
    }

    #[test]
    fn sealed_reply_hides_its_length_and_opens() {
        let mailbox = mailbox(1);
        assert_eq!(mailbox.name().len(), MAILBOX_NAME_LEN);
        for count in [0, 1, 8, 9] {
            let sealed = mailbox.seal(&reply(count));
            let opened = mailbox.open(&sealed).expect("our own");
            assert_eq!(opened.0.len(), usize::from(count).min(MAX_ADDRESSES));
            assert_eq!(sealed, mailbox.seal(&reply(count)), "no second nonce");
        }
        assert_ne!(mailbox.seal(&reply(1))[..12], mailbox.seal(&reply(2))[..12]);
    }

    #[test]
    fn changed_cut_or_foreign_bytes_do_not_open() {
        let own = mailbox(1);
        let sealed = own.seal(&reply(2));
        for at in 0..sealed.len() {
            let mut changed = sealed;
            changed[at] ^= 1;
            assert!(own.open(&changed).is_none(), "{at}");
            assert!(own.open(&sealed[..at]).is_none(), "{at}");
        }
        assert!(own.open(&[&sealed[..], &[0]].concat()).is_none());
        assert!(own.open(&vec![0; 1 << 20]).is_none());
        assert!(mailbox(2).open(&sealed).is_none());
    }

    proptest! {
        /// Even a holder of the key makes nobody panic.
        #[test]
        fn sealed_nonsense_is_refused(text in proptest::collection::vec(any::<u8>(), PADDED_LEN)) {
            let mailbox = mailbox(1);
            let mut sealed = text.clone();
            let tag = mailbox.cipher.encrypt_inout_detached(
                &[7; NONCE_LEN].into(),
                mailbox.name.as_bytes(),
                sealed.as_mut_slice().into(),
            );
            let whole = [&[7; NONCE_LEN], &sealed[..], &tag.unwrap()[..]].concat();
            if let Some(Reply(candidates)) = mailbox.open(&whole) {
                prop_assert!(candidates.len() <= PADDED_LEN / 7);
            }
        }
    }
}
