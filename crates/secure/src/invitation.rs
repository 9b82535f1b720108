//! An invitation: one line of text by which a person joins another's call.
//!
//! An invitation carries candidates, a fingerprint and a secret. The joiner derives its certificate's key from the secret, so
//! each end knows its peer's fingerprint before the handshake. The ICE passwords are derived from the secret, too: an inviter
//! answers no check without them.

mod mailbox;
mod rendezvous;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use base64ct::{Base64UrlUnpadded, Encoding as _};
use hmac::{Hmac, KeyInit as _, Mac as _};
use is::{Candidate, CandidateKind, IceCreds};
use sha2::{Digest as _, Sha256};
use thiserror::Error;
use zeroize::Zeroizing;

pub use mailbox::{MAILBOX_NAME_LEN, Mailbox, SEALED_REPLY_LEN};
pub use rendezvous::{RendezvousUrl, RendezvousUrlError};

use crate::credentials::{PASSWORD_BYTES, UFRAG_BYTES, write_credentials};
use crate::dtls::Role;
use crate::endpoint::SecureConfig;
use crate::identity::{Fingerprint, Identity, IdentityError};

/// The words before the encoded bytes.
const SCHEME: &str = "evenkeel:";
const REPLY_SCHEME: &str = "evenkeel-reply:";

/// The version of the format, which is the first byte.
const VERSION: u8 = 1;

/// The most addresses of an invitation, so that it fits a line of a chat.
pub const MAX_ADDRESSES: usize = 8;

const SECRET_LEN: usize = 16;
const FINGERPRINT_LEN: usize = 32;
const CHECKSUM_LEN: usize = 4;
const HEADER_LEN: usize = 2 + SECRET_LEN + FINGERPRINT_LEN;

/// The most bytes of an address: kind and family, IPv6 address, port.
const MAX_ADDRESS_LEN: usize = 19;

/// The byte before the URL of a rendezvous, which is the last part of an invitation. No address begins with it.
const RENDEZVOUS_TAG: u8 = 1;

/// The most bytes that an invitation encodes.
const MAX_LEN: usize =
    HEADER_LEN + MAX_ADDRESSES * MAX_ADDRESS_LEN + 1 + RendezvousUrl::MAX_LEN + CHECKSUM_LEN;

/// What the inviter does with media.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// It sends and receives.
    Call,
    /// It sends.
    Send,
    /// It receives.
    Receive,
}

impl Purpose {
    /// Returns what the peer does.
    pub fn of_peer(self) -> Self {
        match self {
            Self::Call => Self::Call,
            Self::Send => Self::Receive,
            Self::Receive => Self::Send,
        }
    }
}

/// The reason for which a text is no invitation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvitationError {
    /// The text does not begin with the scheme.
    #[error("an invitation begins with {SCHEME}, a reply with {REPLY_SCHEME}")]
    NoScheme,
    /// The text was cut off or changed.
    #[error("the line is damaged: copy the whole line")]
    Damaged,
    /// The text is of a later version of the format.
    #[error("the line is of version {0}, and this program reads version {VERSION}: update it")]
    Version(u8),
}

/// What a joiner must know of an inviter.
#[derive(Clone)]
pub struct Invitation {
    purpose: Purpose,
    candidates: Vec<Candidate>,
    fingerprint: Fingerprint,
    secret: Zeroizing<[u8; SECRET_LEN]>,
    rendezvous: Option<RendezvousUrl>,
}

impl Invitation {
    /// Makes an invitation with a new secret, which has no address yet.
    ///
    /// # Errors
    ///
    /// Fails if the system has no random numbers.
    pub fn new(purpose: Purpose, identity: &Identity) -> Result<Self, IdentityError> {
        let mut secret = Zeroizing::new([0; SECRET_LEN]);
        getrandom::fill(secret.as_mut_slice()).map_err(IdentityError::new)?;
        Ok(Self {
            purpose,
            candidates: Vec::new(),
            fingerprint: identity.fingerprint(),
            secret,
            rendezvous: None,
        })
    }

    /// Names the rendezvous at which the joiner leaves its reply.
    #[must_use]
    pub fn by(mut self, rendezvous: RendezvousUrl) -> Self {
        self.rendezvous = Some(rendezvous);
        self
    }

    /// Returns true if a text begins as an invitation does.
    pub fn is_meant_by(text: &str) -> bool {
        text.trim_start().starts_with(SCHEME)
    }

    /// Returns the invitation to these addresses of the inviter. Of more than [`MAX_ADDRESSES`] it names the first.
    #[must_use]
    pub fn at(mut self, candidates: &[Candidate]) -> Self {
        self.candidates = candidates.iter().take(MAX_ADDRESSES).cloned().collect();
        self
    }

