//! What is told of the first flow: when it settles, its extremes, what its reports say, and how its
//! packets are spaced.

use super::{Case, Timeline};
use crate::findings::Sample;
use crate::metrics::{
    Throughput, cov, dip_after_peak_pct, least, mean, most, quantile, reaching_time, settling_time,
    share,
};
use crate::units::Time;
use tfrc::time::Instant;

impl Timeline {
    /// How long after the change the flow first has its share, and from when on it keeps it to the end of the
    /// run; and whether it does, which over seeds is the share of them that the mean time is of.
    pub(super) fn settling(&self, sample: &mut Sample, case: &Case, flow: &Throughput, fair: f64) {
        let Some(settle) = self.settle else { return };
        let fair = settle.to.map_or(fair, |rate| rate.0.bytes_per_sec());
        let rest = [settle.after, self.times_of(case).shown[1]].map(|time| Instant::ZERO + time.0);
        let rates = flow.within(settle.over.0, rest);
        let bounds = [settle.low * fair, settle.high * fair];
        let name = &case.name;
        for (verb, time) in [
            ("reaches", reaching_time(&rates, settle.over.secs(), bounds)),
            ("settles", settling_time(&rates, settle.over.secs(), bounds)),
        ] {
            sample.time(format!("{verb}_s_{name}"), time);
            let does = f64::from(u8::from(!time.is_nan()));
            sample.metric(format!("{verb}_share_{name}"), does);
        }
    }

    /// How many packets leave in the busiest interval from when it is measured to the end of the run.
    pub(super) fn peak(&self, sample: &mut Sample, case: &Case, sent: &Throughput) {
        let Some(over) = self.peak_over else { return };
        let packets = over.secs() / self.packet(&self.group[0]).0.as_f64();
        let times = self.times_of(case);
        let rest = [times.measured[0], times.shown[1]].map(|time| Instant::ZERO + time.0);
        let peak = most(sent.within(over.0, rest)) * packets;
        sample.metric(format!("peak_pkts_{}", case.name), peak);
    }

    /// The rate of the idlest interval of the time that is measured; and how far it falls, once it has
    /// been highest, below the mean from then on.
    pub(super) fn floor(&self, sample: &mut Sample, case: &Case, sent: &Throughput) {
        let Some(over) = self.floor_over else { return };
        let rates = self.within(case, sent, over.0);
        let dip = dip_after_peak_pct(&rates);
        sample.metric(format!("rate_dip_pct_{}", case.name), dip);
        let kilobits = least(rates) * 8.0 / 1e3;
        sample.metric(format!("rate_floor_kbps_{}", case.name), kilobits);
    }

    /// p while it is measured, and in the second half of the time that is shown before.
    pub(super) fn loss_event_rate(&self, sample: &mut Sample, case: &Case, rates: &[(f64, f64)]) {
        let name = &case.name;
        let times = self.times_of(case);
        let [from, to] = times.measured.map(Time::secs);
        let half = from.midpoint(times.shown[0].secs());
        for (when, from, to) in [("", from, to), ("before_", half, from)] {
            let inside = rates.iter().filter(|(t, _)| (from..to).contains(t));
            let values: Vec<f64> = inside.map(|(_, p)| *p).collect();
            sample.metric(format!("p_mean_{when}{name}"), mean(&values));
            sample.metric(format!("p_cov_{when}{name}"), cov(&values));
        }
        sample.curve("p", name.as_str(), rates.iter().copied());
    }
}

/// Gaps below this are packets back to back.
const BACK_TO_BACK: f64 = 50e-6;
/// Gaps as near as this to a whole millisecond are thought to come from a timer of that tick: of
/// evenly distributed ones a tenth.
const TICK_TOLERANCE: f64 = 50e-6;
/// Steps of their distribution, and how long each is.
const GAP_STEPS: u32 = 200;
const GAP_STEP: f64 = 0.5e-3;

pub(super) fn inter_packet_gaps(sample: &mut Sample, case: &Case, inter_packet_gaps: &[f64]) {
    let name = &case.name;
    let from_whole = |gap: f64| (gap * 1e3 - (gap * 1e3).round()).abs() / 1e3;
    for (metric, value) in [
        (
            "ipi_back_to_back_pct",
            100.0 * share(inter_packet_gaps, |gap| gap < BACK_TO_BACK),
        ),
        (
            "ipi_whole_ms_pct",
            100.0 * share(inter_packet_gaps, |gap| from_whole(gap) < TICK_TOLERANCE),
        ),
        ("ipi_p50_us", quantile(inter_packet_gaps, 0.5) * 1e6),
        ("ipi_p99_us", quantile(inter_packet_gaps, 0.99) * 1e6),
    ] {
        sample.metric(format!("{metric}_{name}"), value);
    }
    let steps = (0..=GAP_STEPS).map(|i| f64::from(i) * GAP_STEP);
    let points: Vec<(f64, f64)> = steps
        .map(|x| (x * 1e3, share(inter_packet_gaps, |gap| gap <= x)))
        .collect();
    sample.curve("gaps", name.as_str(), points);
}

#[cfg(test)]
mod tests {
    use super::super::tests::{halved_at, scenario};
    use super::*;
    use crate::findings::Findings;
    use tfrc::time::Duration;
    use tfrc::units::Bytes;

