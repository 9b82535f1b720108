//! Agrees with the peer on keys by DTLS 1.2 or 1.3, and checks the peer's fingerprint (RFC 5763, RFC 5764).

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant as StdInstant};

use dimpl::crypto::rust_crypto;
use dimpl::{Config, ConfigBuilder, Dtls, DtlsCertificate, Output, SrtpProfile};
use tfrc::time::Instant;
use thiserror::Error;
use zeroize::Zeroize as _;

use crate::identity::{Fingerprint, Identity};
use crate::srtp::{MasterKey, MasterKeys, Profile};
use crate::words::ShortAuthenticationString;

/// The time after which a handshake is given up. A person waits no longer for a call to begin.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(30);

/// The time after which the first message is sent again. A quarter of what RFC 9147 §5.8.2 recommends for paths of which
/// nothing is known: here the path has carried packets both ways before.
const FIRST_RETRY: Duration = Duration::from_millis(250);

/// The most datagrams that wait to be sent: two flights of a handshake. What is dropped is sent again.
const MAX_DATAGRAMS: usize = 32;

/// The part of an end in the handshake (RFC 5763 §5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Begins the handshake: `a=setup:active`.
    Client,
    /// Waits for the client: `a=setup:passive`.
    Server,
}

/// The reason for which an association ended without keys.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DtlsError {
    /// The peer has another certificate than announced.
    #[error("the peer has another fingerprint than announced: {0}")]
    WrongFingerprint(Fingerprint),
    /// The peer offered no protection profile of ours, or keys of another length.
    #[error("the peer offers no usable SRTP profile")]
    NoProfile,
    /// The handshake failed or timed out.
    #[error("the handshake failed: {0}")]
    Handshake(String),
}

/// The keys of both directions.
#[derive(Clone)]
pub struct SrtpKeys {
    /// The key of what this end sends.
    pub local: MasterKey,
    /// The key of what the peer sends.
    pub remote: MasterKey,
    /// The words by which two people compare these keys.
    pub words: ShortAuthenticationString,
}

/// What became of an association.
pub enum DtlsEvent {
    /// The peer has the announced fingerprint, and both ends have keys.
    Keys(SrtpKeys),
    /// The peer ended the association.
    Closed,
    /// There will be no keys. The association does nothing more.
    Failed(DtlsError),
}

/// One end of a DTLS association.
///
/// The caller passes datagrams and timeouts, sends what [`poll_transmit`](Self::poll_transmit) returns, and reads
/// [`poll_event`](Self::poll_event). Keys are given out only after the peer's certificate had the announced fingerprint.
pub struct DtlsAssociation {
    dtls: Dtls,
    config: Arc<Config>,
    certificate: DtlsCertificate,
    /// The system's time at [`Instant::ZERO`].
    zero: StdInstant,
    role: Role,
    peer: Fingerprint,
    /// When the handshake is given up; `None` once there are keys.
    deadline: Option<Instant>,
    peer_is_verified: bool,
    /// The fingerprint of a peer that was not the announced one, which says more than the timeout that follows.
    stranger: Option<Fingerprint>,
    has_failed: bool,
    datagrams: VecDeque<Vec<u8>>,
    events: VecDeque<DtlsEvent>,
    timeout: Option<Instant>,
    buffer: Vec<u8>,
}

impl DtlsAssociation {
    /// Creates an association with the peer of this fingerprint. `zero` is the time of the system at
    /// [`Instant::ZERO`].
    ///
    /// # Panics
    ///
    /// Never: the library accepts the configuration, which is a constant.
    pub fn new(
        now: Instant,
        zero: StdInstant,
        role: Role,
        identity: &Identity,
        peer: Fingerprint,
    ) -> Self {
        let config = configuration().build().expect("a constant configuration");
        Self::with_config(now, zero, role, identity, peer, config)
    }

    fn with_config(
        now: Instant,
        zero: StdInstant,
        role: Role,
        identity: &Identity,
        peer: Fingerprint,
        config: Config,
    ) -> Self {
        let certificate = DtlsCertificate {
            certificate: identity.certificate.clone(),
            private_key: identity.private_key.to_vec(),
        };
        let config = Arc::new(config);
        let at = zero + now.saturating_since(Instant::ZERO);
        let mut association = Self {
            dtls: handshake(&config, &certificate, role, at),
            config,
            certificate,
            zero,
            role,
            peer,
            deadline: Some(now + HANDSHAKE_TIMEOUT),
            peer_is_verified: false,
            stranger: None,
            has_failed: false,
            datagrams: VecDeque::new(),
            events: VecDeque::new(),
            timeout: None,
            buffer: vec![0; 2_048],
        };
        association.handle_timeout(now);
        association
    }

    /// Handles a datagram whose first byte is one of DTLS: 20 to 63 (RFC 7983). One with an alert in the clear is ignored, as
    /// anyone can forge it: a handshake that the peer ended so takes its time limit.
    pub fn handle_datagram(&mut self, now: Instant, datagram: &[u8]) {
        if has_plain_alert(datagram) {
            return;
        }
        self.drive(now, |dtls| dtls.handle_packet(datagram));
    }

