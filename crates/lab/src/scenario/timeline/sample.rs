//! Metrics of a case: the use of the link, and each group's share of it.

use tfrc::time::Duration;

use super::{Also, Case, Group, Timeline, first};
use crate::findings::Sample;
use crate::metrics::{
    BIN, Estimate, TIMESCALES, Throughput, cov, drop_rate, equivalence_ratio, lost_share, mean,
    quantile, ratio_by_batches, share, spread, throughput_ratios, utilisation,
};
use crate::network::Measured;
use crate::units::Time;

/// Steps of the distribution of throughput ratios, and where it ends.
const RATIO_STEP: f64 = 0.02;
const RATIO_STEPS: u32 = 100;

impl Timeline {
    pub(super) fn sample_of(&self, case: &Case, measured: &Measured) -> Sample {
        let mut sample = Sample::default();
        let name = &case.name;
        let changed = self.rate_change.map(|change| change.rate.0);
        let rate = changed.unwrap_or_else(|| case.rate.mean());
        let measured_for = self.times_of(case).measured;
        let window = measured_for[1].0 - measured_for[0].0;
        sample.metric(
            format!("utilisation_{name}"),
            utilisation(measured.carried, rate, window),
        );
        sample.metric(
            format!("drop_rate_{name}"),
            drop_rate(measured.dropped, measured.arrived),
        );
        if case.path.loses() {
            sample.metric(
                format!("loss_rate_{name}"),
                drop_rate(measured.dropped + measured.lost, measured.arrived),
            );
        }
        if let Some(marked) = measured.marked.filter(|_| case.queue.marks()) {
            sample.metric(
                format!("mark_rate_{name}"),
                drop_rate(marked, measured.arrived),
            );
        }
        let mut flows = measured.received.iter();
        let groups: Vec<(&Group, Vec<&Throughput>)> = self
            .group
            .iter()
            .zip(self.counts(case))
            .map(|(group, count)| (group, flows.by_ref().take(count).collect()))
            .collect();
        let members = measured.received.len();
        let fair = rate.bytes_per_sec() / members as f64;
        for (group, flows) in groups.iter().filter(|(_, flows)| !flows.is_empty()) {
            self.of_group(&mut sample, case, group, flows, (fair, members));
        }
        self.compared(&mut sample, case, &groups);
        if let Some(flow) = measured.received.first() {
            self.settling(&mut sample, case, flow, fair);
        }
        if let Some(sent) = measured.sent.first() {
            self.peak(&mut sample, case, sent);
            self.floor(&mut sample, case, sent);
        }
        if self.also.contains(&Also::LossEventRate) {
            let loss_reports = &measured.loss_reports;
            sample.metric(format!("loss_event_rate_{name}"), loss_reports.mean());
            self.loss_event_rate(&mut sample, case, &loss_reports.first);
        }
        if self.also.contains(&Also::Losses) {
            self.losses(&mut sample, case, [&measured.sent, &measured.received]);
        }
        if self.also.contains(&Also::Gaps) {
            first::inter_packet_gaps(&mut sample, case, &measured.gaps);
        }
        if self.also.contains(&Also::Queue) {
            let waits = measured.queue.iter();
            let waits = waits.map(|(t, bytes)| (*t, *bytes as f64 * 1e3 / rate.bytes_per_sec()));
            queue(&mut sample, name, waits.collect());
        }
        sample
    }

