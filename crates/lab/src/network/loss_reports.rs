//! The loss event rates that receivers of TFRC report to their senders.

use tfrc::time::{Duration, Instant};

/// The reported loss event rates p: of the first flow over time, and the mean over all flows.
#[derive(Clone, Debug)]
pub struct LossReports {
    /// Of the first flow: times in seconds and p, at most one every 50 ms.
    pub first: Vec<(f64, f64)>,
    reported: Option<Instant>,
    measured: [Instant; 2],
    sum: f64,
    count: u64,
}

/// The curve of the first flow leaves out reports that follow the one before sooner than this.
const MIN_SPACING: Duration = Duration::from_millis(50);

impl LossReports {
    /// Nothing yet. The mean is to be over reports between these instants.
    pub fn new(measured: [Instant; 2]) -> Self {
        Self {
            first: Vec::new(),
            reported: None,
            measured,
            sum: 0.0,
            count: 0,
        }
    }

    /// The same, if it is known only later; nothing that came before counts.
    pub(super) fn measure(&mut self, measured: [Instant; 2]) {
        (self.measured, self.sum, self.count) = (measured, 0.0, 0);
    }

    /// Records a report that has come to the sender of this flow.
    pub fn record(&mut self, flow: usize, now: Instant, p: f64) {
        if (self.measured[0]..self.measured[1]).contains(&now) {
            self.sum += p;
            self.count += 1;
        }
        if flow == 0 && self.reported.is_none_or(|last| now - last >= MIN_SPACING) {
            self.reported = Some(now);
            self.first.push((now.as_secs_f64(), p));
        }
    }

    /// How many reports of all flows came.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Over the reports of all flows; not a number if there were none.
    pub fn mean(&self) -> f64 {
        self.sum / self.count as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_of_all_flows_while_it_is_measured_and_the_curve_of_the_first() {
        let mut reports = LossReports::new([1, 2].map(Instant::from_secs));
        for (flow, millis, p) in [
            (0, 900, 0.5),
            (0, 1_000, 0.1),
            (0, 1_049, 0.2),
            (1, 1_999, 0.3),
            (1, 2_000, 0.7),
        ] {
            reports.record(flow, Instant::from_millis(millis), p);
        }
        assert!((reports.mean() - 0.2).abs() < 1e-12);
        assert_eq!(reports.first, [(0.9, 0.5), (1.0, 0.1)]);
        reports.measure([3, 4].map(Instant::from_secs));
        assert!(reports.mean().is_nan());
    }
}
