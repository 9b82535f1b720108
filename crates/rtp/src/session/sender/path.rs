//! The sender's present rates.

use std::time::Duration;

use tfrc::units::{LossEventRate, Rate};

use super::rate_source::RateSource;

/// The rates and the state of the path at the sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Path {
    /// The allowed rate *X*; the fixed rate where TFRC is off.
    pub allowed_rate: Rate,
    /// The rate *X_inst* of departures (RFC 5348 §4.5).
    pub instantaneous_rate: Rate,
    /// The filtered round-trip time *R*, once one is known.
    pub rtt: Option<Duration>,
    /// The loss event rate *p* as last reported.
    pub loss_event_rate: LossEventRate,
    /// The receive rate *X_recv* as last reported.
    pub receive_rate: Rate,
    /// The source of the allowed rate.
    pub rate_source: RateSource,
}
