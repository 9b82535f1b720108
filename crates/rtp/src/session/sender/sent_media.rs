//! Records departures of media packets, for receivers that name packets by their numbers alone.

use tfrc::time::Instant;

/// The number of remembered packets: 0.4 s of uncompressed HDTV (75,000 packets a second), in 256 KiB.
const REMEMBERED: usize = 1 << 15;

/// The departures of the last packets.
#[derive(Debug)]
pub(super) struct SentMedia {
    times: Box<[Instant]>,
    /// The lowest remembered number, and the number after the highest.
    first: u32,
    next: u32,
}

impl SentMedia {
    /// Creates a record whose first packet has the number `first`.
    pub(super) fn new(first: u32) -> Self {
        Self {
            times: vec![Instant::ZERO; REMEMBERED].into(),
            first,
            next: first,
        }
    }

    /// Records that the packet of this number, the next after the last, leaves.
    pub(super) fn handle_sent(&mut self, now: Instant, sequence: u32) {
        self.times[sequence as usize % REMEMBERED] = now;
        self.next = sequence.wrapping_add(1);
        if self.next.wrapping_sub(self.first) > REMEMBERED as u32 {
            self.first = self.next.wrapping_sub(REMEMBERED as u32);
        }
    }

    /// Returns the departure of the last packet whose number ends in these 16 bits; `None` if it is forgotten or
    /// never left.
    pub(super) fn departure_of(&self, number: u16) -> Option<Instant> {
        let newest = self.next.wrapping_sub(1);
        let behind = (newest as u16).wrapping_sub(number);
        let sequence = newest.wrapping_sub(behind.into());
        let held = self.next.wrapping_sub(self.first);
        (u32::from(behind) < held).then(|| self.times[sequence as usize % REMEMBERED])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(number: u32) -> Instant {
        Instant::from_millis(number.into())
    }

    fn sent(first: u32, count: u32) -> SentMedia {
        let mut sent = SentMedia::new(first);
        for number in 0..count {
            sent.handle_sent(at(number), first.wrapping_add(number));
        }
        sent
    }

    #[test]
    fn a_packet_is_known_by_its_lower_bits_across_their_wraps() {
        for first in [0, 65_530, u32::MAX - 5] {
            let sent = sent(first, 200_000);
            let number = first.wrapping_add(199_990) as u16;
            assert_eq!(sent.departure_of(number), Some(at(199_990)));
        }
    }

    #[test]
    fn what_has_not_left_or_is_forgotten_has_no_departure() {
        let few = sent(100, 3);
        let known = [99, 100, 102, 103].map(|number| few.departure_of(number).is_some());
        assert_eq!(known, [false, true, true, false]);
        let many = sent(0, REMEMBERED as u32 + 10);
        let known = [9, 10].map(|number| many.departure_of(number).is_some());
        assert_eq!(known, [false, true]);
        assert_eq!(SentMedia::new(7).departure_of(6), None);
    }
}