    fn of_group(
        &self,
        sample: &mut Sample,
        case: &Case,
        group: &Group,
        flows: &[&Throughput],
        (fair, members): (f64, usize),
    ) {
        let within = |flow: &Throughput, timescale| self.within(case, flow, timescale);
        let (case, group) = (&case.name, &group.name);
        let key = format!("{}_{case}", group.to_lowercase());
        let curve = |more: &str| format!("{case}: {group}{more}");
        let shares = flows.iter().map(|flow| mean(&within(flow, BIN)) / fair);
        let of_fair = mean(&shares.collect::<Vec<f64>>());
        let lower = group.to_lowercase();
        sample.metric(format!("share_{lower}_over_fair_{case}"), of_fair);
        let kilobits = of_fair * fair * 8.0 / 1e3;
        sample.metric(format!("throughput_kbps_{key}"), kilobits);
        let of_link = of_fair * flows.len() as f64 / members as f64;
        sample.metric(format!("share_{key}"), of_link);
        for timescale in TIMESCALES {
            let covs = flows.iter().map(|flow| cov(&within(flow, timescale)));
            let value = mean(&covs.collect::<Vec<f64>>());
            let delta = timescale.as_secs_f64();
            sample.metric(format!("cov_{delta}s_{key}"), value);
            sample.curve("cov", curve(""), [(delta, value)]);
        }
        for timescale in &self.ratio_timescales {
            let ratios = throughput_ratios(&within(flows[0], timescale.0));
            let delta = timescale.secs();
            sample.metric(
                format!("ratio_median_{delta}s_{key}"),
                quantile(&ratios, 0.5),
            );
            sample.metric(format!("ratio_spread_{delta}s_{key}"), spread(&ratios));
            let steps = (0..=RATIO_STEPS).map(|i| f64::from(i) * RATIO_STEP);
            let points = steps.map(|x| (x, share(&ratios, |ratio| ratio <= x)));
            let points: Vec<(f64, f64)> = points.collect();
            sample.curve(format!("ratios_{delta}s"), curve(""), points);
        }
        let times = flows[0].times(self.drawn.0);
        let rates = flows[0].rates(self.drawn.0).into_iter();
        let kilobits = rates.map(|bytes| bytes * 8.0 / 1e3);
        let points: Vec<(f64, f64)> = times.into_iter().zip(kilobits).collect();
        sample.curve(
            format!("rates_{case}"),
            group.as_str(),
            points.iter().copied(),
        );
        sample.curve(format!("rates_{lower}"), case.as_str(), points);
    }

    /// What of each group did not arrive, of what it sent while it was measured.
    fn losses(&self, sample: &mut Sample, case: &Case, flows: [&[Throughput]; 2]) {
        let mut flows = flows[0].iter().zip(flows[1]);
        for (group, count) in self.group.iter().zip(self.counts(case)) {
            let [sent, received] = flows.by_ref().take(count).fold([0.0; 2], |sums, flow| {
                let rates = [flow.0, flow.1].map(|flow| mean(&self.within(case, flow, BIN)));
                [sums[0] + rates[0], sums[1] + rates[1]]
            });
            let (group, case) = (group.name.to_lowercase(), &case.name);
            sample.metric(format!("lost_{group}_{case}"), lost_share(received, sent));
        }
    }

    /// The two groups that are compared, in one case.
    fn compared(&self, sample: &mut Sample, case: &Case, groups: &[(&Group, Vec<&Throughput>)]) {
        let Some(names) = &self.compare else { return };
        let [a, b] = names.each_ref().map(|name| {
            let group = groups.iter().find(|(group, _)| group.name == *name);
            group.map_or(&[][..], |(_, flows)| flows)
        });
        let over_flows = |flows: &[&Throughput], of: &dyn Fn(&Throughput) -> f64| {
            mean(&flows.iter().map(|flow| of(flow)).collect::<Vec<f64>>())
        };
        let ratio = |of: &dyn Fn(&Throughput) -> f64| over_flows(a, of) / over_flows(b, of);
        let [more, less] = names.each_ref().map(|name| name.to_lowercase());
        let key = format!("{more}_over_{less}");
        let case_name = &case.name;
        let throughput = Estimate {
            mean: ratio(&|flow| mean(&self.within(case, flow, BIN))),
            half_width: self.times_of(case).batch.and_then(|batch| {
                let [of, over] = [a, b].map(|flows| self.by_batches(case, flows, batch));
                ratio_by_batches(&of, &over).half_width
            }),
        };
        let variation = |flow: &Throughput| cov(&self.within(case, flow, Duration::from_secs(1)));
        sample.metric(format!("{key}_{case_name}"), throughput);
        sample.metric(format!("cov_{key}_{case_name}"), ratio(&variation));
        for (group, flows) in [(&more, a), (&less, b)] {
            let value = over_flows(flows, &variation);
            sample.metric(format!("cov_{group}_{case_name}"), value);
        }
        let flows = a.first().zip(b.first());
        let pairs = a.len().max(b.len());
        let rtt = case.rtt.secs() * 1e3;
        sample.curve("compared", format!("{pairs} of each"), [(rtt, throughput)]);
        let Some((x, y)) = flows else { return };
        for timescale in TIMESCALES {
            let rates = [x, y].map(|flow| self.within(case, flow, timescale));
            let alike = equivalence_ratio(&rates[0], &rates[1]);
            let delta = timescale.as_secs_f64();
            sample.metric(format!("equivalence_{delta}s_{case_name}"), alike);
            sample.curve("equivalence", case_name.as_str(), [(delta, alike)]);
        }
    }

