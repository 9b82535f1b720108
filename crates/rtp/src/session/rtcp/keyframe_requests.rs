//! Requests for a keyframe, from us and from the peer.

use tfrc::time::Instant;

use super::timer::LOWER_LAYERS;
use crate::packet::rtcp::{Feedback, KeyframeRequest};
use crate::session::Session;
use crate::session::event::EventKind;

impl Session {
    /// Requests a keyframe from the peer, at most once a round trip, because the keyframe may be on its way. Call
    /// this for as long as one is needed.
    pub fn request_keyframe(&mut self, now: Instant) {
        let now = self.advance(now);
        let Some(inbound) = &self.inbound else { return };
        self.keyframes
            .want(now, inbound.reporter().round_trip_time());
    }

    /// Returns when a request may leave: now, or when the budget permits.
    pub(in crate::session) fn keyframe_due(&self) -> Option<Instant> {
        let wanted = self.keyframes.wanted()?;
        let len = self.compound_len() + KeyframeRequest::PICTURE_LOSS_LEN;
        let possible = self.peer.is_present() && self.peer.allows(len);
        let cost = KeyframeRequest::PICTURE_LOSS_LEN + LOWER_LAYERS;
        possible.then(|| wanted.max(self.budget.ready(cost)))
    }

    /// Returns true if a request is due, and charges the budget for it.
    pub(in crate::session) fn take_keyframe_request(&mut self, now: Instant) -> bool {
        let cost = KeyframeRequest::PICTURE_LOSS_LEN + LOWER_LAYERS;
        let due = self.keyframe_due().is_some_and(|due| due <= now);
        if !due || !self.budget.spend(now, cost) {
            return false;
        }
        self.keyframes.handle_sent(now);
        true
    }

    pub(in crate::session) fn write_keyframe_request(&self, buf: &mut [u8]) -> Option<usize> {
        let media_ssrc = self.inbound.as_ref()?.ssrc();
        KeyframeRequest::PictureLoss.emit(self.ssrc, media_ssrc, buf)
    }

    /// Handles a possible request of the peer for a keyframe, whichever of its sources wrote the request.
    pub(in crate::session) fn handle_payload_feedback(&mut self, feedback: &Feedback<'_>) {
        let Some(request) = KeyframeRequest::find(feedback, self.ssrc) else {
            return;
        };
        if self.keyframes.is_new(request) {
            self.emit(EventKind::KeyframeRequested);
        }
    }
}
