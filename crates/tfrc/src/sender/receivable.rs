//! What a receiver can have received: X_recv in a report of p is its own word, but nobody receives more than was
//! sent.

use core::time::Duration;

use crate::suspicions::Suspicions;
use crate::time::Instant;
use crate::units::{Bytes, Rate};

/// What had been sent when a packet left.
#[derive(Clone, Copy, Debug)]
struct Mark {
    at: Instant,
    /// Before that packet.
    bytes: u64,
    /// R as the packet told it.
    rtt: Duration,
}

/// Marks, and how many of them a round trip has at most: they reach back over eight round trips.
const MARKS: usize = 32;
const A_ROUND_TRIP: u32 = 4;
/// Reports whose packets X_recv may be measured over: it goes back to the latest one that was a round trip old
/// (RFC 5348 §6.2), and expedited ones follow each other within that.
const REPORTS: usize = 4;
/// A receiver that claims so many times what it can have received, so often, lies. Expedited reports in a row may
/// leave an honest one less than a round trip to divide by: on the worst of 10,000 paths, where packets overtake
/// each other by two round trips, it claimed 15 times as much.
const CLEARLY: f64 = 64.0;
const REPEATEDLY: u32 = 3;

/// Bounds X_recv by what left since the reports before, over a round trip. A path that held packets up and lets
/// them go at once stays below it: what it held left before.
#[derive(Clone, Debug)]
pub struct Receivable {
    marks: [Option<Mark>; MARKS],
    newest: usize,
    sent: u64,
    /// When the packets left that the last reports echoed, the newest first.
    echoed: [Option<Instant>; REPORTS],
    capped: u64,
    suspicions: Suspicions,
}

impl Default for Receivable {
    fn default() -> Self {
        Self {
            marks: [None; MARKS],
            newest: 0,
            sent: 0,
            echoed: [None; REPORTS],
            capped: 0,
            suspicions: Suspicions::default(),
        }
    }
}

impl Receivable {
    /// Goes on counting where those before stopped whose receivers were at the place of this one's.
    #[must_use]
    pub const fn suspecting(mut self, suspicions: Suspicions) -> Self {
        self.suspicions = suspicions;
        self
    }

    /// What was noted against the receiver and those before.
    pub const fn suspicions(&self) -> Suspicions {
        self.suspicions
    }

    /// A packet leaves that tells this R; before R is known nothing can be said.
    #[inline]
    pub fn handle_sent(&mut self, now: Instant, size: Bytes, rtt: Option<Duration>) {
        if let Some(rtt) = rtt {
            let apart = rtt / A_ROUND_TRIP;
            let last = self.marks[self.newest];
            if last.is_none_or(|mark| now.saturating_since(mark.at) >= apart) {
                self.newest = (self.newest + 1) % MARKS;
                self.marks[self.newest] = Some(Mark {
                    at: now,
                    bytes: self.sent,
                    rtt,
                });
            }
        }
        self.sent += size.get();
    }

    /// A report about a packet that left at `sent_at` claims this X_recv: gives what of it is believed.
    pub fn handle_report(&mut self, sent_at: Instant, claimed: Rate) -> Rate {
        let bound = self.bound();
        self.echoed.rotate_right(1);
        self.echoed[0] = Some(sent_at);
        match bound {
            Some(bound) if claimed > bound => {
                self.capped += 1;
                if claimed > bound * CLEARLY {
                    self.suspicions.excesses.note(sent_at);
                }
                bound
            }
            _ => claimed,
        }
    }

    /// Claims that were cut to what was sent.
    pub const fn capped(&self) -> u64 {
        self.capped
    }

    /// True if it claimed what no receiver can have received, clearly and repeatedly.
    pub const fn has_caught_a_lie(&self) -> bool {
        self.suspicions.excesses.count() >= REPEATEDLY
    }

    /// What the next report can claim: all that left since a round trip, which packets may overtake each other
    /// by, before what the oldest report echoed; over the least R that was told meanwhile. None where that is
    /// too long ago to tell.
    fn bound(&self) -> Option<Rate> {
        let mut least = self.marks[self.newest]?.rtt;
        let since = self.echoed[REPORTS - 1]?;
        for age in 0..MARKS {
            let mark = self.marks[(self.newest + MARKS - age) % MARKS]?;
            least = least.min(mark.rtt);
            if mark.at + least <= since {
                return Some(Bytes::new(self.sent - mark.bytes) / least);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);
    const SPACING: Duration = Duration::from_millis(10);
    const SIZE: Bytes = Bytes::new(1_000);
    /// Of such packets.
    const SENT: Rate = Rate::from_bytes_per_sec(1e5);

    /// Sends a second of packets; a report of each round trip claims this.
    fn claims(claimed: Rate) -> (Receivable, Rate) {
        let mut receivable = Receivable::default();
        let mut believed = Rate::ZERO;
        for n in 0..200 {
            let now = Instant::from_secs(1) + SPACING * n;
            receivable.handle_sent(now, SIZE, Some(RTT));
            if n % 10 == 9 {
                believed = receivable.handle_report(now - RTT, claimed);
            }
        }
        (receivable, believed)
    }

    #[test]
    fn what_was_sent_is_believed_and_so_are_bursts_of_it() {
        for times in [0.0, 1.0, 5.0] {
            let (receivable, believed) = claims(SENT * times);
            assert_eq!(believed, SENT * times);
            assert_eq!(receivable.capped(), 0);
        }
    }

    #[test]
    fn more_than_left_since_four_reports_is_cut_to_that() {
        let (receivable, believed) = claims(SENT * 10.0);
        assert!((5.0..8.0).contains(&(believed / SENT)), "{believed}");
        assert!(receivable.capped() > 10);
        assert!(!receivable.has_caught_a_lie());
    }

    #[test]
    fn a_thousand_times_as_much_is_a_lie() {
        assert!(!claims(SENT * 300.0).0.has_caught_a_lie());
        assert!(claims(SENT * 1_000.0).0.has_caught_a_lie());
    }

    #[test]
    fn nothing_is_said_before_r_is_known_or_of_times_too_long_ago() {
        let mut receivable = Receivable::default();
        for n in 0..200 {
            let now = Instant::from_secs(1) + SPACING * n;
            receivable.handle_sent(now, SIZE, None);
            assert_eq!(
                receivable.handle_report(now, Rate::INFINITY),
                Rate::INFINITY
            );
        }
        for n in 0..200 {
            let now = Instant::from_secs(3) + SPACING * n;
            receivable.handle_sent(now, SIZE, Some(RTT));
            let early = Instant::from_secs(1);
            assert_eq!(
                receivable.handle_report(early, Rate::INFINITY),
                Rate::INFINITY
            );
        }
        assert!(!receivable.has_caught_a_lie());
    }
}
