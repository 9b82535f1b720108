//! RTCP of one end: incoming packets, and the times and content of outgoing ones.

mod incoming;
mod keyframe_requests;
pub(in crate::session) mod keyframes;
mod outgoing;
mod reports;
pub(in crate::session) mod sent_reports;
pub(in crate::session) mod timer;
