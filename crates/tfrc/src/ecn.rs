//! The two ECN bits of the IP header (RFC 3168 §5).

/// The ECN field of a packet, as the sender or a router wrote it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ecn {
    /// The transport does not understand ECN.
    #[default]
    NotEct,
    /// ECN-capable, ECT(0).
    Ect0,
    /// ECN-capable, ECT(1): the mark of a scalable sender (RFC 9331), which TFRC is not.
    Ect1,
    /// A router marked the packet: congestion experienced.
    Ce,
}

impl Ecn {
    /// Returns true if a router marked the packet instead of dropping it.
    pub const fn is_marked(self) -> bool {
        matches!(self, Self::Ce)
    }
}
