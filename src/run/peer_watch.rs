//! Turns the events of an encrypted connection into lines for a person.

use evenkeel_secure::endpoint::{Candidate, SecureEvent};
use evenkeel_secure::invitation::{Invitation, Reply};
use tfrc::time::{Duration, Instant};

use crate::failure::Failure;
use crate::meeting::{Encrypted, Join, PeerKind};

/// The time allowed for an answer of a server or the inviter: a first check and two retransmissions (RFC 8489 §6.2.1).
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// The time allowed for an answer where a rendezvous carries the reply: the inviter may wait a request's interval to read it.
const RENDEZVOUS_TIMEOUT: Duration = Duration::from_secs(10);

/// A change of the connection, for a person.
pub(super) enum PeerLine {
    /// A line that is good to know.
    Note(String),
    /// The line by which the other end joins.
    Invitation(Box<Invitation>),
    /// The reply of this end, for the rendezvous or the media server.
    Reply(Reply),
    /// The peer has come, and the connection is encrypted.
    Encrypted(String),
    /// A line about something wrong.
    Warning(String),
    /// The peer has ended the call.
    Left(String),
    /// The reason for which the run ends.
    Lost(Failure),
}

/// The state of an encrypted connection.
pub(super) struct PeerWatch {
    since: Instant,
    /// The local candidates, server-reflexive and relayed ones first.
    candidates: Vec<Candidate>,
    /// True once the servers have reported all that they have.
    has_gathered: bool,
    /// True if this end invites: whoever fails to prove that it is the joiner is forgotten.
    invites: bool,
    /// The invitation, until it is said.
    invitation: Option<Invitation>,
    /// What an end that was invited waits for, until the inviter answers.
    join: Option<Join>,
    is_reply_said: bool,
    /// True if this end's addresses reach the peer by a rendezvous or a media server.
    is_signalled: bool,
    /// The number of candidates that the rendezvous or the media server has.
    left: usize,
    words: Option<String>,
    peer: PeerKind,
    is_connected: bool,
}

impl PeerWatch {
    /// Creates the watch of a connection that is to be encrypted.
    pub(super) fn new(now: Instant, encrypted: &mut Encrypted) -> Self {
        Self {
            since: now,
            candidates: encrypted.config.candidates.clone(),
            has_gathered: false,
            invites: encrypted.invitation.is_some(),
            invitation: encrypted.invitation.take(),
            is_signalled: encrypted
                .join
                .as_ref()
                .is_some_and(|join| join.is_signalled),
            join: encrypted.join.take(),
            is_reply_said: false,
            left: 0,
            words: None,
            peer: encrypted.peer,
            is_connected: false,
        }
    }

    /// Takes the addresses of this end after its network changed. A router before the peer may let in nobody whose address the peer
    /// does not know.
    pub(super) fn change_addresses(&mut self, candidates: &[Candidate]) {
        self.candidates = candidates.to_vec();
        self.left = 0;
    }

    /// Returns the words that both ends show, once the connection is encrypted.
    pub(super) fn words(&self) -> Option<&str> {
        self.words.as_deref()
    }

    /// Returns true once the connection is encrypted, for as long as the peer has not left.
    pub(super) fn is_connected(&self) -> bool {
        self.is_connected
    }

    /// Returns true if browsers join, and none is there.
    pub(super) fn has_no_browser(&self) -> bool {
        self.peer == PeerKind::Browser && !self.is_connected
    }

