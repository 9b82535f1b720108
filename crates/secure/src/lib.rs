//! Encrypts what an endpoint sends and checks what it receives, without I/O.
//!
//! SRTP and SRTCP (RFC 3711, RFC 7714) protect one direction of a transport each: a [`Protector`](srtp::Protector) for
//! what leaves, an [`Unprotector`](srtp::Unprotector) for what arrives.

pub mod srtp;
