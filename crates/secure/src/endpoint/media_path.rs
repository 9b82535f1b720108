//! The pair of addresses that carries packets: proved by what the peer encrypts, and left when consent ends.

use std::net::SocketAddr;
use std::time::Duration;

use tfrc::time::Instant;

/// The time without an answer to a check after which nothing more is sent on a path (RFC 7675 §5.1).
const CONSENT_EXPIRY: Duration = Duration::from_secs(30);

/// A path is silent, and the peer perhaps elsewhere, after this time without an authentic packet.
const SILENCE: Duration = Duration::from_millis(500);

/// The time between two probes of a proposed path, of which there are [`FAST_PROBES`].
const PROBE_INTERVAL: Duration = Duration::from_millis(100);

/// The probes that follow each other fast: three seconds of them. The peer may learn of the path as late as a lost check is repeated.
const FAST_PROBES: u32 = 30;

/// The time between two later probes.
const SLOW_PROBE_INTERVAL: Duration = Duration::from_secs(1);

/// A pair of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IcePath {
    /// The address of the socket, or one at a relay.
    pub(super) source: SocketAddr,
    /// The address of the peer.
    pub(super) destination: SocketAddr,
}

/// A path that ICE nominated, and that the peer has not proved.
struct Proposal {
    path: IcePath,
    probes: u32,
    next_probe: Instant,
}

/// The path in use, and the one that ICE proposes.
///
/// Whoever has the credentials of ICE can nominate a pair. Once the peer has sent an authentic packet, therefore, another
/// pair carries media only after an authentic packet came from there. Both ends probe a proposed path, so that one does.
#[derive(Default)]
pub(super) struct MediaPath {
    current: Option<IcePath>,
    /// When the peer last answered a check on the current path.
    consent: Instant,
    /// When the last authentic packet came on the current path.
    heard: Instant,
    proposal: Option<Proposal>,
    /// True once the peer has sent an authentic packet.
    has_keys: bool,
}

impl MediaPath {
    pub(super) fn current(&self) -> Option<IcePath> {
        self.current
    }

    /// Returns the path for packets that the peer authenticates: the current one, or the proposed one.
    pub(super) fn any(&self) -> Option<IcePath> {
        let proposed = self.proposal.as_ref().map(|proposal| proposal.path);
        self.current.or(proposed)
    }

    /// Returns true once the peer has proved that it has the keys.
    pub(super) fn has_keys(&self) -> bool {
        self.has_keys
    }

    /// Takes a path that ICE nominated. Returns true if it is in use at once.
    pub(super) fn propose(&mut self, now: Instant, path: IcePath) -> bool {
        if self.current == Some(path) {
            self.proposal = None;
            return false;
        }
        if !self.has_keys {
            self.take(now, path);
            return true;
        }
        let mut proposal = self.proposal.take().filter(|known| known.path == path);
        self.proposal = proposal.take().or(Some(Proposal {
            path,
            probes: 0,
            next_probe: now,
        }));
        false
    }

    /// Handles an authentic packet that took this path. `is_checked` says that the peer answered a check there. Returns true
    /// if the path is another than before.
    pub(super) fn handle_authentic(
        &mut self,
        now: Instant,
        path: IcePath,
        is_checked: bool,
    ) -> bool {
        self.has_keys = true;
        if self.current == Some(path) {
            self.heard = now;
            return false;
        }
        let is_proposed = |proposal: &Proposal| proposal.path == path;
        // A peer that moved is followed before ICE nominates its new address.
        let has_moved = is_checked && (self.current.is_none() || self.is_silent(now));
        if has_moved || self.proposal.as_ref().is_some_and(is_proposed) {
            self.take(now, path);
            return true;
        }
        false
    }

    /// Handles an answer to a check on a path.
    pub(super) fn handle_answer(&mut self, now: Instant, path: IcePath) {
        if self.current == Some(path) {
            self.consent = now;
        }
    }

    /// Returns true if no authentic packet came on the current path recently.
    pub(super) fn is_silent(&self, now: Instant) -> bool {
        now >= self.silent_from()
    }

    /// Returns when the current path counts as silent if nothing more comes.
    pub(super) fn silent_from(&self) -> Instant {
        self.heard + SILENCE
    }

    /// Leaves the path if consent to it has ended. Returns true if so.
    pub(super) fn expire(&mut self, now: Instant) -> bool {
        self.consent + CONSENT_EXPIRY <= now && self.leave()
    }

    /// Leaves the path. Returns true if there was one.
    pub(super) fn leave(&mut self) -> bool {
        self.current.take().is_some()
    }

    /// Returns the path to probe, if a probe is due.
    pub(super) fn poll_probe(&mut self, now: Instant) -> Option<IcePath> {
        let proposal = self.proposal.as_mut()?;
        if proposal.next_probe > now {
            return None;
        }
        proposal.probes = proposal.probes.saturating_add(1);
        proposal.next_probe = now
            + if proposal.probes < FAST_PROBES {
                PROBE_INTERVAL
            } else {
                SLOW_PROBE_INTERVAL
            };
        Some(proposal.path)
    }

    /// Returns when consent ends, or a probe is due.
    pub(super) fn timeout(&self) -> Option<Instant> {
        let consent = self.current.map(|_| self.consent + CONSENT_EXPIRY);
        let probe = self.proposal.as_ref().map(|proposal| proposal.next_probe);
        consent.into_iter().chain(probe).min()
    }

    fn take(&mut self, now: Instant, path: IcePath) {
        self.current = Some(path);
        self.consent = now;
        self.heard = now;
        self.proposal = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(host: u8) -> IcePath {
        IcePath {
            source: SocketAddr::from(([192, 0, 2, 1], 5_000)),
            destination: SocketAddr::from(([198, 51, 100, host], 5_000)),
        }
    }

    /// Returns a path that the peer has proved, last at ten seconds.
    fn proved() -> MediaPath {
        let now = Instant::from_secs(10);
        let mut media = MediaPath::default();
        assert!(media.propose(now, path(1)));
        assert!(!media.handle_authentic(now, path(1), true));
        media
    }

    #[test]
    fn peer_that_moved_is_followed_after_silence() {
        let soon = Instant::from_millis(10_499);
        let late = Instant::from_millis(10_500);
        let mut media = proved();
        assert!(!media.handle_authentic(soon, path(2), true));
        assert!(!media.handle_authentic(late, path(2), false), "no check");
        assert!(media.handle_authentic(late, path(2), true));
        assert_eq!(media.current(), Some(path(2)));
    }

    #[test]
    fn proposed_path_waits_for_proof() {
        let now = Instant::from_secs(11);
        let mut media = proved();
        assert!(!media.propose(now, path(2)));
        assert_eq!(media.poll_probe(now), Some(path(2)));
        assert_eq!(media.poll_probe(now), None);
        assert_eq!(media.timeout(), Some(now + PROBE_INTERVAL));
        assert_eq!(media.current(), Some(path(1)));
        assert!(media.handle_authentic(now, path(2), false));
        assert_eq!(media.current(), Some(path(2)));
        assert_eq!(media.poll_probe(now + PROBE_INTERVAL), None);
    }

    #[test]
    fn answers_keep_consent() {
        let mut media = proved();
        media.handle_answer(Instant::from_secs(20), path(1));
        media.handle_answer(Instant::from_secs(30), path(2));
        assert!(!media.expire(Instant::from_secs(49)));
        assert!(media.expire(Instant::from_secs(50)));
        assert_eq!((media.current(), media.timeout()), (None, None));
    }
}