    /// Handles the expiry of the timeout. An early call is harmless.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.drive(now, |_| Ok(()));
    }

    /// Returns the next datagram for the peer.
    pub fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.datagrams.pop_front()
    }

    /// Returns when to call [`handle_timeout`](Self::handle_timeout) next.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let next = [self.timeout, self.deadline].into_iter().flatten().min();
        next.filter(|_| !self.has_failed)
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<DtlsEvent> {
        self.events.pop_front()
    }

    /// Tells the peer that the association ends.
    pub fn close(&mut self, now: Instant) {
        self.drive(now, Dtls::close);
    }

    /// Passes an input to the library, and takes over what the library puts out.
    ///
    /// A handshake that fails begins anew until the deadline: anyone can forge a message that ends it.
    fn drive(&mut self, now: Instant, input: impl FnOnce(&mut Dtls) -> Result<(), dimpl::Error>) {
        if self.has_failed {
            return;
        }
        let at = self.zero + now.saturating_since(Instant::ZERO);
        let result = self.dtls.handle_timeout(at);
        let result = result.and_then(|()| input(&mut self.dtls));
        let result = result.map_err(|error| DtlsError::Handshake(error.to_string()));
        let result = result.and_then(|()| self.take_output());
        let is_over = self.deadline.is_some_and(|deadline| now >= deadline);
        let error = match result {
            Ok(()) if is_over => DtlsError::Handshake("it lasted too long".into()),
            Ok(()) => return,
            Err(error) => error,
        };
        if let DtlsError::WrongFingerprint(stranger) = error {
            self.stranger = Some(stranger);
        }
        if is_over || self.deadline.is_none() {
            self.has_failed = true;
            self.datagrams.clear();
            let error = self.stranger.map_or(error, DtlsError::WrongFingerprint);
            self.events.push_back(DtlsEvent::Failed(error));
        } else {
            self.peer_is_verified = false;
            self.dtls = handshake(&self.config, &self.certificate, self.role, at);
            self.timeout = Some(now);
        }
    }

    fn take_output(&mut self) -> Result<(), DtlsError> {
        loop {
            match self.dtls.poll_output(&mut self.buffer) {
                Output::Packet(datagram) if self.datagrams.len() < MAX_DATAGRAMS => {
                    self.datagrams.push_back(datagram.to_vec());
                }
                Output::BufferTooSmall { needed } => self.buffer.resize(needed, 0),
                Output::PeerCert(certificate) => {
                    let fingerprint = Fingerprint::of(certificate);
                    if fingerprint != self.peer {
                        return Err(DtlsError::WrongFingerprint(fingerprint));
                    }
                    self.peer_is_verified = true;
                }
                Output::KeyingMaterial(material, profile) => {
                    let keys = keys(self.role, &material, profile);
                    let keys = keys.filter(|_| self.peer_is_verified);
                    let keys = keys.ok_or(DtlsError::NoProfile)?;
                    self.deadline = None;
                    self.events.push_back(DtlsEvent::Keys(keys));
                }
                Output::CloseNotify if self.deadline.is_none() => {
                    self.events.push_back(DtlsEvent::Closed);
                }
                Output::Timeout(at) => {
                    let after = at.saturating_duration_since(self.zero);
                    self.timeout = Some(Instant::ZERO + after);
                    return Ok(());
                }
                // No data is expected beside the handshake.
                _ => {}
            }
        }
    }
}

impl Drop for DtlsAssociation {
    fn drop(&mut self) {
        self.certificate.private_key.zeroize();
    }
}

/// Returns true if one of a datagram's records is an alert without encryption.
fn has_plain_alert(datagram: &[u8]) -> bool {
    const ALERT: u8 = 21;
    let mut rest = datagram;
    while let Some(&first) = rest.first() {
        // The header of RFC 9147 §4, of encrypted records alone, or that of RFC 6347 §4.1.
        let (header_len, has_len) = if first & 0b1110_0000 == 0b0010_0000 {
            let [long_sequence, has_len] = [0b1000, 0b100].map(|bit| first & bit != 0);
            (
                2 + usize::from(long_sequence) + 2 * usize::from(has_len),
                has_len,
            )
        } else {
            (13, true)
        };
        let Some((header, body)) = rest.split_at_checked(header_len).filter(|_| has_len) else {
            return false;
        };
        if first == ALERT && header[3..5] == [0, 0] {
            return true;
        }
        let len = u16::from_be_bytes([header[header_len - 2], header[header_len - 1]]);
        rest = body.get(usize::from(len)..).unwrap_or_default();
    }
    false
}

fn configuration() -> ConfigBuilder {
    Config::builder()
        .with_crypto_provider(rust_crypto::default_provider())
        .flight_start_rto(FIRST_RETRY)
}

/// Begins a handshake.
fn handshake(
    config: &Arc<Config>,
    certificate: &DtlsCertificate,
    role: Role,
    at: StdInstant,
) -> Dtls {
    let mut dtls = Dtls::new_auto(Arc::clone(config), certificate.clone(), at);
    dtls.set_active(role == Role::Client);
    dtls
}

/// Splits the exported keying material between the two ends.
fn keys(role: Role, material: &[u8], profile: SrtpProfile) -> Option<SrtpKeys> {
    let profile = match profile {
        SrtpProfile::AES128_CM_SHA1_80 => Profile::Aes128CmSha1_80,
        SrtpProfile::AEAD_AES_128_GCM => Profile::AeadAes128Gcm,
        SrtpProfile::AEAD_AES_256_GCM => Profile::AeadAes256Gcm,
        _ => return None,
    };
    let MasterKeys { client, server } = MasterKeys::from_material(profile, material).ok()?;
    let (local, remote) = match role {
        Role::Client => (client, server),
        Role::Server => (server, client),
    };
    let words = ShortAuthenticationString::of(material);
    Some(SrtpKeys {
        local,
        remote,
        words,
    })
}

#[cfg(test)]
mod tests;
