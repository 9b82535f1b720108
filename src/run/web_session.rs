//! The session of a browser that joined by WHIP or WHEP, one at a time.

use std::time::Duration;

use evenkeel_secure::endpoint::{IceCreds, IceRestart};
use evenkeel_secure::identity::Fingerprint;
use tfrc::time::Instant;

use super::connection::MakeCall;

/// The silence after which a browser has left: its tab was closed, or its network is gone.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(10);

/// A browser whose offer was answered.
pub(crate) struct WebPeer {
    /// The name of its session.
    pub(crate) id: String,
    /// The ICE of both ends.
    pub(crate) restart: IceRestart,
    /// The fingerprint of its certificate.
    pub(crate) fingerprint: Fingerprint,
    /// Makes the call that was negotiated.
    pub(crate) make_call: MakeCall,
}

/// The session of a browser.
pub(crate) struct WebSession {
    id: String,
    /// The user fragment of the browser.
    ufrag: String,
    since: Instant,
}

/// What became of the addresses that a browser sent later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trickled {
    /// They are tried.
    Added,
    /// They are of other credentials: ICE would restart, which a browser does by joining anew.
    OtherCredentials,
    /// There is no such session.
    NoSession,
}

impl WebSession {
    pub(super) fn new(now: Instant, peer: &WebPeer) -> Self {
        Self {
            id: peer.id.clone(),
            ufrag: peer.restart.peer_credentials.ufrag.clone(),
            since: now,
        }
    }

    /// Returns ICE without a peer: nobody has these credentials.
    pub(super) fn nobody() -> IceRestart {
        IceRestart {
            candidates: Vec::new(),
            credentials: IceCreds::new(),
            peer_credentials: IceCreds::new(),
            peer_candidates: Vec::new(),
        }
    }

    pub(super) fn has_id(&self, id: &str) -> bool {
        self.id == id
    }

    /// Returns what becomes of addresses with this user fragment, or with none.
    pub(super) fn trickled(&self, ufrag: Option<&str>) -> Trickled {
        if ufrag.is_none_or(|ufrag| ufrag == self.ufrag) {
            Trickled::Added
        } else {
            Trickled::OtherCredentials
        }
    }

    /// Returns when the browser has left, if it was last heard at this time.
    pub(super) fn ends_at(&self, heard_at: Option<Instant>) -> Instant {
        heard_at.map_or(self.since, |at| at.max(self.since)) + SILENCE_TIMEOUT
    }
}
