//! Bytes over time, in bins.

use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, Rate};

/// What a flow sent (or received) from an instant on, in bins of one width.
///
/// Memory is one number a bin, whatever is sent.
#[derive(Clone, Debug)]
pub struct Throughput {
    start: Instant,
    bin: Duration,
    bytes: Vec<u64>,
}

impl Throughput {
    /// Nothing yet, over whole bins from `start` to `end`; a rest shorter than a bin is left out.
    ///
    /// Every timescale that is asked for later must be a multiple of `bin`, which is above zero.
    pub fn new(start: Instant, end: Instant, bin: Duration) -> Self {
        let bins = (end - start).as_nanos() / bin.as_nanos().max(1);
        Self {
            start,
            bin,
            bytes: vec![0; bins as usize],
        }
    }

    /// Counts a packet; one before the start or after the end does not count.
    pub fn add(&mut self, at: Instant, size: Bytes) {
        let Some(since) = at.checked_since(self.start) else {
            return;
        };
        let index = since.as_nanos() / self.bin.as_nanos().max(1);
        if let Some(bin) = self.bytes.get_mut(index as usize) {
            *bin += size.get();
        }
    }

    /// B(t, δ) in bytes per second, t = start, start + δ, … (`thesis` equation 5.1).
    ///
    /// δ is rounded to a multiple of the bin, of at least one; a rest shorter than δ is left out.
    pub fn rates(&self, timescale: Duration) -> Vec<f64> {
        self.joined(&self.bytes, timescale)
    }

    /// B(t, δ) of the intervals that lie wholly between two instants, t = from, from + δ, …: an interval
    /// that is partly outside does not count. `from` is rounded up to a bin, and `to` down.
    pub fn within(&self, timescale: Duration, [from, to]: [Instant; 2]) -> Vec<f64> {
        let bin = self.bin.as_nanos().max(1);
        let since = |at: Instant| -> u128 {
            let since = at.checked_since(self.start);
            since.map_or(0, |since| since.as_nanos())
        };
        let first = since(from).div_ceil(bin) as usize;
        let end = self.bytes.len().min((since(to) / bin) as usize);
        let inside = self.bytes.get(first..end).unwrap_or_default();
        self.joined(inside, timescale)
    }

    fn joined(&self, bytes: &[u64], timescale: Duration) -> Vec<f64> {
        let ratio = timescale.as_secs_f64() / self.bin.as_secs_f64();
        let bins = ratio.round().max(1.0) as usize;
        let seconds = self.bin.as_secs_f64() * bins as f64;
        let slices = bytes.chunks_exact(bins);
        slices
            .map(|bytes| bytes.iter().sum::<u64>() as f64 / seconds)
            .collect()
    }

    /// The middle of each interval of [`Throughput::rates`], in seconds since the clock's zero.
    pub fn times(&self, timescale: Duration) -> Vec<f64> {
        let step = timescale.as_secs_f64();
        let count = self.rates(timescale).len();
        let start = self.start.as_secs_f64();
        (0..count)
            .map(|i| start + (i as f64 + 0.5) * step)
            .collect()
    }

    /// B over all of the time (`thesis` equation 5.2).
    pub fn mean(&self) -> Rate {
        self.total() / (self.bin * u32::try_from(self.bytes.len()).unwrap_or(u32::MAX))
    }

    /// All bytes counted.
    pub fn total(&self) -> Bytes {
        Bytes::new(self.bytes.iter().sum())
    }
}

/// The share of a link that was used: bytes through it over what it could have carried.
pub fn utilisation(carried: Bytes, rate: Rate, time: Duration) -> f64 {
    carried.as_f64() / (rate.bytes_per_sec() * time.as_secs_f64())
}

/// What was sent of what was allowed. Each step has a time in seconds, the allowed rate in bytes a second, which
/// holds until the next, and the bytes sent so far.
pub fn used_of_allowed(steps: &[(f64, f64, f64)]) -> f64 {
    let pairs = || steps.windows(2).map(|pair| (pair[0], pair[1]));
    let allowed: f64 = pairs().map(|(a, b)| a.1 * (b.0 - a.0)).sum();
    let sent: f64 = pairs().map(|(a, b)| b.2 - a.2).sum();
    sent / allowed
}

/// The share of packets that a queue dropped, of those that came to it.
pub fn drop_rate(dropped: u64, arrived: u64) -> f64 {
    dropped as f64 / arrived as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn half_a_second() -> Throughput {
        let mut throughput = Throughput::new(at(1_000), at(1_500), MS(100));
        for (ms, bytes) in [
            (999, 7),
            (1_000, 10),
            (1_099, 20),
            (1_100, 40),
            (1_450, 50),
            (1_500, 9),
        ] {
            throughput.add(at(ms), Bytes::new(bytes));
        }
        throughput
    }

    #[test]
    fn a_packet_counts_in_the_interval_that_begins_at_or_before_it() {
        let throughput = half_a_second();
        assert_eq!(throughput.rates(MS(100)), [300.0, 400.0, 0.0, 0.0, 500.0]);
        assert_eq!(throughput.total(), Bytes::new(120));
        assert_eq!(throughput.mean(), Rate::from_bytes_per_sec(240.0));
    }

    #[test]
    fn longer_timescales_join_bins_and_leave_the_rest_out() {
        let throughput = half_a_second();
        assert_eq!(throughput.rates(MS(200)), [350.0, 0.0]);
        assert_eq!(throughput.times(MS(200)), [1.1, 1.3]);
        assert_eq!(throughput.rates(MS(600)), [0.0; 0]);
    }

    #[test]
    fn only_intervals_that_lie_wholly_inside_count() {
        let throughput = half_a_second();
        let within = |ms, from, to| throughput.within(MS(ms), [at(from), at(to)]);
        assert_eq!(within(100, 1_100, 1_300), [400.0, 0.0]);
        // They begin where the time begins, and 1.3 s to 1.5 s is partly outside.
        assert_eq!(within(200, 1_100, 1_400), [200.0]);
        assert_eq!(within(200, 1_100, 1_500), [200.0, 250.0]);
        // Ends between bins: 1.1 s to 1.4 s are left.
        assert_eq!(within(100, 1_001, 1_499), [400.0, 0.0, 0.0]);
        assert_eq!(within(200, 1_400, 1_500), [0.0; 0]);
        // No more than there is.
        assert_eq!(within(100, 0, 9_000), throughput.rates(MS(100)));
        assert_eq!(within(100, 9_000, 9_500), [0.0; 0]);
    }

    #[test]
    fn shares_are_of_what_was_possible() {
        let rate = Rate::from_bytes_per_sec(1_000.0);
        assert_eq!(
            utilisation(Bytes::new(900), rate, Duration::from_secs(2)),
            0.45
        );
        assert_eq!(drop_rate(3, 60), 0.05);
        // 100 bytes a second for two seconds and 200 for one allow 400; the last rate holds for no time.
        let steps = [(0.0, 100.0, 50.0), (2.0, 200.0, 150.0), (3.0, 9.0, 350.0)];
        assert_eq!(used_of_allowed(&steps), 0.75);
        assert!(drop_rate(0, 0).is_nan());
    }
}
