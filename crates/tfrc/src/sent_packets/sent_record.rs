//! A sent packet, and its status as reported so far.

use crate::Ecn;
use crate::time::Instant;

/// The state of a sent packet. Packets are settled in the order of their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SentState {
    /// No report has covered the packet.
    Unreported,
    /// Reported as missing, and not yet settled. Reports covered at least `covered` consecutive packets from this
    /// one on, one or more.
    Missing { covered: u16 },
    /// Reported as arrived, and not yet settled; `covered` as above.
    Arrived { at: Instant, ecn: Ecn, covered: u16 },
    /// Settled as lost; the packet may yet arrive. `skipped` packets below it were never reported.
    Lost { skipped: u64 },
    /// Counted as arrived, or given up.
    Done,
    /// No packet has this number: the sender left it out.
    LeftOut,
}

/// A packet that left.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentRecord {
    pub(super) at: Instant,
    pub(super) state: SentState,
    /// R at the departure, microseconds; zero before the first measurement.
    pub(super) rtt_micros: u32,
    pub(super) size: u16,
    /// The sender itself set the congestion mark.
    pub(super) is_test: bool,
    /// R equals the R of the packet before, and the sender set no mark: the arrival reports nothing more.
    pub(super) is_plain: bool,
}

impl SentRecord {
    pub(super) const NONE: Self = Self {
        at: Instant::ZERO,
        state: SentState::Done,
        rtt_micros: 0,
        size: 0,
        is_test: false,
        is_plain: false,
    };
}
