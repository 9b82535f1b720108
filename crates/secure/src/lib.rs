//! Encrypts what an endpoint sends and checks what it receives, without I/O.
//!
//! [`DtlsAssociation`](dtls::DtlsAssociation) agrees with the peer on keys, and checks that the peer's certificate has the
//! expected [`Fingerprint`](identity::Fingerprint). SRTP and SRTCP (RFC 3711, RFC 7714) then protect one direction each: a
//! [`Protector`](srtp::Protector) for what leaves, an [`Unprotector`](srtp::Unprotector) for what arrives.

pub mod dtls;
pub mod identity;
pub mod srtp;
