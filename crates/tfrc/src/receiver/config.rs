//! The configuration of a receiver.

use crate::Standard;
use crate::config_error::TfrcConfigError;
use crate::loss::{Average, Past};

/// How a receiver behaves.
#[derive(Clone, Debug)]
pub struct ReceiverConfig {
    /// History discounting (RFC 5348 §5.5). On by default.
    pub discounting: bool,
    /// Waits for packets as long as those that came late before, one round trip at most, before it calls
    /// them lost: reordering is then not taken for congestion. Where nothing comes late nothing changes.
    /// Off by default: RFC 5348 §5.1 calls a packet lost at the third arrival above it.
    pub reordering: bool,
    /// How loss intervals make p. RFC 5348's by default; the others are for comparison.
    pub average: Average,
    /// TFRC-SP, the variant for small packets (RFC 4828 §3): every loss counts in an interval of two
    /// round trips at most, and the current interval does not while it is as short. Off by default.
    pub small_packets: bool,
    /// Quarters of a round trip from a report to the next: 4 by default, as RFC 5348 §6.1 has it. Others are
    /// for comparison. At least 1.
    pub report_quarters: u32,
    /// The edition of the standard. RFC 5348 by default.
    pub standard: Standard,
    /// What a receiver in its place knew before it. Nothing by default.
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