    /// Returns what the inviter does with media.
    pub fn purpose(&self) -> Purpose {
        self.purpose
    }

    /// Returns the addresses of the inviter.
    pub fn addresses(&self) -> impl Iterator<Item = SocketAddr> {
        self.candidates.iter().map(Candidate::addr)
    }

    /// Returns the rendezvous at which the joiner leaves its reply, if the invitation names one.
    pub fn rendezvous(&self) -> Option<&RendezvousUrl> {
        self.rendezvous.as_ref()
    }

    /// Returns the mailbox of this invitation at a rendezvous.
    pub fn mailbox(&self) -> Mailbox {
        Mailbox::new(|label| self.derive(label))
    }

    /// Returns what the inviter, who has `identity`, must know before the joiner comes.
    ///
    /// # Errors
    ///
    /// Fails if the joiner's certificate cannot be derived.
    pub fn for_inviter(
        &self,
        identity: Identity,
        candidates: Vec<Candidate>,
    ) -> Result<SecureConfig, IdentityError> {
        Ok(SecureConfig {
            candidates,
            servers: Vec::new(),
            credentials: self.credentials("inviter"),
            peer_credentials: self.credentials("joiner"),
            peer_candidates: Vec::new(),
            peer_fingerprint: self.joiner()?.fingerprint(),
            identity,
            encrypts_extensions: true,
            role: Role::Server,
            controls: false,
        })
    }

    /// Returns what the joiner must know to reach the inviter.
    ///
    /// # Errors
    ///
    /// Fails if the joiner's certificate cannot be derived.
    pub fn for_joiner(&self, candidates: Vec<Candidate>) -> Result<SecureConfig, IdentityError> {
        Ok(SecureConfig {
            candidates,
            servers: Vec::new(),
            credentials: self.credentials("joiner"),
            peer_credentials: self.credentials("inviter"),
            peer_candidates: self.candidates.clone(),
            peer_fingerprint: self.fingerprint,
            identity: self.joiner()?,
            encrypts_extensions: true,
            role: Role::Client,
            controls: true,
        })
    }

    fn joiner(&self) -> Result<Identity, IdentityError> {
        Identity::derive(|count| self.derive(&format!("joiner key {count}")))
    }

    fn credentials(&self, end: &str) -> IceCreds {
        write_credentials(
            &self.derive(&format!("{end} ufrag"))[..UFRAG_BYTES],
            &self.derive(&format!("{end} password"))[..PASSWORD_BYTES],
        )
    }

    /// Derives 32 bytes from the secret and a label (HMAC-SHA-256 as a pseudorandom function, RFC 5869).
    fn derive(&self, label: &str) -> Zeroizing<[u8; 32]> {
        let mut mac = <Hmac<Sha256>>::new_from_slice(&*self.secret).expect("HMAC takes any length");
        mac.update(b"evenkeel invitation ");
        mac.update(label.as_bytes());
        Zeroizing::new(mac.finalize().into_bytes().into())
    }
}

impl fmt::Display for Invitation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let purpose = match self.purpose {
            Purpose::Call => 0,
            Purpose::Send => 1,
            Purpose::Receive => 2,
        };
        let mut bytes = vec![VERSION, purpose];
        bytes.extend(self.secret.as_slice());
        bytes.extend(self.fingerprint.as_bytes());
        put_candidates(&mut bytes, &self.candidates);
        if let Some(rendezvous) = &self.rendezvous {
            bytes.push(RENDEZVOUS_TAG);
            bytes.extend(rendezvous.as_str().bytes());
        }
        f.write_str(&encode(SCHEME, bytes))
    }
}

/// The addresses of a joiner, for an inviter that its packets do not reach: one whose router lets in only whom it sent to.
#[derive(Clone, Debug)]
pub struct Reply(pub Vec<Candidate>);

impl Reply {
    fn put(&self, bytes: &mut Vec<u8>) {
        put_candidates(bytes, &self.0[..self.0.len().min(MAX_ADDRESSES)]);
    }

    fn take(body: &[u8]) -> Option<Self> {
        let (candidates, rest) = take_candidates(body)?;
        rest.is_empty().then_some(Self(candidates))
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = vec![VERSION];
        self.put(&mut bytes);
        f.write_str(&encode(REPLY_SCHEME, bytes))
    }
}

impl FromStr for Reply {
    type Err = InvitationError;

