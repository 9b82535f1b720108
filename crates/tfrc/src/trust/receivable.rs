//! Bounds X_recv in a report of p: a receiver cannot have received more than was sent.

use core::time::Duration;

use super::suspicions::Suspicions;
use crate::time::Instant;
use crate::units::{Bytes, Rate};

/// The bytes that had been sent when a packet left.
#[derive(Clone, Copy, Debug)]
struct Mark {
    at: Instant,
    /// The bytes before this packet.
    bytes: u64,
    /// R at the departure, which the packet carries.
    rtt: Duration,
}

/// Remembered marks: they reach back over eight round trips.
const MARKS: usize = 32;
const MARKS_PER_ROUND_TRIP: u32 = 4;
/// Reports over whose packets X_recv may be measured: the measurement begins at the latest report that was a round trip old
/// (RFC 5348 §6.2), and expedited reports follow each other within a round trip.
const MEASURED_REPORTS: usize = 4;
/// A claim of this multiple of the receivable rate is suspect. An honest receiver may divide by less than a round trip after
/// several expedited reports: on the worst of 10,000 paths it claimed 15 times the receivable rate.
const SUSPECT_EXCESS: f64 = 64.0;

/// Bounds X_recv by the bytes that left since the last reports, over a round trip. A path that delays packets and then delivers
/// them at once stays below this bound, because the delayed packets left earlier.
#[derive(Clone, Debug)]
pub struct Receivable {
    marks: [Option<Mark>; MARKS],
    newest: usize,
    sent: u64,
    /// When the packets left that the last reports echoed, the newest first.
    echoed: [Option<Instant>; MEASURED_REPORTS],
    capped: u64,
    suspicions: Suspicions,
}

impl Default for Receivable {
    fn default() -> Self {
        Self {
            marks: [None; MARKS],
            newest: 0,
            sent: 0,
            echoed: [None; MEASURED_REPORTS],
            capped: 0,
            suspicions: Suspicions::default(),
        }
    }
}

impl Receivable {
    /// Adds further suspicions to the suspicions of earlier receivers at the same host.
    #[must_use]
    pub const fn suspecting(mut self, suspicions: Suspicions) -> Self {
        self.suspicions = suspicions;
        self
    }

    /// Returns the suspicions of the receiver and of those before it.
    pub const fn suspicions(&self) -> Suspicions {
        self.suspicions
    }

    /// Counts a packet of `size` bytes that leaves at `now` and carries R. Without R no claim is bounded.
    #[inline]
    pub fn handle_sent(&mut self, now: Instant, size: Bytes, rtt: Option<Duration>) {
        if let Some(rtt) = rtt {
            let apart = rtt / MARKS_PER_ROUND_TRIP;
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

    /// Returns the believed part of the X_recv that a report about a packet of departure `sent_at` claims.
    pub fn handle_report(&mut self, sent_at: Instant, claimed: Rate) -> Rate {
        let bound = self.bound();
        self.echoed.rotate_right(1);
        self.echoed[0] = Some(sent_at);
        let Some(bound) = bound else {
            return claimed;
        };
        if claimed > bound * SUSPECT_EXCESS {
            self.suspicions.excesses.record(sent_at);
        } else {
            self.suspicions.excesses.refute();
        }
        self.capped += u64::from(claimed > bound);
        claimed.min(bound)
    }

    /// Returns the number of claims that were reduced to the bound.
    pub const fn capped(&self) -> u64 {
        self.capped
    }

    /// Returns true if the receiver repeatedly claimed far more than any receiver can have received.
    pub const fn has_caught_a_lie(&self) -> bool {
        self.suspicions.prove_excesses()
    }

    /// Returns the largest rate that the next report can claim: all bytes that left since a round trip before the oldest echoed
    /// departure, over the least R of that time. Packets may overtake each other by this round trip. Returns `None` if the marks
    /// do not reach back as far.
    fn bound(&self) -> Option<Rate> {
        let mut least = self.marks[self.newest]?.rtt;
        let since = self.echoed[MEASURED_REPORTS - 1]?;
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
    /// The rate of these packets.
    const SENT: Rate = Rate::from_bytes_per_sec(1e5);

    /// Sends two seconds of packets; the report of each round trip claims the rate `claimed`.
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
    fn claims_of_sent_rate_and_bursts_are_believed() {
        for times in [0.0, 1.0, 5.0] {
            let (receivable, believed) = claims(SENT * times);
            assert_eq!(believed, SENT * times);
            assert_eq!(receivable.capped(), 0);
        }
    }

    #[test]
    fn claims_above_the_sent_bytes_are_reduced() {
        let (receivable, believed) = claims(SENT * 10.0);
        assert!((5.0..8.0).contains(&(believed / SENT)), "{believed}");
        assert!(receivable.capped() > 10);
        assert!(!receivable.has_caught_a_lie());
    }

    #[test]
    fn claims_of_a_thousand_times_prove_a_lie() {
        assert!(!claims(SENT * 300.0).0.has_caught_a_lie());
        assert!(claims(SENT * 1_000.0).0.has_caught_a_lie());
    }

    #[test]
    fn claims_are_unbounded_before_r_or_beyond_memory() {
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
