//! The configuration of a receiver.

use crate::Standard;
use crate::config_error::TfrcConfigError;
use crate::loss::{Average, Past};

/// The configuration of a receiver.
#[derive(Clone, Debug)]
pub struct ReceiverConfig {
    /// History discounting (RFC 5348 §5.5). On by default.
    pub discounting: bool,
    /// Waits for a missing packet as long as earlier packets were late, at most one round trip, before it counts as
    /// lost. Reordering is then not taken for congestion, and nothing changes where no packet is late. Off by
    /// default: RFC 5348 §5.1 calls a packet lost at the third arrival above it.
    pub reordering: bool,
    /// The method that computes p from loss intervals. The method of RFC 5348 by default; the others are for
    /// comparison.
    pub average: Average,
    /// TFRC-SP, the variant for small packets (RFC 4828 §3): every loss counts in an interval of at most two round
    /// trips, and the current interval does not count while it is as short. Off by default.
    pub small_packets: bool,
    /// The time between reports in quarters of a round trip, at least 1. 4 by default (RFC 5348 §6.1); other values
    /// are for comparison.
    pub report_quarters: u32,
    /// The edition of the standard. RFC 5348 by default.
    pub standard: Standard,
    /// The loss intervals of an earlier receiver at the same place. None by default.
    pub past: Past,
}

impl Default for ReceiverConfig {
    fn default() -> Self {
        Self {
            discounting: true,
            reordering: false,
            average: Average::default(),
            small_packets: false,
            report_quarters: 4,
            standard: Standard::default(),
            past: Past::NONE,
        }
    }
}

impl ReceiverConfig {
    /// Checks the ranges that [`Receiver::new`](super::Receiver::new) and
    /// [`LossEstimator::new`](crate::loss::LossEstimator::new) demand.
    ///
    /// # Errors
    ///
    /// Names the first field that is out of its range.
    pub fn validate(&self) -> Result<(), TfrcConfigError> {
        let quarters = self.report_quarters;
        TfrcConfigError::unless(
            quarters > 0,
            "report_quarters",
            quarters.into(),
            "1 or more",
        )?;
        self.average.validate()
    }
}
