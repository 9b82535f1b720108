//! Chooses which pictures of a stream are left out, if the path does not carry all of them.

use std::time::Duration;

use tfrc::units::{Bytes, Rate};

/// The rhythms, as kept pictures of all. Each rhythm repeats soon, so that motion stays even.
const RHYTHMS: [(u32, u32); 13] = [
    (1, 1),
    (5, 6),
    (3, 4),
    (2, 3),
    (1, 2),
    (1, 3),
    (1, 4),
    (1, 6),
    (1, 8),
    (1, 12),
    (1, 16),
    (1, 32),
    (1, 64),
];

/// The share of the path's rate that pictures use, since the timing of packets is not exact.
const FILL_FRACTION: f64 = 0.98;

/// The multiple of the needed rate that must be available for this time before the share rises. The time exceeds
/// the swings of the rate.
const CLIMB_MARGIN: f64 = 1.05;
const CLIMB_TIME: Duration = Duration::from_secs(1);

/// The most intervals for which a picture counts, so that a rate of zero stays finite. `RHYTHMS` ends there.
const MAX_INTERVALS: f64 = 64.0;

/// The backlog above which fewer pictures are sent: a third of the deadline.
const MAX_BACKLOG: Duration = Duration::from_millis(50);

/// Chooses which pictures are sent: as many as the path carries whole, evenly.
#[derive(Clone, Debug)]
pub(crate) struct Thinning {
    interval: Duration,
    step: usize,
    /// A fraction up to 1; a picture is sent when it overflows.
    phase: (u32, u32),
    /// The queue of pictures in time: it grows while the path carries less than the step needs, and drains while it
    /// carries more.
    behind: Duration,
    /// True until a step down: the rate still rises to what the path carries.
    starting: bool,
    /// The time for which a better step has been possible, and the best one that was possible throughout.
    roomy: Duration,
    possible: usize,
}

impl Thinning {
    /// Creates the state for pictures every `interval`: the first is sent, and as many others as the path proves to
    /// carry.
    pub(crate) fn new(interval: Duration) -> Self {
        Self {
            interval,
            step: RHYTHMS.len() - 1,
            phase: (0, 1),
            behind: Duration::ZERO,
            starting: true,
            roomy: Duration::ZERO,
            possible: 0,
        }
    }

    /// Returns true if the next picture, of `size`, is sent while the path carries `rate`.
    pub(crate) fn admits(&mut self, size: Bytes, rate: Rate) -> bool {
        self.follow(size / self.interval, rate * FILL_FRACTION);
        let (kept, of) = RHYTHMS[self.step];
        if self.phase.1 != of {
            // The first picture of a rhythm is sent.
            self.phase = (of - kept, of);
        }
        self.phase.0 += kept;
        let sent = self.phase.0 >= of;
        if sent {
            self.phase.0 -= of;
        }
        sent
    }

