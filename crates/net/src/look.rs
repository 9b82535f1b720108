//! A look at the socket: what it found, and whether the next may be put off.

use tfrc::time::Duration;
use tfrc::units::Bytes;

/// What a look found.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Look {
    /// Buffers that the system filled.
    pub(crate) buffers: usize,
    /// Datagrams in them.
    pub(crate) datagrams: u64,
    /// Their payload.
    pub(crate) bytes: usize,
}

impl Look {
    /// True if so much came that more will at once, and if several times that fit into a receive buffer of
    /// `room`.
    pub(crate) fn is_flood(self, room: Bytes) -> bool {
        self.datagrams > FLOOD && Bytes::from(ROOM * self.bytes) <= room
    }
}

/// How long the next look at a flood is put off. Whoever waits for each burst of it is woken by its sender for
/// each, which costs both of them more than the burst does.
pub(crate) const GATHER: Duration = Duration::from_micros(50);

/// As many as the kernel merges into one buffer, of 1,000 bytes each: with one more, a second burst came while we
/// were busy with the first.
const FLOOD: u64 = 64;

/// How many times what came must fit into the receive buffer, half of which is the kernel's bookkeeping.
const ROOM: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_many_datagrams_that_leave_room_for_more() {
        let room = Bytes::new(8 << 20);
        let flood = Look {
            buffers: 2,
            datagrams: 92,
            bytes: 92 * 1_400,
        };
        assert!(flood.is_flood(room));
        let burst = Look {
            buffers: 1,
            datagrams: 46,
            bytes: 46 * 1_400,
        };
        assert!(!burst.is_flood(room));
        let full = Look {
            buffers: 1,
            datagrams: 64,
            bytes: 64 * 1_000,
        };
        assert!(!full.is_flood(room));
        // What a system grants whom it does not know.
        assert!(!flood.is_flood(Bytes::new(416 << 10)));
    }
}
