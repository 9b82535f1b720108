//! Records departures, and whether the receiver still answers.

use tfrc::time::{Duration, Instant};

/// The age of a packet beyond which feedback about it is not believed. The 24 bits of the round-trip time hold as
/// much.
const MAX_ECHO_AGE: Duration = Duration::from_secs(16);

/// The departures of media, and the time without an answer.
#[derive(Debug, Default)]
pub(super) struct Liveness {
    first_departure: Option<Instant>,
    last_departure: Option<Instant>,
    /// The first departure of media to the present receiver.
    pub(super) started: Option<Instant>,
    /// The first departure since the last feedback.
    waiting_since: Option<Instant>,
    gave_up: bool,
}

impl Liveness {
    /// Returns true before the first packet, and records its departure.
    pub(super) fn is_first(&mut self, now: Instant) -> bool {
        let is_first = self.first_departure.is_none();
        self.first_departure.get_or_insert(now);
        is_first
    }

    /// Records that a packet leaves.
    pub(super) fn handle_sent(&mut self, now: Instant) {
        self.last_departure = Some(now);
        self.waiting_since.get_or_insert(now);
    }

    /// Records an answer of the receiver.
    pub(super) fn handle_answer(&mut self) {
        self.waiting_since = None;
    }

    /// Resumes media for a receiver that is back after media had stopped.
    pub(super) fn resume(&mut self) {
        self.gave_up = false;
        self.waiting_since = None;
    }

    /// Returns when the last media packet left.
    pub(super) fn last_departure(&self) -> Option<Instant> {
        self.last_departure
    }

    /// Returns true once media has been given up.
    pub(super) fn has_given_up(&self) -> bool {
        self.gave_up
    }

    /// Gives media up.
    pub(super) fn give_up(&mut self) {
        self.gave_up = true;
    }

    /// Returns when the wait for an answer exceeds `patience`, if there is a wait.
    pub(super) fn expiry(&self, patience: Duration) -> Option<Instant> {
        self.waiting_since.map(|since| since + patience)
    }

    /// Returns true while media flows.
    pub(super) fn is_running(&self) -> bool {
        self.last_departure.is_some() && !self.gave_up
    }

    /// Returns when a packet left whose send time was `timestamp`, microseconds modulo 2^32: the latest such
    /// instant that is not after `now`. Returns `None` unless media left at about that time.
    pub(super) fn departure_of(&self, now: Instant, timestamp: u32) -> Option<Instant> {
        let age = (now.as_micros() as u32).wrapping_sub(timestamp);
        let sent_at = Instant::from_micros(now.as_micros().checked_sub(age.into())?);
        let in_time = Duration::from_micros(age.into()) <= MAX_ECHO_AGE;
        let (first, last) = (self.first_departure?, self.last_departure?);
        let is_ours = first.as_micros() <= sent_at.as_micros() && sent_at <= last;
        (in_time && is_ours).then_some(sent_at)
    }
}
