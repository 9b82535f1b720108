//! Claims by which a receiver is caught lying.

/// What no honest receiver reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    /// Twice, packets that were never sent as received.
    NeverSent,
    /// Three times, a receive rate *X_recv* of many times what was sent.
    ReceiveRate,
}

impl Lie {
    /// The name by which traces tell of it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NeverSent => "never_sent",
            Self::ReceiveRate => "receive_rate",
        }
    }
}
