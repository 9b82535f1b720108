//! Finds a way to the peer and encrypts what an endpoint sends, without I/O.
//!
//! [`Secure`](endpoint::Secure) stands below any [`Endpoint`](evenkeel_rtp::endpoint::Endpoint). ICE finds an address pair
//! that carries packets both ways, behind NATs by what STUN and TURN servers say.
//! [`DtlsAssociation`](dtls::DtlsAssociation) agrees with the peer on keys, and checks that the peer's certificate has the
//! expected [`Fingerprint`](identity::Fingerprint). SRTP and SRTCP (RFC 3711, RFC 7714) then protect one direction each: a
//! [`Protector`](srtp::Protector) for what leaves, an [`Unprotector`](srtp::Unprotector) for what arrives. Two ends of ours
//! find each other by an [`Invitation`](invitation::Invitation).

pub mod credentials;
pub mod dtls;
pub mod endpoint;
mod gather;
pub mod identity;
pub mod invitation;
pub mod srtp;
#[cfg(test)]
mod test_support;
pub mod turn_stream;
pub mod words;