    /// Takes what happened; returns the lines for a person.
    pub(super) fn poll(
        &mut self,
        now: Instant,
        events: impl IntoIterator<Item = SecureEvent>,
    ) -> Vec<PeerLine> {
        let lines = events.into_iter().filter_map(|event| self.follow(event));
        let mut lines: Vec<_> = lines.collect();
        let waited = now.saturating_since(self.since);
        let is_due = self.has_gathered || waited >= ANSWER_TIMEOUT;
        if let Some(invitation) = self.invitation.take_if(|_| is_due) {
            let invitation = invitation.at(&self.candidates);
            lines.push(PeerLine::Invitation(Box::new(invitation)));
        }
        if let Some(Join { addresses, .. }) = self.join.take_if(|join| join.timeout <= waited) {
            let why = match self.peer {
                PeerKind::MediaServer => format!(
                    "the media server does not answer by UDP at {addresses}: a firewall blocks UDP, or the server announces addresses that \
                     cannot be reached from here; check its public address and UDP ports"
                ),
                _ => format!(
                    "nobody answers at {addresses}: the inviting run has ended or already has a peer, or a firewall blocks UDP; \
                     ask for a new invitation"
                ),
            };
            lines.push(PeerLine::Lost(Failure::runtime(why)));
        }
        if self.is_signalled && is_due && self.left < self.candidates.len() {
            self.left = self.candidates.len();
            lines.push(PeerLine::Reply(Reply(self.candidates.clone())));
        }
        let patience = if self.is_signalled {
            RENDEZVOUS_TIMEOUT
        } else {
            ANSWER_TIMEOUT
        };
        let takes_reply = self.join.is_some() && self.peer == PeerKind::Evenkeel;
        if takes_reply && waited >= patience && !self.is_reply_said {
            self.is_reply_said = true;
            lines.push(PeerLine::Note(format!(
                "no answer yet; if the other end is behind a router, paste this line into its terminal: {}",
                Reply(self.candidates.clone())
            )));
        }
        lines
    }