    fn from_str(text: &str) -> Result<Self, InvitationError> {
        decode(REPLY_SCHEME, text, Self::take)
    }
}

impl FromStr for Invitation {
    type Err = InvitationError;

    fn from_str(text: &str) -> Result<Self, InvitationError> {
        decode(SCHEME, text, take_invitation)
    }
}

fn encode(scheme: &str, mut bytes: Vec<u8>) -> String {
    bytes.extend(checksum(&bytes));
    format!("{scheme}{}", Base64UrlUnpadded::encode_string(&bytes))
}

/// Decodes a text; `take` gets what is between version and checksum.
fn decode<T>(
    scheme: &str,
    text: &str,
    take: impl FnOnce(&[u8]) -> Option<T>,
) -> Result<T, InvitationError> {
    let text = text.trim().strip_prefix(scheme);
    let text = text.ok_or(InvitationError::NoScheme)?;
    let mut buf = [0; MAX_LEN];
    let bytes = Base64UrlUnpadded::decode(text, &mut buf);
    let bytes = bytes.map_err(|_| InvitationError::Damaged)?;
    let (body, sum) = bytes
        .split_last_chunk::<CHECKSUM_LEN>()
        .ok_or(InvitationError::Damaged)?;
    if *sum != checksum(body) {
        return Err(InvitationError::Damaged);
    }
    match body.split_first() {
        Some((&VERSION, body)) => take(body).ok_or(InvitationError::Damaged),
        Some((&version, _)) => Err(InvitationError::Version(version)),
        None => Err(InvitationError::Damaged),
    }
}

fn take_invitation(body: &[u8]) -> Option<Invitation> {
    let (&purpose, body) = body.split_first()?;
    let purpose = match purpose {
        0 => Purpose::Call,
        1 => Purpose::Send,
        2 => Purpose::Receive,
        _ => return None,
    };
    let (&secret, body) = body.split_first_chunk()?;
    let (&fingerprint, body) = body.split_first_chunk::<FINGERPRINT_LEN>()?;
    let (candidates, rest) = take_candidates(body)?;
    let rendezvous = match rest.split_first() {
        None => None,
        Some((&RENDEZVOUS_TAG, url)) => Some(str::from_utf8(url).ok()?.parse().ok()?),
        Some(_) => return None,
    };
    Some(Invitation {
        purpose,
        candidates,
        fingerprint: fingerprint.into(),
        secret: Zeroizing::new(secret),
        rendezvous,
    })
}

fn put_candidates(bytes: &mut Vec<u8>, candidates: &[Candidate]) {
    for candidate in candidates {
        let kind = match candidate.kind() {
            CandidateKind::Host => 0,
            CandidateKind::PeerReflexive | CandidateKind::ServerReflexive => 1,
            CandidateKind::Relayed => 2,
        };
        let address = candidate.addr();
        match address.ip() {
            IpAddr::V4(ip) => {
                bytes.push(kind << 4 | 4);
                bytes.extend(ip.octets());
            }
            IpAddr::V6(ip) => {
                bytes.push(kind << 4 | 6);
                bytes.extend(ip.octets());
            }
        }
        bytes.extend(address.port().to_be_bytes());
    }
}

/// Takes the addresses at the beginning; returns them and what follows.
fn take_candidates(mut body: &[u8]) -> Option<(Vec<Candidate>, &[u8])> {
    let mut candidates = Vec::new();
    while let Some((&head, rest)) = body.split_first() {
        let ip: IpAddr;
        match head & 0xf {
            4 => {
                let (&octets, rest) = rest.split_first_chunk::<4>()?;
                (ip, body) = (Ipv4Addr::from(octets).into(), rest);
            }
            6 => {
                let (&octets, rest) = rest.split_first_chunk::<16>()?;
                (ip, body) = (Ipv6Addr::from(octets).into(), rest);
            }
            _ => break,
        }
        let (&port, rest) = body.split_first_chunk()?;
        body = rest;
        let address = SocketAddr::new(ip, u16::from_be_bytes(port));
        // Nothing reads the base of a peer's address.
        let candidate = match head >> 4 {
            0 => Candidate::host(address, "udp"),
            1 => Candidate::server_reflexive(address, address, "udp"),
            2 => Candidate::relayed(address, address, "udp"),
            _ => return None,
        };
        candidates.push(candidate.ok()?);
    }
    Some((candidates, body))
}

fn checksum(bytes: &[u8]) -> [u8; CHECKSUM_LEN] {
    let [a, b, c, d, ..] = <[u8; 32]>::from(Sha256::digest(bytes));
    [a, b, c, d]
}

#[cfg(test)]
mod tests;
