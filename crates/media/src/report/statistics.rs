//! Means over time and percentiles, in memory of constant size.

use tfrc::time::Instant;

/// The mean over time of a quantity that stays constant from one sample to the next.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TimeMean {
    previous: Option<(Instant, f64)>,
    area: f64,
    time: f64,
}

impl TimeMean {
    pub(super) fn add(&mut self, at: Instant, value: Option<f64>) {
        if let Some((since, value)) = self.previous {
            let time = at.saturating_since(since).as_secs_f64();
            self.area += value * time;
            self.time += time;
        }
        self.previous = value
            .filter(|value| value.is_finite())
            .map(|value| (at, value));
    }

    pub(super) fn mean(&self) -> Option<f64> {
        (self.time > 0.0).then(|| self.area / self.time)
    }
}

/// Counts samples in bins of one width, so that memory does not grow with time.
#[derive(Clone, Debug)]
pub(super) struct Histogram {
    width: f64,
    bins: Vec<u32>,
    pub(super) count: u64,
}

/// The number of bins. The last one also counts all larger samples: ten seconds of delay, 1000 dB, 2000 %.
const BINS: usize = 100_000;

impl Histogram {
    pub(super) fn new(width: f64) -> Self {
        Self {
            width,
            bins: Vec::new(),
            count: 0,
        }
    }

    pub(super) fn add(&mut self, value: f64) {
        let bin = ((value / self.width) as usize).min(BINS - 1);
        if bin >= self.bins.len() {
            self.bins.resize(bin + 1, 0);
        }
        self.bins[bin] += 1;
        self.count += 1;
    }

    /// Returns the number of samples up to `value`, with the error of a bin.
    pub(super) fn up_to(&self, value: f64) -> u64 {
        let bins = self.bins.iter().take((value / self.width) as usize);
        bins.map(|count| u64::from(*count)).sum()
    }

    /// Returns a percentile by nearest rank, as the middle of a bin.
    pub(super) fn percentile(&self, percent: f64) -> Option<f64> {
        let rank = (percent / 100.0 * self.count as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        let bin = self.bins.iter().position(|count| {
            seen += u64::from(*count);
            seen >= rank
        })?;
        Some((bin as f64 + 0.5) * self.width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded_by_the_bins() {
        let mut histogram = Histogram::new(0.1);
        for value in [0.0, 5.0, 1e300, f64::NAN] {
            histogram.add(value);
        }
        assert!(histogram.bins.len() <= BINS);
        assert_eq!(Histogram::new(1.0).percentile(50.0), None);
    }
}
