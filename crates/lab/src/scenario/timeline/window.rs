//! The times at which a case is measured: flows on long paths settle later and remember longer.

use serde::Deserialize;
use tfrc::time::{Duration, Instant};

use super::{Case, MOST_POINTS, Timeline};
use crate::error::{Impossible, require};
use crate::metrics::Throughput;
use crate::scenario::require::{require_bins, require_recordable, require_window};
use crate::units::Time;

/// Times of the cases from a round trip on.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Window {
    /// It is for cases with this round trip or a longer one, unless another window begins nearer to theirs.
    rtt: Time,
    /// From and to when rates are drawn; the run ends then.
    pub(super) shown: [Time; 2],
    /// From and to when shares and smoothness are measured.
    pub(super) measured: [Time; 2],
    /// What is measured falls into parts of this length, which tell how sure a ratio of throughputs is.
    pub(super) batch: Option<Time>,
}

impl Window {
    /// Refuses what so many flows cannot be recorded in.
    pub(super) fn verify(&self, flows: usize, drawn: Time) -> Result<(), Impossible> {
        require_recordable("shown", self.shown, flows)?;
        require_window("shown", self.shown)?;
        require_window("measured", self.measured)?;
        let inside = self.shown[0] <= self.measured[0] && self.measured[1] <= self.shown[1];
        require(inside, "measured", "[from, to] within shown")?;
        let points = (self.shown[1].secs() - self.shown[0].secs()) / drawn.secs();
        require(
            points <= MOST_POINTS,
            "drawn",
            "longer: at most 50000 points are drawn",
        )?;
        require_bins("batch", &self.batch)?;
        let measured = self.measured[1].0 - self.measured[0].0;
        let twice = self.batch.is_none_or(|batch| batch.0 * 2 <= measured);
        require(twice, "batch", "at most half of what is measured")
    }
}

impl Timeline {
    /// Those of cases that no window is for.
    pub(super) fn times(&self) -> Window {
        Window {
            rtt: Time(Duration::ZERO),
            shown: self.shown,
            measured: self.measured,
            batch: self.batch,
        }
    }

    /// When a case is looked at.
    pub(super) fn times_of(&self, case: &Case) -> Window {
        let fit = self.window.iter().filter(|window| window.rtt <= case.rtt);
        let nearest = fit.max_by_key(|window| window.rtt);
        nearest.copied().unwrap_or_else(|| self.times())
    }

    /// Rates on a timescale, of the time that is measured.
    pub(super) fn within(&self, case: &Case, flow: &Throughput, timescale: Duration) -> Vec<f64> {
        let measured = self.times_of(case).measured;
        flow.within(timescale, measured.map(|time| Instant::ZERO + time.0))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::scenario;
    use super::*;

    fn window(rtt: &str, more: &str) -> Window {
        let text = format!(
            "rtt = \"{rtt}\"\nshown = [\"0s\", \"30s\"]\nmeasured = [\"10s\", \"30s\"]\n{more}"
        );
        toml::from_str(&text).unwrap()
    }

    #[test]
    fn a_case_has_the_window_that_begins_nearest_below_its_round_trip() {
        let mut scenario = scenario();
        assert_eq!(
            scenario.times_of(&scenario.case[0]).measured,
            scenario.measured
        );
        // The cases have 20 ms.
        scenario.window = ["21ms", "20ms", "3ms"].map(|rtt| window(rtt, "")).to_vec();
        let rtt = scenario.times_of(&scenario.case[0]).rtt;
        assert_eq!(rtt, Time(Duration::from_millis(20)));
        scenario.window.truncate(1);
        assert_eq!(scenario.times_of(&scenario.case[0]).shown, scenario.shown);
    }

    #[test]
    fn there_are_two_parts_of_what_is_measured_or_more() {
        let key = |batch: &str| {
            let window = window("0s", &format!("batch = \"{batch}\""));
            window
                .verify(2, Time(Duration::from_secs(1)))
                .map_err(|wrong| wrong.key)
        };
        assert_eq!(key("10s"), Ok(()));
        assert_eq!(key("10050ms"), Err("batch"));
        assert_eq!(key("75ms"), Err("batch"));
        assert_eq!(key("0s"), Err("batch"));
    }
}
