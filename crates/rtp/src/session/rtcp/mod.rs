//! RTCP of one end: what arrives, and what leaves when.

mod incoming;
mod keyframe_requests;
pub(in crate::session) mod keyframes;
mod outgoing;
mod reports;
pub(in crate::session) mod sent_reports;
pub(in crate::session) mod timer;
