//! Keyframes: asking the peer for one, and being asked.

use std::time::Duration;

use tfrc::time::Instant;

use crate::packet::rtcp::KeyframeRequest;

/// A request is repeated after this long while no round-trip time is known.
const UNKNOWN_RTT: Duration = Duration::from_millis(200);

/// The keyframe that we ask the peer for, and the last that the peer asked for.
#[derive(Debug, Default)]
pub(in crate::session) struct Keyframes {
    /// Since when a request waits to be sent.
    wanted: Option<Instant>,
    /// When the last one was sent.
    asked: Option<Instant>,
    /// The number of the last full intra request that came.
    number: Option<u8>,
}

impl Keyframes {
    /// Wants a keyframe, at most once a round trip: the one asked for last may be on its way.
    pub(in crate::session) fn want(&mut self, now: Instant, rtt: Option<Duration>) {
        let rtt = rtt.unwrap_or(UNKNOWN_RTT);
        let recent = |asked: Instant| now.saturating_since(asked) < rtt;
        if self.wanted.is_none() && !self.asked.is_some_and(recent) {
            self.wanted = Some(now);
        }
    }

    /// Since when a request waits to be sent.
    pub(in crate::session) fn wanted(&self) -> Option<Instant> {
        self.wanted
    }

    /// A request leaves.
    pub(in crate::session) fn handle_sent(&mut self, now: Instant) {
        self.wanted = None;
        self.asked = Some(now);
    }

    /// True if a request of the peer's is new. The same number is the same request (RFC 5104 §4.3.1.1).
    pub(in crate::session) fn is_new(&mut self, request: KeyframeRequest) -> bool {
        match request {
            KeyframeRequest::FullIntra { number } => self.number.replace(number) != Some(number),
            KeyframeRequest::PictureLoss => true,
        }
    }
}
