//! Begins again: ICE when an end's addresses have changed, and DTLS when the peer's process is another.

use evenkeel_rtp::endpoint::Endpoint;
use tfrc::time::Instant;

use super::{Candidate, Fingerprint, IceCreds, Secure, bases};

/// What both ends must know anew before ICE restarts (RFC 8445 §9).
#[derive(Clone)]
pub struct IceRestart {
    /// The addresses of this end's socket that a peer may reach from now on.
    pub candidates: Vec<Candidate>,
    /// The new user fragment and password of this end.
    pub credentials: IceCreds,
    /// The new user fragment and password of the peer.
    pub peer_credentials: IceCreds,
    /// The addresses at which the peer may be reached, as far as they are known.
    pub peer_candidates: Vec<Candidate>,
}

impl<E: Endpoint> Secure<E> {
    /// Looks for the peer anew. Packets go on as before until a better way is found, and the keys stay.
    pub fn restart_ice(&mut self, now: Instant, restart: IceRestart) {
        self.gathering.restart(now, bases(&restart.candidates));
        self.ice.ice_restart(restart.credentials, false);
        self.ice.set_remote_credentials(restart.peer_credentials);
        self.peer_candidates.clear();
        self.add_candidates(restart.candidates, restart.peer_candidates);
        self.handle_connectivity(now);
    }

    /// Agrees on new keys, with a peer that may have a new certificate: its process began again, and the application
    /// allows that. The old keys are worth nothing from now on. [`restart_ice`](Self::restart_ice) follows.
    pub fn renew_association(&mut self, peer_fingerprint: Fingerprint) {
        self.peer_fingerprint = peer_fingerprint;
        self.dtls = None;
        self.srtp = None;
        self.path = None;
    }
}
