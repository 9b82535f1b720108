//! Claims that prove that a receiver lies.

/// A claim that no honest receiver makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    /// The receiver twice reported packets as received that were never sent.
    NeverSent,
    /// The receiver three times reported a rate *X_recv* of many times the sent rate.
    ReceiveRate,
}

impl Lie {
    /// Returns the name of the lie in traces.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NeverSent => "never_sent",
            Self::ReceiveRate => "receive_rate",
        }
    }
}
