//! Keyframe requests of both ends: their repetition, and their duplicates.

use std::time::Duration;

use tfrc::time::Instant;

use crate::packet::rtcp::KeyframeRequest;

/// The time after which a request is repeated while no round-trip time is known.
const UNKNOWN_RTT: Duration = Duration::from_millis(200);

/// The state of our request for a keyframe, and of the peer's last one.
#[derive(Debug, Default)]
pub(in crate::session) struct Keyframes {
    /// The time since which a request has waited to be sent.
    wanted: Option<Instant>,
    /// The time at which the last request was sent.
    asked: Option<Instant>,
    /// The number of the last full intra request that arrived.
    number: Option<u8>,
}

impl Keyframes {
    /// Requests a keyframe, at most once a round trip, because the last one may be on its way.
    pub(in crate::session) fn want(&mut self, now: Instant, rtt: Option<Duration>) {
        let rtt = rtt.unwrap_or(UNKNOWN_RTT);
        let recent = |asked: Instant| now.saturating_since(asked) < rtt;
        if self.wanted.is_none() && !self.asked.is_some_and(recent) {
            self.wanted = Some(now);
        }
    }

    /// Returns the time since which a request has waited to be sent.
    pub(in crate::session) fn wanted(&self) -> Option<Instant> {
        self.wanted
    }

    /// Records that a request left.
    pub(in crate::session) fn handle_sent(&mut self, now: Instant) {
        self.wanted = None;
        self.asked = Some(now);
    }

    /// Returns true if a request of the peer is new. The same number means the same request (RFC 5104 §4.3.1.1).
    pub(in crate::session) fn is_new(&mut self, request: KeyframeRequest) -> bool {
        match request {
            KeyframeRequest::FullIntra { number } => self.number.replace(number) != Some(number),
            KeyframeRequest::PictureLoss => true,
        }
    }
}
