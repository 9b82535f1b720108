//! How large the packets were that left last, for what is measured with one of them.

use std::collections::VecDeque;
use std::time::Duration;

use tfrc::time::Instant;
use tfrc::units::Bytes;

/// The packets that left last.
#[derive(Debug, Default)]
pub(crate) struct Departures {
    /// Oldest first.
    packets: VecDeque<(Instant, Bytes)>,
}

impl Departures {
    /// A packet of this length leaves.
    pub(crate) fn handle_sent(&mut self, now: Instant, len: usize) {
        if self.packets.len() == REMEMBERED {
            self.packets.pop_front();
        }
        self.packets.push_back((now, Bytes::new(len as u64)));
    }

    /// The size of the packet that left then, if it is remembered. It and what left after it are all that is asked for
    /// from now on.
    pub(crate) fn size_of(&mut self, sent_at: Instant) -> Option<Bytes> {
        let until = sent_at + RESOLUTION;
        let left = self.packets.partition_point(|(at, _)| *at <= until);
        self.packets.drain(..left.checked_sub(1)?);
        self.packets.front().map(|(_, size)| *size)
    }
}

/// At more packets in a round trip than this their sizes do not tell.
const REMEMBERED: usize = 1_024;

/// Departures are told in microseconds.
const RESOLUTION: Duration = Duration::from_micros(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packet_that_left_then_is_found_until_a_later_one_was_asked_for() {
        let mut departures = Departures::default();
        let at = |ms| Instant::from_millis(ms);
        assert_eq!(departures.size_of(at(5)), None);
        for n in 1..=2_000_u64 {
            departures.handle_sent(at(n), n as usize);
        }
        assert_eq!(departures.packets.len(), REMEMBERED);
        assert_eq!(departures.size_of(at(1_500)), Some(Bytes::new(1_500)));
        let echoed = at(1_600) + Duration::from_nanos(999);
        assert_eq!(departures.size_of(echoed), Some(Bytes::new(1_600)));
        assert_eq!(departures.size_of(at(1_599)), None);
        assert_eq!(departures.size_of(at(9_000)), Some(Bytes::new(2_000)));
    }
}
