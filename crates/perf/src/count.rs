//! Counts the packets that one side of a flow has sent and received.

use tfrc::time::Duration;

/// Counters of one side of a flow since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Packets sent.
    pub packets_sent: u64,
    /// Their bytes, UDP payload.
    pub bytes_sent: u64,
    /// Packets received, duplicates apart.
    pub packets_received: u64,
    /// Their bytes, UDP payload.
    pub bytes_received: u64,
    /// Packets missing by their sequence numbers; those lost at the very end are missed by nobody.
    pub packets_lost: u64,
    /// Packets that came after one of a later number.
    pub out_of_order: u64,
    /// Packets received with a congestion mark.
    pub packets_marked: u64,
    /// The interarrival jitter (RFC 3550 §6.4.1), in whole microseconds.
    pub jitter: Duration,
    /// From the first arrival to the last, in whole microseconds.
    pub received_over: Duration,
}

impl Count {
    /// All of them together.
    pub fn sum<'a>(counts: impl IntoIterator<Item = &'a Self>) -> Self {
        counts.into_iter().fold(Self::default(), Self::plus)
    }

    /// Both together; of the jitters and of the times the larger.
    #[must_use]
    pub fn plus(self, other: &Self) -> Self {
        Self {
            packets_sent: self.packets_sent.saturating_add(other.packets_sent),
            bytes_sent: self.bytes_sent.saturating_add(other.bytes_sent),
            packets_received: self.packets_received.saturating_add(other.packets_received),
            bytes_received: self.bytes_received.saturating_add(other.bytes_received),
            packets_lost: self.packets_lost.saturating_add(other.packets_lost),
            out_of_order: self.out_of_order.saturating_add(other.out_of_order),
            packets_marked: self.packets_marked.saturating_add(other.packets_marked),
            jitter: self.jitter.max(other.jitter),
            received_over: self.received_over.max(other.received_over),
        }
    }

    /// What was added since `earlier`; the jitter and the time as they are now. A late packet takes a loss back: what
    /// is fewer than before counts as none.
    #[must_use]
    pub fn since(self, earlier: &Self) -> Self {
        Self {
            packets_sent: self.packets_sent.saturating_sub(earlier.packets_sent),
            bytes_sent: self.bytes_sent.saturating_sub(earlier.bytes_sent),
            packets_received: self
                .packets_received
                .saturating_sub(earlier.packets_received),
            bytes_received: self.bytes_received.saturating_sub(earlier.bytes_received),
            packets_lost: self.packets_lost.saturating_sub(earlier.packets_lost),
            out_of_order: self.out_of_order.saturating_sub(earlier.out_of_order),
            packets_marked: self.packets_marked.saturating_sub(earlier.packets_marked),
            jitter: self.jitter,
            received_over: self.received_over,
        }
    }
}
