//! What TFRC's standard has had in two editions, or leaves to the sender, as experiments name it.

use serde::Deserialize;
use tfrc::{RetransmissionTimeout, Standard};

/// [`Standard`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Edition {
    /// Of 2003.
    Rfc3448,
    /// Of 2008.
    #[default]
    Rfc5348,
}

impl Edition {
    /// As the core names it.
    pub(crate) fn standard(self) -> Standard {
        match self {
            Self::Rfc3448 => Standard::Rfc3448,
            Self::Rfc5348 => Standard::Rfc5348,
        }
    }
}

/// [`RetransmissionTimeout`]: t_RTO in the throughput equation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Timeout {
    /// 4R, as RFC 5348 §3.1 has it.
    #[default]
    #[serde(rename = "4R")]
    FourRoundTrips,
    /// max(4R, 1 s): a TCP whose timer is coarse.
    #[serde(rename = "at-least-1s")]
    AtLeastASecond,
    /// SRTT + 4·RTTVAR, at least 1 s.
    #[serde(rename = "rfc6298")]
    Rfc6298,
}

impl Timeout {
    /// As the core names it.
    pub(super) fn of_sender(self) -> RetransmissionTimeout {
        match self {
            Self::FourRoundTrips => RetransmissionTimeout::FourRoundTrips,
            Self::AtLeastASecond => RetransmissionTimeout::AtLeastASecond,
            Self::Rfc6298 => RetransmissionTimeout::Rfc6298,
        }
    }
}
