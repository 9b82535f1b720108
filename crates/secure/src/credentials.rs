//! The credentials of ICE (RFC 8445 §5.3, RFC 8839 §5.4).

use std::io;

use base64ct::{Base64Unpadded, Encoding as _};
use is::IceCreds;
use zeroize::Zeroizing;

/// The random bytes of a user fragment and of a password, of which RFC 8445 §5.3 asks for 24 and 128 bits.
pub(crate) const UFRAG_BYTES: usize = 6;
pub(crate) const PASSWORD_BYTES: usize = 24;

/// Draws the credentials of a session from the system's random numbers. Those of `IceCreds::new` can be guessed: a user
/// fragment, which everyone on the path sees, tells the generator's state.
///
/// # Errors
///
/// Fails if the system has no random numbers.
pub fn draw_credentials() -> io::Result<IceCreds> {
    let mut bytes = Zeroizing::new([0; UFRAG_BYTES + PASSWORD_BYTES]);
    getrandom::fill(&mut *bytes).map_err(io::Error::other)?;
    let (ufrag, password) = bytes.split_at(UFRAG_BYTES);
    Ok(write_credentials(ufrag, password))
}

/// Writes credentials in the alphabet of ICE.
pub(crate) fn write_credentials(ufrag: &[u8], password: &[u8]) -> IceCreds {
    IceCreds {
        ufrag: Base64Unpadded::encode_string(ufrag),
        pass: Base64Unpadded::encode_string(password),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_session_has_credentials_of_its_own() {
        let [first, second] = [(); 2].map(|()| draw_credentials().expect("random numbers"));
        assert_eq!((first.ufrag.len(), first.pass.len()), (8, 32));
        assert_ne!(first.ufrag, second.ufrag);
        assert_ne!(first.pass, second.pass);
    }
}
