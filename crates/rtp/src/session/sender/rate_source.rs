//! The source of the sending rate, and the circuit breakers that end it.

/// The source of the media rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RateSource {
    /// TFRC, by feedback, or before the first feedback.
    #[default]
    Feedback,
    /// The loss and the round trip of reception reports, because the receiver sends nothing else.
    ReceptionReports,
    /// A fixed low rate, because no RTCP arrives.
    Nothing,
    /// The caller, by a fixed rate.
    Fixed,
}

impl RateSource {
    /// Returns the name of the source in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Feedback => "feedback",
            Self::ReceptionReports => "reception_reports",
            Self::Nothing => "nothing",
            Self::Fixed => "fixed",
        }
    }
}

/// The circuit breaker that tripped (RFC 8083 §4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Breach {
    /// No reception report arrived for fifteen seconds after earlier ones (§4.1).
    NoReports,
    /// Reports show no new packet (§4.2).
    NoMedia,
    /// The rate exceeds ten times a TCP flow's (§4.3).
    Congestion,
}
