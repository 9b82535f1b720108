//! Which standard is followed.

/// The edition of TFRC. What they share is everywhere; what differs is in `sender/rfc5348.rs` and
/// `sender/rfc3448.rs` and, for the receiver, here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Standard {
    /// RFC 5348, of 2008.
    #[default]
    Rfc5348,
    /// RFC 3448, of 2003, which RFC 5348 obsoletes: for comparison, and for peers that follow it.
    Rfc3448,
}

impl Standard {
    /// The least that a long current interval leaves of the closed ones: THRESHOLD of §5.5.
    pub(crate) const fn discount_floor(self) -> f64 {
        match self {
            Self::Rfc5348 => 0.25,
            Self::Rfc3448 => 0.5,
        }
    }

    /// Does a mark show that what is missing below it is lost? In RFC 5348 §5.1 it does.
    pub(crate) const fn mark_confirms_holes(self) -> bool {
        matches!(self, Self::Rfc5348)
    }

    /// Is the packet before a hole the last to have arrived below it, even if that came after the packets
    /// above? In RFC 3448 §5.2 it is; RFC 5348 §5.2 asks for the last that came before those.
    pub(crate) const fn late_packet_bounds_holes(self) -> bool {
        matches!(self, Self::Rfc3448)
    }

    /// Does the first loss interval stand for the largest receive rate so far? In RFC 5348 §6.3.1 it
    /// does; in RFC 3448 §6.3.1 for that of the last round trip.
    pub(crate) const fn first_interval_is_of_largest_rate(self) -> bool {
        matches!(self, Self::Rfc5348)
    }

    /// Does the feedback timer keep its phase through a silence? In RFC 3448 §6.2 it does; RFC 5348 §6.1
    /// reports the first packet after a timer that ran out without data at once.
    pub(crate) const fn silence_keeps_timer(self) -> bool {
        matches!(self, Self::Rfc3448)
    }
}
