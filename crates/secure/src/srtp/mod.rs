//! SRTP and SRTCP: encrypts and authenticates RTP and RTCP (RFC 3711, RFC 7714).

mod cipher;
mod gcm;
mod header;
mod keys;
mod protector;
mod replay;
mod streams;
#[cfg(test)]
mod tests;
mod unprotector;

pub use keys::{MasterKey, MasterKeys, Profile};
pub use protector::{ProtectError, Protector};
pub use unprotector::{UnprotectError, Unprotector};

/// The most bytes that protection adds to a packet, in bytes: the tag of AES-GCM and the index of SRTCP (RFC 7714 §9).
pub const MAX_OVERHEAD: usize = 20;
