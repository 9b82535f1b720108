//! One batch of received datagrams, and whether the next receive call may be put off.

use tfrc::time::{Duration, Instant};
use tfrc::units::Bytes;

/// The datagrams of one round of receive calls.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RecvBatch {
    /// Buffers that the system filled.
    pub(crate) buffers: usize,
    /// Datagrams in them.
    pub(crate) datagrams: u64,
    /// Their payload.
    pub(crate) bytes: usize,
}

impl RecvBatch {
    /// True if so much came that more will at once, and if several times that fit into a receive buffer of
    /// `room`.
    pub(crate) fn is_flood(self, room: Bytes) -> bool {
        self.datagrams > FLOOD && Bytes::from(ROOM * self.bytes) <= room
    }
}

/// How long the next receive call in a flood is put off. Whoever waits for each burst of it is woken by its sender for
/// each, which costs both of them more than the burst does.
const GATHER: Duration = Duration::from_micros(50);

/// Until when to put off the receive call in a flood: never past the time at which whoever is `due` next must be awake,
/// which is its `margin` before.
pub(crate) fn gather_until(now: Instant, due: Option<Instant>, margin: Duration) -> Instant {
    let most = now + GATHER;
    due.map_or(most, |at| most.min(at - margin))
}

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
        let flood = RecvBatch {
            buffers: 2,
            datagrams: 92,
            bytes: 92 * 1_400,
        };
        assert!(flood.is_flood(room));
        let burst = RecvBatch {
            buffers: 1,
            datagrams: 46,
            bytes: 46 * 1_400,
        };
        assert!(!burst.is_flood(room));
        let full = RecvBatch {
            buffers: 1,
            datagrams: 64,
            bytes: 64 * 1_000,
        };
        assert!(!full.is_flood(room));
        // What a system grants whom it does not know.
        assert!(!flood.is_flood(Bytes::new(416 << 10)));
    }

    #[test]
    fn no_flood_is_waited_for_past_a_deadline_or_the_lead_of_who_spins_before_it() {
        let micros = |micros| Instant::ZERO + Duration::from_micros(micros);
        let (now, margin) = (micros(1_000), Duration::from_micros(20));
        assert_eq!(gather_until(now, None, margin), micros(1_050));
        let cases = [
            (1_030, 1_030, 1_010),
            (1_060, 1_050, 1_040),
            (1_100, 1_050, 1_050),
        ];
        for (due, asleep, spinning) in cases {
            let due = Some(micros(due));
            assert_eq!(gather_until(now, due, Duration::ZERO), micros(asleep));
            assert_eq!(gather_until(now, due, margin), micros(spinning));
        }
    }
}
