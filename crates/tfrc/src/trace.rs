//! What the sender decided and why, as values: the log, the plots and the tests read these.

use core::time::Duration;

use crate::time::Instant;
use crate::units::{LossEventRate, Rate};

/// One decision about the rate.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Trace {
    /// A report was taken in (RFC 5348 §4.3).
    Feedback {
        /// X, the allowed rate, from now on.
        allowed_rate: Rate,
        /// X_inst, the rate of departures, from now on.
        instantaneous_rate: Rate,
        /// What X is held by.
        bound: Bound,
        /// R, the smoothed round-trip time.
        rtt: Duration,
        /// R_sample, the round-trip time that this report measured.
        rtt_sample: Duration,
        /// When the packet left that it was measured with.
        sent_at: Instant,
        /// X_recv, the receive rate, as reported.
        receive_rate: Rate,
        /// p, the loss event rate, as reported.
        loss_event_rate: LossEventRate,
        /// The report covers only time in which less was sent than allowed.
        data_limited: bool,
    },
    /// The nofeedback timer expired (RFC 5348 §4.4).
    NoFeedback {
        /// What was done.
        branch: Branch,
        /// X, the allowed rate, from now on.
        allowed_rate: Rate,
        /// The timer's next interval.
        interval: Duration,
    },
}

/// What holds the allowed rate where it is (RFC 5348 §4.2, §4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Bound {
    /// No report yet: one packet a second.
    Unknown,
    /// W_init / R.
    Initial,
    /// Slow start: doubled, or waiting to be.
    SlowStart,
    /// What the receiver saw, recv_limit.
    ReceiveRate,
    /// The throughput equation.
    Equation,
    /// What the application can use ([`Sender::set_ceiling`](crate::Sender::set_ceiling)).
    Application,
    /// One packet in 64 s.
    Floor,
}

/// The branches of RFC 5348 §4.4, in the order of its pseudocode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Branch {
    /// No round-trip time yet: X is halved.
    BeforeFirstReport,
    /// Idle all the while and slow already: nothing is done.
    Idle,
    /// No loss yet: X is halved.
    WithoutLoss,
    /// X_recv bound the rate: it is halved.
    ReceiveRateHalved,
    /// The equation bound the rate: half of it is allowed.
    EquationHalved,
}
