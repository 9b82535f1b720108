//! The scoreboard: sent packets that are acknowledged, in flight or lost.

use super::runs::Runs;
use super::segment::Ack;
use std::ops::Range;

/// Three packets above one that is missing tell that it is lost (RFC 5681 §3.2, RFC 6675 §2).
pub(crate) const DUP_THRESH: u64 = 3;

/// The sender's view of the sequence space.
///
/// ```text
///        una          retransmit        lost_below            next
/// acked   │  sent again   │  lost, to be sent  │   in flight    │  not sent yet
/// ```
///
/// Within it `sacked` holds what the receiver has out of order. A receiver here never gives up what
/// it has acknowledged selectively, so it is never forgotten, not even at a timeout.
#[derive(Clone, Debug, Default)]
pub(super) struct Scoreboard {
    /// The lowest packet that is not acknowledged (SND.UNA).
    una: u64,
    /// The lowest packet that was never sent (HighData + 1).
    next: u64,
    /// What is below and not in `sacked` is lost, unless it was sent again.
    lost_below: u64,
    /// One more than the highest packet sent again (HighRxt + 1); at least `una`.
    retransmit: u64,
    sacked: Runs,
    /// Packets in `una..retransmit` that are not in `sacked`: each was sent again.
    resent: u64,
}

impl Scoreboard {
    pub(super) fn una(&self) -> u64 {
        self.una
    }

    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Sent and not acknowledged cumulatively: RFC 5681's FlightSize.
    pub(super) fn outstanding(&self) -> u64 {
        self.next - self.una
    }

    /// What is thought to be in the network now: RFC 6675's pipe. What was sent again without having
    /// been found lost counts twice, as there.
    pub(super) fn pipe(&self) -> u64 {
        let lost_below = self.lost_below.max(self.una);
        self.next - lost_below - self.sacked.count_from(lost_below) + self.resent
    }

    /// RFC 6675's IsLost for the first packet that is not acknowledged.
    pub(super) fn first_is_lost(&self) -> bool {
        self.lost_below > self.una
    }

    /// Takes in a cumulative acknowledgement of what was sent, and gives how many packets it covers that were
    /// not known to have arrived: at least one, if it covers any.
    pub(super) fn advance(&mut self, una: u64) -> u64 {
        let una = una.clamp(self.una, self.next);
        let passed = self.una..una.min(self.retransmit);
        let mut known = 0;
        self.sacked.remove_below(una, |part| {
            self.resent += overlap(&part, &passed);
            known += part.end - part.start;
        });
        self.resent -= passed.end - passed.start;
        let acked = una - self.una - known;
        self.una = una;
        self.retransmit = self.retransmit.max(una);
        acked
    }

    /// Takes in the SACK blocks, and gives whether they told of packets not known to have arrived.
    pub(super) fn sack(&mut self, ack: &Ack) -> bool {
        let resent = self.una..self.retransmit;
        let mut has_new = false;
        for block in ack.sacked() {
            let known = block.start.max(self.una)..block.end.min(self.next);
            self.sacked.insert(known, |part| {
                self.resent -= overlap(&part, &resent);
                has_new = true;
            });
        }
        if has_new && let Some(third) = self.sacked.nth_highest(DUP_THRESH) {
            self.lost_below = self.lost_below.max(third);
        }
        has_new
    }

    /// Takes all that was sent and not acknowledged for lost, and starts to send it again.
    pub(super) fn lose_all(&mut self) {
        self.lost_below = self.next;
        self.restart();
    }

    /// Forgets what was sent again: a new recovery starts.
    pub(super) fn restart(&mut self) {
        self.retransmit = self.una;
        self.resent = 0;
    }

    /// The lowest lost packet that was not sent again: rule 1 of RFC 6675's NextSeg.
    pub(super) fn next_lost(&self) -> Option<u64> {
        self.next_hole().filter(|&hole| hole < self.lost_below)
    }

    /// The lowest packet that is neither sent again nor acknowledged, below one that arrived: rule 3.
    pub(super) fn next_missing(&self) -> Option<u64> {
        self.next_hole()
            .filter(|&hole| self.sacked.end().is_some_and(|end| hole < end))
    }

    /// The highest packet that is sent and not acknowledged: rule 4.
    pub(super) fn last_missing(&self) -> Option<u64> {
        let last = self.next.checked_sub(1)?;
        let missing = self
            .sacked
            .containing(last)
            .map_or(Some(last), |run| run.start.checked_sub(1))?;
        (missing >= self.una).then_some(missing)
    }

    fn next_hole(&self) -> Option<u64> {
        let hole = self.sacked.next_gap(self.retransmit);
        (hole < self.next).then_some(hole)
    }

    /// Notes that `packet`, which [`next_lost`](Self::next_lost) or
    /// [`next_missing`](Self::next_missing) gave, is sent again.
    pub(super) fn resend(&mut self, packet: u64) {
        // All between the last one and this has arrived.
        self.retransmit = packet + 1;
        self.resent += 1;
    }

    /// The next new packet is sent.
    pub(super) fn send_new(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }
}

fn overlap(a: &Range<u64>, b: &Range<u64>) -> u64 {
    a.end.min(b.end).saturating_sub(a.start.max(b.start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_acknowledgement_that_fills_a_hole_tells_of_the_hole_alone() {
        let mut board = Scoreboard::default();
        for _ in 0..10 {
            board.send_new();
        }
        assert_eq!(board.advance(2), 2);
        board.sacked.insert(3..9, |_| {});
        // Six of the seven had arrived: a window that counts packets would else grow by all of them at once.
        assert_eq!(board.advance(9), 1);
        assert_eq!(board.advance(10), 1);
        assert_eq!(board.advance(10), 0);
    }
}
