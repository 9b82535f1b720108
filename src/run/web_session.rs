//! The session of a browser that joined by WHIP or WHEP, one at a time.

use std::time::Duration;

use evenkeel_secure::endpoint::{IceCreds, IceRestart};
use evenkeel_secure::identity::Fingerprint;
use tfrc::time::Instant;

use super::connection::MakeCall;

/// The silence after which a browser gives way to another one: its tab may be closed, or its machine suspended.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(10);

/// The silence after which a browser has left: its consent to receive has expired (RFC 7675 §5.1).
const CONSENT_TIMEOUT: Duration = Duration::from_secs(30);

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

    /// Returns ICE without a peer: nobody learns these credentials, so it does not matter that they can be guessed.
    pub(super) fn without_peer() -> IceRestart {
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

    /// Returns true if another browser may take the place of this one, which was last heard at this time.
    pub(super) fn gives_way(&self, now: Instant, heard_at: Option<Instant>) -> bool {
        now >= self.last_sign(heard_at) + SILENCE_TIMEOUT
    }

    /// Returns when the browser has left, if it was last heard at this time.
    pub(super) fn ends_at(&self, heard_at: Option<Instant>) -> Instant {
        self.last_sign(heard_at) + CONSENT_TIMEOUT
    }

    fn last_sign(&self, heard_at: Option<Instant>) -> Instant {
        heard_at.map_or(self.since, |at| at.max(self.since))
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_media::call::Call;
    use evenkeel_media::policy::PolicyConfig;
    use evenkeel_media::reassemble::Payload;
    use evenkeel_net::{Clock, Socket};
    use evenkeel_rtp::endpoint::Endpoint as _;
    use evenkeel_rtp::session;
    use evenkeel_secure::endpoint::SecureEvent;

    use super::*;
    use crate::meeting::Encrypted;
    use crate::run::call_endpoint::{CallEndpoint, DatagramFilter};
    use crate::run::connection::Connection;

    fn call(now: Instant) -> Call {
        let policy = PolicyConfig::new(Duration::from_millis(40));
        Call::new(now, session::Config::new("end", 1), policy, Payload::H264)
    }

    fn connection() -> Connection {
        let clock = Clock::start();
        let socket = Socket::bind(([127, 0, 0, 1], 0).into()).expect("a port");
        let encrypted = Encrypted::for_browsers(&socket, &clock).expect("a certificate");
        let (endpoint, _) = CallEndpoint::new(call(Instant::ZERO), DatagramFilter::default());
        let times = (clock.now(), clock.system_zero());
        Connection::secure(times, encrypted.config, false, endpoint, Box::new(call))
    }

    fn peer(id: &str) -> WebPeer {
        WebPeer {
            id: id.into(),
            restart: WebSession::without_peer(),
            fingerprint: [1; 32].into(),
            make_call: Box::new(call),
        }
    }

    fn is_end(event: &SecureEvent) -> bool {
        matches!(event, SecureEvent::Closed | SecureEvent::Failed(_))
    }

    #[test]
    fn second_browser_waits_until_the_first_leaves() {
        let mut connection = connection();
        let now = Instant::from_secs(1);
        assert!(connection.join(now, peer("first")));
        for _ in 0..3 {
            assert!(!connection.join(now, peer("second")));
            assert!(!connection.leave(now, "second"));
        }
        assert!(connection.leave(now, "first"));
        assert!(!connection.leave(now, "first"));
        let last = connection.take_events().pop_back();
        assert_eq!(last, Some(SecureEvent::Closed));
        assert!(connection.join(now, peer("second")));
    }

    #[test]
    fn silent_browser_makes_room() {
        let mut connection = connection();
        let now = Instant::from_secs(1);
        assert!(connection.join(now, peer("silent")));
        let almost = now + SILENCE_TIMEOUT - Duration::from_millis(1);
        connection.handle_timeout(almost);
        assert!(!connection.join(almost, peer("next")));
        let now = now + SILENCE_TIMEOUT;
        connection.handle_timeout(now);
        assert!(!connection.take_events().iter().any(is_end));
        assert!(connection.join(now, peer("next")));
        let last = connection.take_events().pop_back();
        assert_eq!(last, Some(SecureEvent::Closed));
    }

    #[test]
    fn browser_that_never_connects_ends() {
        let mut connection = connection();
        let now = Instant::from_secs(1);
        assert!(connection.join(now, peer("silent")));
        let almost = now + CONSENT_TIMEOUT - Duration::from_millis(1);
        connection.handle_timeout(almost);
        assert!(!connection.take_events().iter().any(is_end));
        connection.handle_timeout(now + CONSENT_TIMEOUT);
        let last = connection.take_events().pop_back();
        assert_eq!(last, Some(SecureEvent::Closed));
        assert!(!connection.leave(now + CONSENT_TIMEOUT, "silent"));
    }

    #[test]
    fn addresses_of_other_credentials_are_refused() {
        let mut connection = connection();
        let now = Instant::ZERO;
        let browser = peer("browser");
        let ufrag = browser.restart.peer_credentials.ufrag.clone();
        assert!(connection.join(now, browser));
        for (id, ufrag, expected) in [
            ("browser", Some(&*ufrag), Trickled::Added),
            ("browser", None, Trickled::Added),
            ("browser", Some("other"), Trickled::OtherCredentials),
            ("stranger", Some(&*ufrag), Trickled::NoSession),
        ] {
            let trickled = connection.trickle(now, id, ufrag, Vec::new());
            assert_eq!(trickled, expected, "{id} {ufrag:?}");
        }
    }
}
