//! The media that leaves, its rate, and the feedback that sets the rate.
//!
//! Feedback runs straight through these files: [`sent_history`] holds the packets that a report answers, `feedback`
//! hands the result to TFRC in [`sending_rate`], and [`path_sample`] keeps the same measurement for the path model.

mod breakers;
mod departure;
mod fallback;
mod feedback;
mod feedback_state;
mod host_memory;
mod hosts;
mod inheritance;
mod lie;
mod liveness;
mod not_sent;
mod numbering;
pub(in crate::session) mod outbound;
mod path;
mod path_sample;
mod rate_source;
mod receiver_traps;
mod reception;
mod sending_rate;
pub(in crate::session) mod sent_history;
mod sent_media;
mod without_feedback;

pub use lie::Lie;
pub use not_sent::NotSent;
pub use path::Path;
pub use path_sample::{PathSample, PathSignal};
pub use rate_source::{Breach, RateSource};
