//! The decisions of the sender and their reasons, as values for the log, the plots and the tests.

use core::time::Duration;

use crate::time::Instant;
use crate::units::{LossEventRate, Rate};

/// One decision about the rate.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Trace {
    /// The sender handled a report (RFC 5348 §4.3).
    Feedback {
        /// X, the allowed rate, from now on.
        allowed_rate: Rate,
        /// X_inst, the rate of departures, from now on.
        instantaneous_rate: Rate,
        /// The bound that holds X.
        bound: Bound,
        /// R, the smoothed round-trip time.
        rtt: Duration,
        /// R_sample, the round-trip time that this report measured.
        rtt_sample: Duration,
        /// The departure of the packet that gave R_sample.
        sent_at: Instant,
        /// X_recv, the receive rate, as reported.
        receive_rate: Rate,
        /// p, the loss event rate, as reported.
        loss_event_rate: LossEventRate,
        /// The report covers only time in which the sender sent less than X allowed.
        data_limited: bool,
    },
    /// The nofeedback timer expired (RFC 5348 §4.4).
    NoFeedback {
        /// The branch of §4.4 that applied.
        branch: Branch,
        /// X, the allowed rate, from now on.
        allowed_rate: Rate,
        /// The timer's next interval.
        interval: Duration,
    },
}

/// The bound that holds the allowed rate (RFC 5348 §4.2, §4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Bound {
    /// No report yet: one packet a second.
    Unknown,
    /// The initial rate, W_init / R.
    Initial,
    /// Slow start: the rate was doubled, or waits to be.
    SlowStart,
    /// The receive rate, by recv_limit.
    ReceiveRate,
    /// The throughput equation.
    Equation,
    /// The rate that the application can use ([`Sender::set_ceiling`](crate::Sender::set_ceiling)).
    Application,
    /// The least rate, one packet in 64 s.
    Floor,
}

/// The branches of RFC 5348 §4.4, in the order of its pseudocode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Branch {
    /// No round-trip time yet: X is halved.
    BeforeFirstReport,
    /// The sender was idle and is already slow: nothing changes.
    Idle,
    /// No loss yet: X is halved.
    WithoutLoss,
    /// X_recv bound the rate: X_recv is halved.
    ReceiveRateHalved,
    /// The equation bound the rate: half of its rate is allowed.
    EquationHalved,
}
