//! The two ECN bits of the IP header (RFC 3168 §5).

/// What the network or the sender wrote into a packet's ECN field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ecn {
    /// The transport does not understand ECN.
    #[default]
    NotEct,
    /// ECN-capable, ECT(0).
    Ect0,
    /// ECN-capable, ECT(1): a scalable sender (RFC 9331), which TFRC is not.
    Ect1,
    /// Congestion experienced.
    Ce,
}

impl Ecn {
    /// True when a router marked the packet instead of dropping it.
    pub const fn is_marked(self) -> bool {
        matches!(self, Self::Ce)
    }
}
