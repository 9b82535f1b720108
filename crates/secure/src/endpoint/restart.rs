//! Begins again: ICE when an end's addresses have changed, and DTLS when the peer's process is another. Ends for good.

use evenkeel_rtp::endpoint::Endpoint;
use is::CandidateKind;
use tfrc::time::Instant;

use super::media_path::MediaPath;
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
        self.peer_addresses.clear();
        self.add_candidates(restart.candidates, restart.peer_candidates);
        self.handle_connectivity(now);
    }

    /// Agrees on new keys, with a peer that may have a new certificate: its process began again, and the application
    /// allows that. The old keys are worth nothing from now on. [`restart_ice`](Self::restart_ice) follows.
    pub fn renew_association(&mut self, peer_fingerprint: Fingerprint) {
        self.peer_fingerprint = peer_fingerprint;
        self.dtls = None;
        self.srtp = None;
        self.path = MediaPath::default();
    }

    /// Returns true while both ends agree on keys.
    pub const fn is_in_handshake(&self) -> bool {
        self.dtls.is_some() && self.srtp.is_none()
    }

    /// Tells the peer that this end leaves (RFC 8446 §6.1). What the inner endpoint still wants to send leaves before the call.
    pub fn close(&mut self, now: Instant) {
        if let Some(dtls) = &mut self.dtls {
            dtls.close(now);
        }
        self.handle_connectivity(now);
    }

    /// Forgets a peer that did not prove who it is, and waits for the next one. Certificate, credentials and the addresses that
    /// signalling gave stay.
    pub fn forget_peer(&mut self, now: Instant) {
        self.renew_association(self.peer_fingerprint);
        self.waiting.clear();
        self.peer_addresses.keep_signalled();
        self.renew_checks(now);
        self.handle_connectivity(now);
    }

    /// Looks for the peer from other addresses of this end's socket, with the same credentials, because the network of this end
    /// changed. The peer finds the new addresses by the checks that come from there.
    pub fn change_addresses(&mut self, now: Instant, candidates: Vec<Candidate>) {
        self.gathering.restart(now, bases(&candidates));
        self.begin_checks(now, candidates);
        self.handle_connectivity(now);
    }

    /// Begins the checks anew, with what is known of both ends. Packets go on as before meanwhile.
    pub(super) fn renew_checks(&mut self, now: Instant) {
        // What the peer says of this end's address is found again, and otherwise adds up.
        let own = self.ice.local_candidates();
        let own = own.filter(|own| own.kind() != CandidateKind::PeerReflexive);
        self.begin_checks(now, own.collect());
    }

    fn begin_checks(&mut self, now: Instant, own: Vec<Candidate>) {
        let credentials = self.ice.local_credentials().clone();
        let of_peer = self.ice.remote_credentials().cloned();
        self.ice.ice_restart(credentials, false);
        if let Some(of_peer) = of_peer {
            self.ice.set_remote_credentials(of_peer);
        }
        for candidate in own {
            self.ice.add_local_candidate(candidate);
        }
        for candidate in self.peer_addresses.candidates() {
            self.ice.add_remote_candidate(candidate);
        }
        self.renewed = Some(now);
        self.new_address = None;
    }
}
