//! Proportional integral controller enhanced: RFC 8033, with its delay measured by timestamps (§5.2).

use super::Verdict;
use crate::random::{Random, stream};
use tfrc::time::{Duration, Instant};
use tfrc::units::Bytes;

/// How PIE behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PieConfig {
    /// The delay aimed at: QDELAY_REF.
    pub target: Duration,
    /// How often the probability is computed: T_UPDATE. At least [`PieConfig::LEAST_UPDATE`].
    pub update: Duration,
    /// For so long a burst into an idle queue is let through: MAX_BURST.
    pub burst: Duration,
    /// Marks instead of dropping, while the probability is below a tenth.
    pub ecn: bool,
}

impl PieConfig {
    /// The shortest `update`.
    pub const LEAST_UPDATE: Duration = Duration::from_millis(1);
}

impl Default for PieConfig {
    /// 15, 15 and 150 ms (RFC 8033 §4), without ECN.
    fn default() -> Self {
        Self {
            target: Duration::from_millis(15),
            update: Duration::from_millis(15),
            burst: Duration::from_millis(150),
            ecn: false,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Pie {
    config: PieConfig,
    probability: f64,
    /// The probabilities since the last drop, added up.
    accumulated: f64,
    /// In seconds: of the last packet that left, and at the last update.
    delay: f64,
    old_delay: f64,
    burst_left: Duration,
    next_update: Instant,
    random: Random,
}

impl Pie {
    pub(super) fn new(mut config: PieConfig, seed: u64) -> Self {
        config.update = config.update.max(PieConfig::LEAST_UPDATE);
        Self {
            config,
            probability: 0.0,
            accumulated: 0.0,
            delay: 0.0,
            old_delay: 0.0,
            burst_left: config.burst,
            next_update: Instant::ZERO + config.update,
            random: Random::new(seed, stream::QUEUE),
        }
    }

    pub(super) fn config(&self) -> PieConfig {
        self.config
    }

    /// A packet arrives while `bytes` wait (§4.1).
    pub(super) fn arrive(&mut self, now: Instant, bytes: Bytes) -> Verdict {
        self.advance(now, bytes == Bytes::ZERO);
        if self.burst_left > Duration::ZERO || !self.is_chosen(bytes) {
            return Verdict::Admit;
        }
        self.accumulated = 0.0;
        Verdict::Congested {
            may_mark: self.config.ecn && self.probability < MARK_BELOW,
        }
    }

    /// A packet that waited for `delay` leaves a queue that was not empty.
    pub(super) fn leave(&mut self, now: Instant, delay: Duration) {
        self.advance(now, false);
        self.delay = delay.as_secs_f64();
    }

    fn is_chosen(&mut self, bytes: Bytes) -> bool {
        let is_short = self.old_delay < self.target() / 2.0 && self.probability < 0.2;
        if is_short || bytes <= MIN_QUEUE {
            return false;
        }
        if self.probability == 0.0 {
            self.accumulated = 0.0;
        }
        // Neither two drops close together nor none for long (§5.4).
        self.accumulated += self.probability;
        if self.accumulated < 0.85 {
            return false;
        }
        self.accumulated >= 8.5 || self.random.unit() < self.probability
    }

    /// Makes the updates that have been due since the queue was last touched.
    fn advance(&mut self, now: Instant, is_empty: bool) {
        while self.next_update <= now {
            if is_empty {
                self.delay = 0.0;
            }
            self.update();
            self.next_update += self.config.update;
            let is_at_rest = self.probability == 0.0
                && self.delay == 0.0
                && self.old_delay == 0.0
                && self.burst_left == self.config.burst;
            if is_at_rest && self.next_update <= now {
                // Nothing more changes; the next one is due an interval after this arrival.
                self.next_update = now + self.config.update;
            }
        }
    }

    /// §4.2.
    fn update(&mut self) {
        let change = ALPHA * (self.delay - self.target()) + BETA * (self.delay - self.old_delay);
        let scaled = change / divisor(self.probability);
        let capped = if self.probability >= 0.1 {
            scaled.min(0.02)
        } else {
            scaled
        };
        let mut probability = self.probability + capped;
        if self.delay == 0.0 && self.old_delay == 0.0 {
            probability *= 0.98;
        }
        self.probability = probability.clamp(0.0, 1.0);
        let half = self.target() / 2.0;
        let is_calm = self.probability == 0.0 && self.delay < half && self.old_delay < half;
        self.burst_left = if is_calm {
            self.config.burst
        } else {
            self.burst_left.saturating_sub(self.config.update)
        };
        self.old_delay = self.delay;
    }

    fn target(&self) -> f64 {
        self.config.target.as_secs_f64()
    }
}

/// A small probability changes in small steps (§4.2).
fn divisor(probability: f64) -> f64 {
    let steps = [
        (1e-6, 2_048.0),
        (1e-5, 512.0),
        (1e-4, 128.0),
        (1e-3, 32.0),
        (1e-2, 8.0),
        (1e-1, 2.0),
    ];
    let step = steps.iter().find(|(below, _)| probability < *below);
    step.map_or(1.0, |&(_, divisor)| divisor)
}

/// Per second of delay (§4.2).
const ALPHA: f64 = 0.125;
const BETA: f64 = 1.25;
/// MARK_ECNTH (§5.1).
const MARK_BELOW: f64 = 0.1;
/// Two packets of mean size: fewer bytes are no queue (§4.1).
const MIN_QUEUE: Bytes = Bytes::new(2 * 1_024);

#[cfg(test)]
mod tests {
    use super::*;

    const WAITING: Bytes = Bytes::new(100_000);

    fn ms(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    #[test]
    fn the_probability_is_that_of_the_equation() {
        let mut pie = Pie::new(PieConfig::default(), 1);
        pie.leave(ms(10), Duration::from_millis(30));
        pie.arrive(ms(15), WAITING);
        // 0.125 (30 - 15) ms + 1.25 (30 - 0) ms, over 2048.
        let first = (0.001_875 + 0.037_5) / 2_048.0;
        assert!((pie.probability - first).abs() < 1e-12);
        pie.arrive(ms(44), WAITING);
        // The delay has not changed: the first term alone, over 128.
        let second = first + 0.001_875 / 128.0;
        assert!((pie.probability - second).abs() < 1e-12);
    }

    /// One update of a probability, after these delays in seconds.
    fn updated(probability: f64, delay: f64, old_delay: f64) -> f64 {
        let mut pie = Pie::new(PieConfig::default(), 1);
        (pie.probability, pie.delay, pie.old_delay) = (probability, delay, old_delay);
        pie.update();
        pie.probability
    }

    #[test]
    fn the_smaller_the_probability_the_smaller_its_steps() {
        // 25 ms throughout: 0.125 (25 - 15) ms = 0.00125 before it is scaled (§4.2's table).
        for (probability, divisor) in [
            (0.0, 2_048.0),
            (0.99e-6, 2_048.0),
            (1e-6, 512.0),
            (1e-5, 128.0),
            (1e-4, 32.0),
            (1e-3, 8.0),
            (1e-2, 2.0),
            (0.1, 1.0),
        ] {
            let step = updated(probability, 0.025, 0.025) - probability;
            let expected = 0.001_25 / divisor;
            assert!(
                (step / expected - 1.0).abs() < 1e-9,
                "{probability}: {step}"
            );
        }
    }

    #[test]
    fn a_high_probability_rises_by_two_hundredths_at_most_and_falls_while_nothing_waits() {
        let near = |value: f64, expected: f64| (value - expected).abs() < 1e-12;
        // 0.125 (415 - 15) ms + 1.25 (415 - 375) ms = 0.1 (§5.5).
        assert!(near(updated(0.1, 0.415, 0.375), 0.12));
        assert!(near(updated(0.09, 0.415, 0.375), 0.09 + 0.1 / 2.0));
        assert!(near(updated(0.99, 0.415, 0.375), 1.0));
        // -0.125 · 15 ms, then a fiftieth less.
        assert!(near(updated(0.5, 0.0, 0.0), (0.5 - 0.001_875) * 0.98));
        assert!(near(updated(0.5, 0.0, 0.001), 0.5 - 0.003_125));
        assert!(near(updated(1e-3, 0.0, 0.02), 0.0));
    }

    #[test]
    fn drops_are_neither_close_together_nor_far_apart() {
        let mut pie = Pie::new(PieConfig::default(), 1);
        (pie.probability, pie.old_delay) = (0.125, 0.03);
        pie.burst_left = Duration::ZERO;
        let mut gaps = Vec::new();
        let mut gap = 0;
        for _ in 0..20_000 {
            gap += 1;
            if pie.arrive(Instant::ZERO, WAITING) != Verdict::Admit {
                gaps.push(gap);
                gap = 0;
            }
        }
        // Seven eighths are the first sum of at least 0.85 (§5.4).
        assert_eq!(gaps.iter().min(), Some(&7));
        // Whatever is drawn, what adds up to 8.5 drops.
        for seed in 0..100 {
            let mut pie = Pie::new(PieConfig::default(), seed);
            (pie.probability, pie.old_delay) = (0.125, 0.03);
            pie.burst_left = Duration::ZERO;
            pie.accumulated = 8.375;
            assert_ne!(pie.arrive(Instant::ZERO, WAITING), Verdict::Admit);
        }
    }

    #[test]
    fn a_standing_delay_raises_it_until_packets_are_dropped_and_an_empty_queue_lowers_it() {
        let mut pie = Pie::new(PieConfig::default(), 1);
        let mut refused = 0;
        for at in 0..5_000 {
            pie.leave(ms(at), Duration::from_millis(40));
            let dropped = pie.arrive(ms(at), WAITING) != Verdict::Admit;
            assert!(!dropped || at >= 150, "the burst allowance is {at} ms");
            refused += u32::from(dropped);
        }
        assert!(refused > 100, "{refused}");
        assert_eq!(pie.arrive(ms(5_000), MIN_QUEUE), Verdict::Admit);
        let at_rest = ms(100_000);
        assert_eq!(pie.arrive(at_rest, Bytes::ZERO), Verdict::Admit);
        assert_eq!(pie.probability, 0.0);
        assert_eq!(pie.burst_left, pie.config.burst);
    }

    #[test]
    fn a_high_probability_drops_what_it_would_have_marked() {
        let ecn = PieConfig {
            ecn: true,
            ..PieConfig::default()
        };
        let mut pie = Pie::new(ecn, 1);
        pie.burst_left = Duration::ZERO;
        (pie.delay, pie.old_delay) = (0.03, 0.03);
        let mut first = |probability| {
            pie.probability = probability;
            (0..1_000)
                .map(|_| pie.arrive(Instant::ZERO, WAITING))
                .find(|verdict| *verdict != Verdict::Admit)
        };
        assert_eq!(first(0.05), Some(Verdict::Congested { may_mark: true }));
        assert_eq!(first(0.5), Some(Verdict::Congested { may_mark: false }));
    }
}
