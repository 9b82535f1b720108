//! The two editions of the standard, and where their receivers differ.

/// The edition of TFRC. The differences are in `sender/rfc5348.rs` and `sender/rfc3448.rs` and, for the receiver,
/// in this file; all other code serves both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Standard {
    /// RFC 5348, of 2008.
    #[default]
    Rfc5348,
    /// RFC 3448 of 2003, which RFC 5348 obsoletes: for comparison, and for peers that follow it.
    Rfc3448,
}

impl Standard {
    /// Returns the least share of the closed intervals beside a long current one: THRESHOLD of §5.5.
    pub(crate) const fn discount_floor(self) -> f64 {
        match self {
            Self::Rfc5348 => 0.25,
            Self::Rfc3448 => 0.5,
        }
    }

    /// Returns true if a mark confirms the holes below it as lost, which is so in RFC 5348 §5.1.
    pub(crate) const fn mark_confirms_holes(self) -> bool {
        matches!(self, Self::Rfc5348)
    }

    /// Returns true if the packet before a hole is the last arrival below the hole, even after packets above. This
    /// is so in RFC 3448 §5.2; RFC 5348 §5.2 takes the last arrival before the packets above.
    pub(crate) const fn late_packet_bounds_holes(self) -> bool {
        matches!(self, Self::Rfc3448)
    }

    /// Returns true if the first loss interval follows from the largest receive rate so far, as in RFC 5348 §6.3.1.
    /// RFC 3448 §6.3.1 takes the rate of the last round trip.
    pub(crate) const fn first_interval_is_of_largest_rate(self) -> bool {
        matches!(self, Self::Rfc5348)
    }

    /// Returns true if the feedback timer keeps its phase through a silence, as in RFC 3448 §6.2. RFC 5348 §6.1
    /// reports the first packet at once after the timer ran out without data.
    pub(crate) const fn silence_keeps_timer(self) -> bool {
        matches!(self, Self::Rfc3448)
    }
}
