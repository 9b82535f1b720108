//! The source of the sending rate, and the circuit breakers that end it.

/// What sets the rate of media.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RateSource {
    /// TFRC, from feedback, or until it has come.
    #[default]
    Feedback,
    /// The loss and the round trip of reception reports: the receiver sends nothing else.
    ReceptionReports,
    /// Nothing: no RTCP comes.
    Nothing,
    /// The caller.
    Fixed,
}

impl RateSource {
    /// The name by which reports show it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Feedback => "feedback",
            Self::ReceptionReports => "reception_reports",
            Self::Nothing => "nothing",
            Self::Fixed => "fixed",
        }
    }
}

/// Which circuit breaker tripped (RFC 8083 §4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Breach {
    /// Reception reports came and then none for fifteen seconds (§4.1).
    NoReports,
    /// Reports tell of no new packet (§4.2).
    NoMedia,
    /// More than ten times what a TCP would have sent (§4.3).
    Congestion,
}
