//! Follows an encrypted connection: who the peer is, whether it answers, and why a connection fails.

use evenkeel_secure::endpoint::SecureEvent;
use tfrc::time::{Duration, Instant};

use crate::failure::Failure;
use crate::meeting::Join;

/// The time after which a joiner says its reply: ICE's first check and two repetitions were not answered (RFC 8489 §6.2.1).
const REPLY_AFTER: Duration = Duration::from_secs(2);

/// A change of the connection, for a person.
#[derive(Debug)]
pub(super) enum PeerLine {
    /// A line that is good to know.
    Note(String),
    /// The peer has come, and the connection is encrypted.
    Encrypted(String),
    /// A line about something wrong.
    Warning(String),
    /// The reason for which the run ends.
    Lost(Failure),
}

/// The state of an encrypted connection.
#[derive(Debug, Default)]
pub(super) struct PeerWatch {
    is_encrypted: bool,
    since: Instant,
    /// What an end that was invited waits for.
    join: Option<Join>,
    is_reply_said: bool,
    words: Option<String>,
}

impl PeerWatch {
    /// Creates the watch of an encrypted connection.
    pub(super) fn new(now: Instant, join: Option<Join>) -> Self {
        Self {
            is_encrypted: true,
            since: now,
            join,
            ..Self::default()
        }
    }

    /// Returns true if nothing is encrypted, so that nobody is waited for.
    pub(super) fn is_plain(&self) -> bool {
        !self.is_encrypted
    }

    /// Returns the words that both ends show, once the connection is encrypted.
    pub(super) fn words(&self) -> Option<&str> {
        self.words.as_deref()
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
        if let Some(Join { addresses, .. }) = self.join.take_if(|join| join.timeout <= waited) {
            lines.push(PeerLine::Lost(Failure::runtime(format!(
                "nobody answers at {addresses}: the invitation is of a run that has ended or has its peer, or UDP does not pass; \
                 ask for a new one"
            ))));
        }
        if let Some(Join { reply, .. }) = &self.join
            && waited >= REPLY_AFTER
            && !self.is_reply_said
        {
            self.is_reply_said = true;
            lines.push(PeerLine::Note(format!(
                "no answer yet; if the other end is behind a router, paste this line into its terminal: {reply}"
            )));
        }
        lines
    }

    fn follow(&mut self, event: SecureEvent) -> Option<PeerLine> {
        match event {
            SecureEvent::Secured(words) => {
                self.join = None;
                let line = format!(
                    "encrypted; nobody listens if the other end shows the same words: {words}"
                );
                self.words = Some(words.to_string());
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