    /// The mean over flows in each part of the time that is measured.
    fn by_batches(&self, case: &Case, flows: &[&Throughput], batch: Time) -> Vec<f64> {
        let rates = flows.iter().map(|flow| self.within(case, flow, batch.0));
        let rates: Vec<Vec<f64>> = rates.collect();
        let batches = rates.first().map_or(0, Vec::len);
        let of = |batch| mean(&rates.iter().map(|flow| flow[batch]).collect::<Vec<f64>>());
        (0..batches).map(of).collect()
    }
}

/// How long packets wait, in milliseconds, and since when.
fn queue(sample: &mut Sample, case: &str, waits: Vec<(f64, f64)>) {
    let values: Vec<f64> = waits.iter().map(|(_, wait)| *wait).collect();
    sample.metric(format!("queue_mean_ms_{case}"), mean(&values));
    sample.metric(format!("queue_p95_ms_{case}"), quantile(&values, 0.95));
    sample.curve("queue", case, waits);
}

#[cfg(test)]
mod tests {
    use super::super::tests::{halved_at, scenario};
    use super::*;
    use crate::findings::Findings;
    use crate::scenario::contract::Scenario as _;

    #[test]
    fn losses_are_what_a_group_sent_and_nobody_got() {
        let scenario = scenario();
        let sent = [halved_at(20), halved_at(20)];
        let received = [halved_at(20), halved_at(15)];
        let mut sample = Sample::default();
        scenario.losses(&mut sample, &scenario.case[0], [&sent, &received]);
        let findings = Findings::join(&[vec![sample]]);
        assert_eq!(findings.value("lost_tfrc_a"), 0.0);
        // 1500 bytes a second of 2000.
        assert_eq!(findings.value("lost_tcp_a"), 0.25);
    }

    #[test]
    fn groups_are_compared_by_their_means_and_over_all_cases() {
        let mut scenario = scenario();
        scenario.compare = Some(["TFRC", "TCP"].map(str::to_owned));
        let (steady, halved) = (halved_at(20), halved_at(15));
        let groups = [&steady, &halved].map(|flow| vec![flow]);
        let mut sample = Sample::default();
        for case in &scenario.case {
            let named: Vec<_> = scenario.group.iter().zip(groups.clone()).collect();
            scenario.compared(&mut sample, case, &named);
        }
        let mut findings = Findings::join(&[vec![sample]]);
        scenario.derive(&mut findings);
        // 2000 bytes a second against 1500 on average.
        for name in ["a", "b", "median", "least", "most"] {
            let value = findings.value(&format!("tfrc_over_tcp_{name}"));
            assert!((value - 4.0 / 3.0).abs() < 1e-12, "{name}: {value}");
        }
        assert_eq!(findings.value("cov_tfrc_over_tcp_a"), 0.0);
    }

    #[test]
    fn a_ratio_is_as_sure_as_its_parts_agree_where_the_time_is_told_in_parts() {
        let mut scenario = scenario();
        scenario.compare = Some(["TFRC", "TCP"].map(str::to_owned));
        let estimate = |scenario: &Timeline| {
            let (steady, halved) = (halved_at(20), halved_at(15));
            let groups = [&steady, &halved].map(|flow| vec![flow]);
            let named: Vec<_> = scenario.group.iter().zip(groups).collect();
            let mut sample = Sample::default();
            scenario.compared(&mut sample, &scenario.case[0], &named);
            let findings = Findings::join(&[vec![sample]]);
            findings.estimate("tfrc_over_tcp_a")
        };
        assert_eq!(estimate(&scenario).half_width, None);
        scenario.batch = Some(Time(Duration::from_secs(5)));
        let estimate = estimate(&scenario);
        assert!((estimate.mean - 4.0 / 3.0).abs() < 1e-12);
        // 2000 beside 2000 and beside 1000: distances -2000/3 and 2000/3, whose standard error is 2000/3; over 1500,
        // and 6.314 times that.
        let half = estimate.half_width.unwrap();
        assert!((half - 6.314 * 4.0 / 9.0).abs() < 1e-9, "{half}");
    }
}
