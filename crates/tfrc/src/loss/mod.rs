//! From arrivals to the loss event rate *p* (RFC 5348 §5).
//!
//! ```text
//! arrival ──► History ──► lost packets ──► Intervals ──► p
//!             §5.1        §5.2             §5.3-5.5
//! ```

mod average;
mod estimator;
mod history;
mod interval;
mod past;
mod reordering;
mod ring;
mod tolerance;

pub use average::{Average, MAX_INTERVALS, Weights};
pub use estimator::{Arrived, LossEstimator};
pub use past::{MAX_PAST, Past};
pub(crate) use tolerance::MAX_RATIO;
