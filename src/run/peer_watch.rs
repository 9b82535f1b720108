//! Turns the events of an encrypted connection into lines for a person.

use evenkeel_secure::endpoint::{Candidate, SecureEvent};
use evenkeel_secure::invitation::{Invitation, Reply};
use tfrc::time::{Duration, Instant};

use crate::failure::Failure;
use crate::meeting::{Encrypted, Join};

/// The time allowed for an answer of a server or the inviter: a first check and two retransmissions (RFC 8489 §6.2.1).
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// A change of the connection, for a person.
pub(super) enum PeerLine {
    /// A line that is good to know.
    Note(String),
    /// The line by which the other end joins.
    Invitation(Box<Invitation>),
    /// The peer has come, and the connection is encrypted.
    Encrypted(String),
    /// A line about something wrong.
    Warning(String),
    /// The reason for which the run ends.
    Lost(Failure),
}

/// The state of an encrypted connection.
pub(super) struct PeerWatch {
    since: Instant,
    /// The local candidates, server-reflexive and relayed ones first.
    candidates: Vec<Candidate>,
    /// The number of servers that have not answered.
    silent_servers: usize,
    /// The invitation, until it is said.
    invitation: Option<Invitation>,
    /// What an end that was invited waits for, until the inviter answers.
    join: Option<Join>,
    is_reply_said: bool,
    words: Option<String>,
    /// True if browsers join, which show no words.
    is_for_browsers: bool,
    is_connected: bool,
}

impl PeerWatch {
    /// Creates the watch of a connection that is to be encrypted.
    pub(super) fn new(now: Instant, encrypted: &mut Encrypted) -> Self {
        Self {
            since: now,
            candidates: encrypted.config.candidates.clone(),
            silent_servers: encrypted.config.servers.len(),
            invitation: encrypted.invitation.take(),
            join: encrypted.join.take(),
            is_reply_said: false,
            words: None,
            is_for_browsers: encrypted.is_for_browsers,
            is_connected: false,
        }
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
        self.is_for_browsers && !self.is_connected
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
        let is_due = self.silent_servers == 0 || waited >= ANSWER_TIMEOUT;
        if let Some(invitation) = self.invitation.take_if(|_| is_due) {
            let invitation = invitation.at(&self.candidates);
            lines.push(PeerLine::Invitation(Box::new(invitation)));
        }
        if let Some(Join { addresses, .. }) = self.join.take_if(|join| join.timeout <= waited) {
            lines.push(PeerLine::Lost(Failure::runtime(format!(
                "nobody answers at {addresses}: the invitation is of a run that has ended or has its peer, or UDP does not pass; \
                 ask for a new one"
            ))));
        }
        if self.join.is_some() && waited >= ANSWER_TIMEOUT && !self.is_reply_said {
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
            SecureEvent::Secured(_) if self.is_for_browsers => {
                self.is_connected = true;
                let line = "a browser has joined, and the connection is encrypted";
                Some(PeerLine::Encrypted(line.into()))
            }
            SecureEvent::Closed if self.is_for_browsers => {
                self.is_connected = false;
                let line = "the browser has left; the next one may join";
                Some(PeerLine::Note(line.into()))
            }
            SecureEvent::Failed(error) if self.is_for_browsers => Some(PeerLine::Warning(format!(
                "a browser did not join, because its connection was not encrypted: {error}"
            ))),
            SecureEvent::LocalCandidate(candidate) => {
                self.candidates.insert(0, candidate);
                self.silent_servers = self.silent_servers.saturating_sub(1);
                None
            }
            SecureEvent::NoRelay(server) => Some(PeerLine::Warning(format!(
                "the relay {server} does not answer or refuses (--ice-server): check its address, user and password"
            ))),
            SecureEvent::Secured(words) => {
                self.join = None;
                let line = format!(
                    "encrypted; nobody listens if the other end shows the same words: {words}"
                );
                self.words = Some(words.to_string());
                self.is_connected = true;
                Some(PeerLine::Encrypted(line))
            }
            SecureEvent::PeerAddress(address) => {
                self.is_reply_said = true;
                Some(PeerLine::Note(format!("the peer is at {address}")))
            }
            SecureEvent::Disconnected if self.words.is_some() => Some(PeerLine::Warning(
                "the peer does not answer: it is looked for on, at each of its addresses".into(),
            )),
            SecureEvent::Failed(error) => Some(PeerLine::Lost(Failure::runtime(format!(
                "the connection is not encrypted, and nothing is sent: {error}"
            )))),
            _ => None,
        }
    }
}
