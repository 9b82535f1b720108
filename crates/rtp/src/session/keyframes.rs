//! Keyframes: asking the peer for one, and being asked.

use std::time::Duration;

use tfrc::time::Instant;

use super::Session;
use super::event::EventKind;
use super::rtcp_timer::LOWER_LAYERS;
use crate::packet::rtcp::{Feedback, KeyframeRequest};

/// A request is repeated after this long while no round-trip time is known.
const UNKNOWN_RTT: Duration = Duration::from_millis(200);

/// What is asked for, and what was.
#[derive(Debug, Default)]
pub(super) struct Keyframes {
    /// Since when a request waits to be sent.
    wanted: Option<Instant>,
    /// When the last one was sent.
    asked: Option<Instant>,
    /// The number of the last full intra request that came.
    number: Option<u8>,
}

impl Session {
    /// Asks the peer for a keyframe, at most once a round trip: what was asked for may be on its way.
    /// Call it for as long as one is needed.
    pub fn request_keyframe(&mut self, now: Instant) {
        let now = self.advance(now);
        let Some(inbound) = &self.inbound else { return };
        let rtt = inbound.reporter().round_trip_time().unwrap_or(UNKNOWN_RTT);
        let recent = |asked: Instant| now.saturating_since(asked) < rtt;
        if self.keyframes.wanted.is_none() && !self.keyframes.asked.is_some_and(recent) {
            self.keyframes.wanted = Some(now);
        }
    }

    /// When a request may leave: now, or when the budget allows.
    pub(super) fn keyframe_due(&self) -> Option<Instant> {
        let wanted = self.keyframes.wanted?;
        let len = self.compound_len() + KeyframeRequest::PICTURE_LOSS_LEN;
        let possible = self.peer.is_present() && self.peer.allows(len);
        let cost = KeyframeRequest::PICTURE_LOSS_LEN + LOWER_LAYERS;
        possible.then(|| wanted.max(self.budget.ready(cost)))
    }

    /// True if a request is due; it is paid for then.
    pub(super) fn take_keyframe_request(&mut self, now: Instant) -> bool {
        let cost = KeyframeRequest::PICTURE_LOSS_LEN + LOWER_LAYERS;
        let due = self.keyframe_due().is_some_and(|due| due <= now);
        if !due || !self.budget.spend(now, cost) {
            return false;
        }
        self.keyframes.wanted = None;
        self.keyframes.asked = Some(now);
        true
    }

    pub(super) fn write_keyframe_request(&self, buf: &mut [u8]) -> Option<usize> {
        let media_ssrc = self.inbound.as_ref()?.ssrc();
        KeyframeRequest::PictureLoss.emit(self.ssrc, media_ssrc, buf)
    }

    /// The peer may have asked for a keyframe of ours.
    pub(super) fn handle_payload_feedback(&mut self, author: u32, feedback: &Feedback<'_>) {
        let request = KeyframeRequest::find(feedback, self.ssrc);
        let Some(request) = request.filter(|_| feedback.sender_ssrc == author) else {
            return;
        };
        if let KeyframeRequest::FullIntra { number } = request {
            // RFC 5104 §4.3.1.1: the same number is the same request.
            if self.keyframes.number.replace(number) == Some(number) {
                return;
            }
        }
        self.emit(EventKind::KeyframeRequested);
    }
}
