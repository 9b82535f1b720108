//! Random early detection: S. Floyd and V. Jacobson, "Random Early Detection Gateways for Congestion
//! Avoidance", IEEE/ACM Transactions on Networking, 1993; gentle after Floyd's note of 2000.

use super::Verdict;
use crate::random::{Random, stream};
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, Rate};

/// What the average is an average of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RedUnit {
    /// Packets that wait. Every packet is as likely to be dropped as another.
    #[default]
    Packets,
    /// Bytes that wait, in packets of the mean size; large packets are dropped more often.
    Bytes,
}

/// How RED behaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RedConfig {
    /// Below this average, in packets, none is dropped.
    pub min: f64,
    /// From this average on, in packets, all are dropped; if gentle, from twice this on.
    pub max: f64,
    /// The probability of dropping just below `max`.
    pub max_p: f64,
    /// How much the present length counts in the average: w_q.
    pub weight: f64,
    /// Lets the probability rise from `max_p` to one between `max` and twice that, instead of jumping.
    pub gentle: bool,
    /// Marks instead of dropping, below `max`.
    pub ecn: bool,
    /// What is averaged.
    pub unit: RedUnit,
    /// The size that an average packet is taken to have.
    pub mean_packet: Bytes,
}

impl RedConfig {
    /// RED between these two averages, gentle, with the weight and the probability of Floyd's
    /// recommendations of 1997, in packets of 1000 bytes.
    pub const fn between(min: f64, max: f64) -> Self {
        Self {
            min,
            max,
            max_p: 0.1,
            weight: 0.002,
            gentle: true,
            ecn: false,
            unit: RedUnit::Packets,
            mean_packet: Bytes::new(1_000),
        }
    }
}

/// What a packet finds when it arrives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) at: Instant,
    pub(super) size: Bytes,
    pub(super) waiting: usize,
    pub(super) bytes: Bytes,
    pub(super) rate: Rate,
}

#[derive(Clone, Debug)]
pub(super) struct Red {
    config: RedConfig,
    average: f64,
    /// Packets let through since the last that was not, while the average was above `min`; none yet if
    /// it was below.
    count: Option<u32>,
    /// From here on the time in which nothing waited has not been taken into the average.
    empty_since: Instant,
    random: Random,
}

impl Red {
    pub(super) fn new(config: RedConfig, seed: u64) -> Self {
        Self {
            config,
            average: 0.0,
            count: None,
            empty_since: Instant::ZERO,
            random: Random::new(seed, stream::QUEUE),
        }
    }

    pub(super) fn config(&self) -> RedConfig {
        self.config
    }

    pub(super) fn arrive(&mut self, found: Found) -> Verdict {
        self.update_average(found);
        let RedConfig { min, max, ecn, .. } = self.config;
        if self.average < min {
            self.count = None;
            return Verdict::Admit;
        }
        let count = self.count.map_or(0, |count| count.saturating_add(1));
        self.count = Some(count);
        let p = self.probability(found.size);
        // Spread over the packets, so that drops do not cluster: p_a = p_b / (1 - count p_b).
        let passed = f64::from(count) * p;
        let spread = if passed < 1.0 {
            p / (1.0 - passed)
        } else {
            1.0
        };
        if p < 1.0 && self.random.unit() >= spread {
            return Verdict::Admit;
        }
        self.count = Some(0);
        Verdict::Congested {
            may_mark: ecn && self.average < max,
        }
    }

    /// The last packet that waited has left.
    pub(super) fn emptied(&mut self, now: Instant) {
        self.empty_since = now;
    }

    fn update_average(&mut self, found: Found) {
        let RedConfig {
            weight,
            mean_packet,
            unit,
            ..
        } = self.config;
        if found.waiting == 0 {
            // As if so many packets had found it empty; whoever comes next finds only the rest of the
            // time, also if this packet is dropped and the queue stays empty.
            let transmission = (mean_packet / found.rate).max(Duration::from_nanos(1));
            let idle = found.at.saturating_since(self.empty_since);
            let packets = idle.as_nanos() / transmission.as_nanos();
            self.average *= power(1.0 - weight, packets);
            let rest = idle.as_nanos() % transmission.as_nanos();
            self.empty_since = found.at - Duration::from_nanos(rest as u64);
            return;
        }
        let length = match unit {
            RedUnit::Packets => found.waiting as f64,
            RedUnit::Bytes => found.bytes.as_f64() / mean_packet.as_f64(),
        };
        self.average += weight * (length - self.average);
    }

    /// p_b.
    fn probability(&self, size: Bytes) -> f64 {
        let RedConfig {
            min,
            max,
            max_p,
            gentle,
            unit,
            mean_packet,
            ..
        } = self.config;
        let p = if self.average < max {
            max_p * (self.average - min) / (max - min)
        } else if gentle && self.average < 2.0 * max {
            max_p + (1.0 - max_p) * (self.average - max) / max
        } else {
            return 1.0;
        };
        match unit {
            RedUnit::Packets => p,
            RedUnit::Bytes => p * (size.as_f64() / mean_packet.as_f64()),
        }
    }
}