    /// Steps down as soon as the buffer no longer helps, and up slowly; `whole` is the rate of all pictures.
    fn follow(&mut self, whole: Rate, carried: Rate) {
        let fits = |margin: f64| {
            let fits = |(kept, of): &(u32, u32)| {
                whole * (f64::from(*kept) / f64::from(*of)) * margin <= carried
            };
            RHYTHMS.iter().position(fits).unwrap_or(RHYTHMS.len() - 1)
        };
        let (fitting, roomy) = (fits(1.0), fits(CLIMB_MARGIN));
        let (kept, of) = RHYTHMS[self.step];
        let needed = whole * (f64::from(kept) / f64::from(of));
        let taken = self.interval.mul_f64((needed / carried).min(MAX_INTERVALS));
        self.behind = (self.behind + taken)
            .saturating_sub(self.interval)
            .min(MAX_BACKLOG + self.interval);
        if fitting > self.step {
            self.roomy = Duration::ZERO;
            if self.behind > MAX_BACKLOG {
                self.step = fitting;
                (self.behind, self.starting) = (Duration::ZERO, false);
            }
            return;
        }
        if self.starting {
            self.step = fitting;
            return;
        }
        if roomy >= self.step {
            self.roomy = Duration::ZERO;
            return;
        }
        if self.roomy.is_zero() {
            self.possible = 0;
        }
        self.possible = self.possible.max(roomy);
        self.roomy += self.interval;
        if self.roomy >= CLIMB_TIME {
            self.step = self.possible;
            self.roomy = Duration::ZERO;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Bytes = Bytes::new(12_500);

    /// Returns the state for 50 pictures a second of 100,000 bits: 5 Mb/s in all.
    fn thinning() -> Thinning {
        Thinning::new(Duration::from_millis(20))
    }

    fn sent(thinning: &mut Thinning, pictures: usize, megabits: f64) -> Vec<usize> {
        let rate = Rate::from_bits_per_sec(megabits * 1e6);
        (0..pictures)
            .filter(|_| thinning.admits(FRAME, rate))
            .collect()
    }

    #[test]
    fn what_fits_is_sent_whole() {
        assert_eq!(sent(&mut thinning(), 100, 5.2).len(), 100);
    }

    #[test]
    fn gaps_are_even_once_path_is_known() {
        for (megabits, kept, of) in [
            (4.3, 5, 6),
            (3.5, 2, 3),
            (2.6, 1, 2),
            (0.9, 1, 6),
            (0.01, 1, 64),
        ] {
            let mut thinning = thinning();
            sent(&mut thinning, 1, megabits);
            let sent = sent(&mut thinning, 40 * of, megabits);
            assert_eq!(sent.len(), 40 * kept, "{megabits} Mb/s");
            let gaps: Vec<usize> = sent.windows(2).map(|pair| pair[1] - pair[0]).collect();
            let spread = gaps.iter().max().unwrap() - gaps.iter().min().unwrap();
            assert!(spread <= 1, "{gaps:?}");
        }
    }

    #[test]
    fn share_falls_when_behind_and_rises_later() {
        let mut thinning = thinning();
        sent(&mut thinning, 10, 5.2);
        // At half of its rate each picture takes an interval too long: 20 ms, of which the backlog bridges 50.
        assert_eq!(sent(&mut thinning, 2 + 6, 2.6).len(), 2 + 3);
        // 49 pictures are not yet a second.
        assert!(sent(&mut thinning, 49, 9.0).len() <= 25);
        assert_eq!(sent(&mut thinning, 20, 9.0).len(), 20);
    }

    #[test]
    fn share_rises_at_once_until_first_excess() {
        let mut thinning = thinning();
        assert_eq!(sent(&mut thinning, 12, 0.9).len(), 2);
        assert_eq!(sent(&mut thinning, 12, 2.7).len(), 6);
        assert_eq!(sent(&mut thinning, 12, 5.4).len(), 12);
    }

    #[test]
    fn share_rises_by_the_room_that_lasted() {
        let mut thinning = thinning();
        sent(&mut thinning, 10, 5.2);
        sent(&mut thinning, 10, 0.01);
        for megabits in [9.0, 2.7, 9.0] {
            sent(&mut thinning, 20, megabits);
        }
        assert_eq!(sent(&mut thinning, 20, 9.0).len(), 10);
    }

    #[test]
    fn recovered_fall_does_not_show() {
        let mut thinning = thinning();
        sent(&mut thinning, 1, 5.2);
        for _ in 0..50 {
            assert_eq!(sent(&mut thinning, 6, 7.6).len(), 6);
            assert_eq!(sent(&mut thinning, 4, 3.6).len(), 4);
        }
    }

    #[test]
    fn step_that_barely_fits_is_not_taken() {
        let mut thinning = thinning();
        sent(&mut thinning, 10, 5.2);
        sent(&mut thinning, 100, 3.5);
        // Three of four pictures are 3.75 Mb/s, and 98 % of 3.85 is 3.77.
        assert_eq!(sent(&mut thinning, 300, 3.85).len(), 200);
    }

    #[test]
    fn swinging_rate_does_not_show() {
        let mut thinning = thinning();
        sent(&mut thinning, 10, 5.2);
        sent(&mut thinning, 100, 3.5);
        let mut steps = Vec::new();
        for turn in 0..200 {
            sent(&mut thinning, 5, if turn % 2 == 0 { 3.6 } else { 4.0 });
            steps.push(thinning.step);
        }
        assert!(steps.windows(2).all(|pair| pair[0] == pair[1]), "{steps:?}");
    }
}
