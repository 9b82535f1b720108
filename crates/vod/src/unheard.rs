//! Counts what a server sent and a player never heard: before the first packet, and after the last.

/// The packets of servers beyond the first and the last sequence number that were heard of each.
///
/// A server's reports say how many it sent (RFC 3550 §6.4.1). What they count beyond the numbers heard is lost if it was
/// sent before the first of these, and may be under way if it was sent after the last. The least excess of all reports
/// has nothing under way; after the goodbye nothing is.
#[derive(Debug, Default)]
pub(crate) struct Unheard {
    /// The lowest and the highest number of the present server.
    numbers: Option<(u64, u64)>,
    /// The excess of its last report, and the least.
    excess: Option<(u64, u64)>,
    /// Those of the servers before.
    before: u64,
}

impl Unheard {
    pub(crate) fn handle_packet(&mut self, sequence: u64) {
        let (first, last) = self.numbers.unwrap_or((sequence, sequence));
        self.numbers = Some((first.min(sequence), last.max(sequence)));
    }

    /// Takes the number of packets of a report, which wraps.
    pub(crate) fn handle_report(&mut self, packets: u32) {
        let heard = self.numbers.map_or(0, |(first, last)| last - first + 1);
        let excess = packets.wrapping_sub(heard as u32).cast_signed();
        let excess = u64::try_from(excess).unwrap_or(0);
        let least = self.excess.map_or(excess, |(_, least)| least.min(excess));
        self.excess = Some((excess, least));
    }

    /// Returns how many packets were never heard; `has_left` after the goodbye of the present server.
    pub(crate) fn count(&self, has_left: bool) -> u64 {
        let (last, least) = self.excess.unwrap_or_default();
        self.before + if has_left { last } else { least }
    }

    /// Begins anew with another server.
    pub(crate) fn begin_again(&mut self, has_left: bool) {
        *self = Self {
            before: self.count(has_left),
            ..Self::default()
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_before_first_and_after_last_are_unheard() {
        let mut unheard = Unheard::default();
        // Ten are sent before the first that is heard, and two of the next are under way.
        for sequence in [500, 501, 503] {
            unheard.handle_packet(sequence);
        }
        unheard.handle_report(16);
        assert_eq!(unheard.count(false), 12);
        unheard.handle_packet(505);
        unheard.handle_report(16);
        assert_eq!(unheard.count(false), 10);
        // The last three are lost.
        unheard.handle_report(19);
        assert_eq!((unheard.count(false), unheard.count(true)), (10, 13));
        unheard.begin_again(true);
        unheard.handle_packet(70_000);
        unheard.handle_report(1);
        assert_eq!(unheard.count(true), 13);
    }

    #[test]
    fn count_of_reports_may_wrap() {
        let mut unheard = Unheard::default();
        for sequence in [65_535, 65_536 + u64::from(u32::MAX)] {
            unheard.handle_packet(sequence);
        }
        unheard.handle_report(4);
        assert_eq!(unheard.count(true), 3);
        // A report that a packet has overtaken.
        unheard.handle_report(0);
        assert_eq!(unheard.count(true), 0);
    }
}