    fn follow(&mut self, event: SecureEvent) -> Option<PeerLine> {
        match event {
            SecureEvent::Secured(_) if self.peer == PeerKind::Browser => {
                self.is_connected = true;
                let line = "a browser has joined, and the connection is encrypted";
                Some(PeerLine::Encrypted(line.into()))
            }
            SecureEvent::Closed if self.peer == PeerKind::Browser => {
                let line = if std::mem::take(&mut self.is_connected) {
                    "the browser has left; the next one may join"
                } else {
                    "a browser did not connect; the next one may join"
                };
                Some(PeerLine::Note(line.into()))
            }
            SecureEvent::Failed(error) if self.peer == PeerKind::Browser => {
                self.is_connected = false;
                Some(PeerLine::Warning(format!(
                    "a browser did not join, because its connection was not encrypted: {error}"
                )))
            }
            SecureEvent::Secured(_) if self.peer == PeerKind::MediaServer => {
                (self.join, self.is_connected) = (None, true);
                let line = "encrypted as far as the media server, which sees the pictures";
                Some(PeerLine::Encrypted(line.into()))
            }
            SecureEvent::Failed(error) if self.peer == PeerKind::MediaServer => {
                Some(PeerLine::Lost(Failure::runtime(format!(
                    "the connection to the media server is not encrypted, and nothing is sent: {error}"
                ))))
            }
            SecureEvent::Closed if self.peer == PeerKind::MediaServer => {
                let line = "the media server has ended the session";
                Some(PeerLine::Lost(Failure::runtime(line)))
            }
            SecureEvent::LocalCandidate(candidate) => {
                // What was found is reported again to each browser that joins.
                if !self.candidates.contains(&candidate) {
                    self.candidates.insert(0, candidate);
                }
                None
            }
            SecureEvent::Gathered => {
                self.has_gathered = true;
                None
            }
            SecureEvent::NoRelay(server) => Some(PeerLine::Warning(format!(
                "the relay {server} does not answer or refuses (--ice-server): check its address, user and password"
            ))),
            SecureEvent::Secured(words) => {
                self.join = None;
                let line = format!(
                    "encrypted; compare these words with the other end's, and hang up if they differ: {words}"
                );
                self.words = Some(words.to_string());
                self.is_connected = true;
                Some(PeerLine::Encrypted(line))
            }
            SecureEvent::PeerAddress(address) => {
                self.is_reply_said = true;
                Some(PeerLine::Note(format!("the peer is at {address}")))
            }
            SecureEvent::Disconnected if self.is_connected => Some(PeerLine::Warning(
                "the peer does not answer; still trying each of its addresses".into(),
            )),
            SecureEvent::Failed(error) if self.invites && self.words.is_none() => {
                Some(PeerLine::Warning(format!(
                    "a joiner failed to prove that it has the invitation and was dropped: {error}; the invitation is still valid"
                )))
            }
            SecureEvent::Failed(error) => Some(PeerLine::Lost(Failure::runtime(format!(
                "the connection is not encrypted, and nothing is sent: {error}; an invitation serves one joiner, once: if it was \
                 used before, ask for a new one"
            )))),
            SecureEvent::Closed => Some(PeerLine::Left(
                "the other end has left; an invitation serves one joiner, once: start the inviting end again for a new one"
                    .into(),
            )),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddr;
    use std::time::UNIX_EPOCH;

    use evenkeel_secure::dtls::DtlsError;
    use evenkeel_secure::identity::Identity;
    use evenkeel_secure::invitation::Purpose;

    fn inviter() -> PeerWatch {
        let identity = Identity::generate(UNIX_EPOCH + Duration::from_secs(1_800_000_000));
        let identity = identity.expect("random numbers");
        let invitation = Invitation::new(Purpose::Call, &identity).expect("random numbers");
        let mut encrypted = Encrypted {
            config: invitation.for_inviter(identity, Vec::new()).expect("a key"),
            invitation: Some(invitation),
            join: None,
            signalling: None,
            peer: PeerKind::Evenkeel,
        };
        PeerWatch::new(Instant::ZERO, &mut encrypted)
    }

    fn address(host: u8) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, host], 5_004))
    }

    /// Returns the addresses of the invitation that the watch gives out now, if it does.
    fn invited(
        watch: &mut PeerWatch,
        at: Duration,
        event: Option<SecureEvent>,
    ) -> Option<Vec<SocketAddr>> {
        let lines = watch.poll(Instant::ZERO + at, event);
        lines.into_iter().find_map(|line| match line {
            PeerLine::Invitation(invitation) => Some(invitation.addresses().collect()),
            _ => None,
        })
    }

    /// A relay gives two addresses, and the second one takes longer.
    #[test]
    fn invitation_waits_for_all_addresses_of_a_server() {
        let found = [
            Candidate::server_reflexive(address(1), address(9), "udp"),
            Candidate::relayed(address(2), address(9), "udp"),
        ];
        let found = found.map(|found| SecureEvent::LocalCandidate(found.expect("an address")));
        let [reflexive, relayed] = found;
        let mut watch = inviter();
        let soon = Duration::from_millis(100);
        assert_eq!(invited(&mut watch, soon, Some(reflexive.clone())), None);
        assert_eq!(invited(&mut watch, 2 * soon, Some(relayed)), None);
        let gathered = invited(&mut watch, 3 * soon, Some(SecureEvent::Gathered));
        assert_eq!(gathered, Some(vec![address(2), address(1)]));
        // A server that does not answer holds nobody up.
        let mut watch = inviter();
        assert_eq!(invited(&mut watch, soon, Some(reflexive)), None);
        let late = invited(&mut watch, ANSWER_TIMEOUT, None);
        assert_eq!(late, Some(vec![address(1)]));
    }

    #[test]
    fn inviter_goes_on_after_a_failed_joiner() {
        let failed = || SecureEvent::Failed(DtlsError::NoProfile);
        let mut watch = inviter();
        let lines = watch.poll(Instant::ZERO, [failed()]);
        assert!(matches!(lines[..], [PeerLine::Warning(_)]));
        watch.invites = false;
        let lines = watch.poll(Instant::ZERO, [failed()]);
        assert!(matches!(lines[..], [PeerLine::Lost(_)]));
    }

    #[test]
    fn person_hears_that_the_peer_left() {
        let lines = inviter().poll(Instant::ZERO, [SecureEvent::Closed]);
        assert!(matches!(&lines[..], [PeerLine::Left(text)] if text.contains("new one")));
    }
}