/// `base` to the `exponent`, by squaring: the same on every machine.
fn power(mut base: f64, mut exponent: u128) -> f64 {
    let mut result = 1.0;
    while exponent > 0 && result > 0.0 {
        if exponent & 1 == 1 {
            result *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn red(config: RedConfig) -> Red {
        Red::new(config, 1)
    }

    fn found(at_ms: u64, waiting: usize) -> Found {
        Found {
            at: Instant::from_millis(at_ms),
            size: Bytes::new(1_000),
            waiting,
            bytes: Bytes::new(1_000 * waiting as u64),
            rate: Rate::from_bytes_per_sec(1e6),
        }
    }

    #[test]
    fn the_average_follows_the_queue_and_decays_while_it_is_empty() {
        let mut red = red(RedConfig {
            weight: 0.25,
            ..RedConfig::between(50.0, 100.0)
        });
        red.arrive(found(0, 8));
        assert_eq!(red.average, 2.0);
        red.arrive(found(1, 6));
        assert_eq!(red.average, 3.0);
        red.emptied(Instant::from_millis(2));
        // A packet takes 1 ms, so two could have passed: 3 (3/4)².
        red.arrive(found(4, 0));
        assert_eq!(red.average, 1.6875);
    }

    #[test]
    fn the_probability_rises_to_max_p_and_gently_to_one() {
        let mut red = red(RedConfig::between(10.0, 50.0));
        let mut at = |average, size| {
            red.average = average;
            red.probability(Bytes::new(size))
        };
        assert_eq!(at(10.0, 40), 0.0);
        assert_eq!(at(30.0, 40), 0.05);
        assert_eq!(at(50.0, 40), 0.1);
        assert_eq!(at(75.0, 40), 0.55);
        assert_eq!(at(100.0, 40), 1.0);
        red.config.gentle = false;
        red.average = 50.0;
        assert_eq!(red.probability(Bytes::new(40)), 1.0);
        red.config.unit = RedUnit::Bytes;
        red.average = 30.0;
        assert_eq!(red.probability(Bytes::new(500)), 0.025);
    }

    #[test]
    fn time_in_which_nothing_waited_is_taken_in_once() {
        let mut red = red(RedConfig {
            weight: 0.5,
            ..RedConfig::between(1.0, 2.0)
        });
        red.average = 64.0;
        red.emptied(Instant::ZERO);
        // A packet takes 1 ms and those that come are dropped, so that the queue stays empty.
        for (at_us, average) in [(3_700, 8.0), (4_200, 4.0), (4_900, 4.0), (5_000, 2.0)] {
            red.arrive(Found {
                at: Instant::from_micros(at_us),
                ..found(0, 0)
            });
            assert_eq!(red.average, average, "at {at_us} us");
        }
    }

    #[test]
    fn drops_are_spread_evenly() {
        // p_b = 0.05 throughout: the n-th packet after a drop is dropped with 0.05 / (1 - 0.05 n), so
        // that each of 1 to 19 is as likely to be the next, as in the paper's listing (§4), which
        // counts a packet before it looks at the count.
        let mut red = red(RedConfig {
            weight: 1.0,
            ..RedConfig::between(10.0, 50.0)
        });
        let dropped: Vec<u64> = (0..200_000)
            .filter(|&ms| red.arrive(found(ms, 30)) != Verdict::Admit)
            .collect();
        let gaps: Vec<u64> = dropped.windows(2).map(|pair| pair[1] - pair[0]).collect();
        for gap in 1..=19 {
            let times = gaps.iter().filter(|&&found| found == gap).count();
            // A nineteenth of some 20000, within four standard deviations.
            assert!((920..=1_190).contains(&times), "{gap}: {times}");
        }
        assert!(gaps.iter().all(|gap| (1..=19).contains(gap)));
    }

    #[test]
    fn the_first_packet_above_the_minimum_follows_none() {
        let mut red = red(RedConfig {
            weight: 1.0,
            ..RedConfig::between(10.0, 50.0)
        });
        let mut counts = Vec::new();
        for waiting in [11, 11, 9, 11, 200, 11] {
            red.arrive(found(0, waiting));
            counts.push(red.count);
        }
        // Below the minimum the paper's count is -1; all are dropped at 200.
        let expected = [Some(0), Some(1), None, Some(0), Some(0), Some(1)];
        assert_eq!(counts, expected);
    }

    #[test]
    fn packets_are_marked_below_the_maximum_and_dropped_above() {
        let mut red = red(RedConfig {
            weight: 1.0,
            ecn: true,
            ..RedConfig::between(10.0, 50.0)
        });
        let mut verdicts = |waiting| -> Vec<Verdict> {
            let all = (0..1_000).map(|ms| red.arrive(found(ms, waiting)));
            all.filter(|verdict| *verdict != Verdict::Admit).collect()
        };
        let marked = verdicts(49);
        assert!(!marked.is_empty());
        assert!(
            marked
                .iter()
                .all(|verdict| *verdict == Verdict::Congested { may_mark: true })
        );
        let dropped = Verdict::Congested { may_mark: false };
        assert!(verdicts(50).iter().all(|verdict| *verdict == dropped));
        assert_eq!(verdicts(9), []);
    }
}
