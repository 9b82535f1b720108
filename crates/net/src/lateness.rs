//! A histogram of the lateness at deadlines, of bounded size for any number of them.

use tfrc::time::Duration;

/// Counts durations in classes a quarter of an octave wide, so that a quantile is at most a quarter
/// too large.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lateness {
    classes: Box<[u64; CLASSES]>,
    count: u64,
    max: Duration,
}

impl Default for Lateness {
    fn default() -> Self {
        Self {
            classes: Box::new([0; CLASSES]),
            count: 0,
            max: Duration::ZERO,
        }
    }
}

impl Lateness {
    /// Counts one deadline that was met `late`.
    pub fn record(&mut self, late: Duration) {
        let nanos = u64::try_from(late.as_nanos()).unwrap_or(u64::MAX);
        self.classes[class(nanos)] += 1;
        self.count += 1;
        self.max = self.max.max(late);
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The latest.
    pub fn max(&self) -> Duration {
        self.max
    }

    /// What a fraction `q` of them did not exceed, rounded up to the end of its class; zero if none
    /// was counted.
    pub fn quantile(&self, q: f64) -> Duration {
        let rank = (q.clamp(0.0, 1.0) * self.count as f64).ceil() as u64;
        let mut below = 0;
        for (index, count) in self.classes.iter().enumerate() {
            below += count;
            if below >= rank.max(1) {
                return Duration::from_nanos(last_of(index)).min(self.max);
            }
        }
        Duration::ZERO
    }
}

/// Four classes an octave, over the whole range of u64.
const CLASSES: usize = 4 * 64;

/// Below 4 a class holds one value; above, the leading bit and the two after it name the class.
fn class(nanos: u64) -> usize {
    if nanos < 4 {
        return nanos as usize;
    }
    let octave = nanos.ilog2() as usize;
    let quarter = (nanos >> (octave - 2)) as usize & 3;
    4 * (octave - 1) + quarter
}

/// The largest value in a class.
fn last_of(class: usize) -> u64 {
    if class < 4 {
        return class as u64;
    }
    let (octave, quarter) = (class / 4 + 1, class as u64 % 4);
    let width = 1u64 << (octave - 2);
    (4 + quarter) * width + (width - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantiles_of_a_few() {
        let mut lateness = Lateness::default();
        assert_eq!(lateness.quantile(0.5), Duration::ZERO);
        for micros in [1, 2, 3, 1_000] {
            lateness.record(Duration::from_micros(micros));
        }
        let median = lateness.quantile(0.5);
        assert!(median >= Duration::from_micros(2) && median < Duration::from_nanos(2_500));
        assert_eq!(lateness.quantile(1.0), Duration::from_millis(1));
        assert_eq!(
            (lateness.count(), lateness.max()),
            (4, Duration::from_millis(1))
        );
    }

    proptest! {
        #[test]
        fn a_value_lies_in_its_class_and_not_in_the_one_before(nanos: u64) {
            let class = class(nanos);
            prop_assert!(nanos <= last_of(class));
            prop_assert!(class == 0 || nanos > last_of(class - 1));
        }
    }
}