    /// Over a seed for each flow, where 1000 bytes a second are fair.
    fn settled(flows: &[Throughput]) -> Findings {
        let scenario = scenario();
        let of = |flow: &Throughput| {
            let mut sample = Sample::default();
            scenario.settling(&mut sample, &scenario.case[0], flow, 1_000.0);
            sample
        };
        Findings::join(&[flows.iter().map(of).collect()])
    }

    #[test]
    fn a_flow_settles_in_the_middle_of_the_first_interval_with_its_share() {
        assert_eq!(settled(&[halved_at(14)]).value("settles_s_a"), 5.0);
        // Too early is not after the change.
        assert_eq!(settled(&[halved_at(3)]).value("settles_s_a"), 1.0);
    }

    #[test]
    fn a_flow_that_never_settles_has_no_time_and_counts_in_the_share_that_does() {
        let findings = settled(&[halved_at(14), halved_at(30)]);
        assert_eq!(findings.value("settles_s_a"), 5.0);
        assert_eq!(findings.value("settles_share_a"), 0.5);
        let never = settled(&[halved_at(30)]);
        assert!(never.value("settles_s_a").is_nan());
        assert_eq!(findings.value("reaches_share_a"), 0.5);
    }

    #[test]
    fn a_flow_that_leaves_its_share_again_has_reached_it_only() {
        let mut flow = halved_at(14);
        flow.add(Instant::from_secs(19), Bytes::new(3_000));
        let findings = settled(&[flow]);
        assert_eq!(findings.value("reaches_s_a"), 5.0);
        assert_eq!(findings.value("settles_share_a"), 0.0);
    }

    #[test]
    fn the_peak_is_of_the_busiest_interval_from_when_it_is_measured_to_the_end() {
        let mut scenario = scenario();
        scenario.measured[1] = Time(Duration::from_secs(12));
        scenario.peak_over = Some(toml::Value::from("1s").try_into().unwrap());
        let mut sample = Sample::default();
        // Two packets a second up to 14 s, of which 10 s on count, and one from then on.
        scenario.peak(&mut sample, &scenario.case[0], &halved_at(14));
        scenario.peak(&mut sample, &scenario.case[1], &halved_at(9));
        let findings = Findings::join(&[vec![sample]]);
        assert_eq!(findings.value("peak_pkts_a"), 2.0);
        assert_eq!(findings.value("peak_pkts_b"), 1.0);
        let mut busy_at_last = halved_at(9);
        busy_at_last.add(Instant::from_secs(19), Bytes::new(4_000));
        let mut sample = Sample::default();
        scenario.peak(&mut sample, &scenario.case[0], &busy_at_last);
        let findings = Findings::join(&[vec![sample]]);
        assert_eq!(findings.value("peak_pkts_a"), 5.0);
    }

    #[test]
    fn the_floor_is_of_the_idlest_interval_that_is_measured_and_the_dip_of_what_follows_the_peak() {
        let mut scenario = scenario();
        scenario.floor_over = Some(toml::Value::from("1s").try_into().unwrap());
        let mut sample = Sample::default();
        scenario.floor(&mut sample, &scenario.case[0], &halved_at(14));
        scenario.floor(&mut sample, &scenario.case[1], &halved_at(30));
        let findings = Findings::join(&[vec![sample]]);
        assert_eq!(findings.value("rate_floor_kbps_a"), 8.0);
        assert_eq!(findings.value("rate_floor_kbps_b"), 16.0);
        // Four seconds of 2000 bytes and six of 1000: 1400 on average.
        let dip = findings.value("rate_dip_pct_a");
        assert!(
            (dip - 100.0 * (1.0 - 1_000.0 / 1_400.0)).abs() < 1e-9,
            "{dip}"
        );
        assert_eq!(findings.value("rate_dip_pct_b"), 0.0);
    }

    #[test]
    fn p_is_told_of_the_time_that_is_measured_and_of_the_half_before() {
        let scenario = scenario();
        let mut sample = Sample::default();
        let rates = [
            (4.0, 0.9),
            (6.0, 0.01),
            (8.0, 0.03),
            (11.0, 0.1),
            (12.0, 0.1),
        ];
        scenario.loss_event_rate(&mut sample, &scenario.case[0], &rates);
        let findings = Findings::join(&[vec![sample]]);
        assert_eq!(findings.value("p_mean_before_a"), 0.02);
        assert_eq!(findings.value("p_cov_before_a"), 0.5);
        assert_eq!(findings.value("p_mean_a"), 0.1);
        assert_eq!(findings.value("p_cov_a"), 0.0);
    }

    #[test]
    fn gaps_of_whole_milliseconds_and_none_at_all_are_told_apart() {
        let mut sample = Sample::default();
        let scenario = scenario();
        inter_packet_gaps(
            &mut sample,
            &scenario.case[0],
            &[0.0, 1e-3, 2.01e-3, 2.5e-3],
        );
        let findings = Findings::join(&[vec![sample]]);
        assert_eq!(findings.value("ipi_back_to_back_pct_a"), 25.0);
        assert_eq!(findings.value("ipi_whole_ms_pct_a"), 75.0);
        assert_eq!(findings.value("ipi_p99_us_a"), 2_500.0);
    }
}
