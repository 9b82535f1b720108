//! The contract of an end that runs the rate controller of another project.

use crate::agent::Agent;
use crate::body::Body;
use crate::frame_log::FrameLog;
use core::fmt;

/// An end of a flow that runs a rate controller of others, of this crate or of another one.
pub trait PeerEnd: Agent<Body = Body> + fmt::Debug {
    /// The frames that this end receives; `None` for the end that sends.
    fn frames(&self) -> Option<&FrameLog>;
}
