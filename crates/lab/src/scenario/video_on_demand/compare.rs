//! What follows from cells together: transports beside each other, and how many flows fit.

use super::{Case, MOST_IPLR, MOST_IPTD, Movie, Transport, VideoOnDemand, name};
use crate::findings::Findings;
use crate::scenario::contract::Scenario;

/// How a metric by TFRC is compared with the same by UDP.
const COMPARED: [(&str, &str, Comparison); 6] = [
    ("iplr", "minus", |tfrc, udp| tfrc - udp),
    ("iptd_mean_s", "minus", |tfrc, udp| tfrc - udp),
    ("iptd_max_s", "minus", |tfrc, udp| tfrc - udp),
    ("meeting", "minus", |tfrc, udp| tfrc - udp),
    ("tcp_iplr", "minus", |tfrc, udp| tfrc - udp),
    ("tcp_kbps", "over", |tfrc, udp| tfrc / udp),
];
type Comparison = fn(f64, f64) -> f64;

/// What a comparison gave over numbers of flows.
struct Range {
    prefix: String,
    labels: String,
    least: f64,
    most: f64,
}

impl VideoOnDemand {
    fn cases(&self) -> impl Iterator<Item = Case> {
        (0..self.cells()).map(|cell| self.case(cell))
    }

    /// Adds what TFRC has beside UDP, case by case, `METRIC_TRANSPORT_minus_udp_KEY`, and the least and the
    /// most of it over the numbers of flows, with `min` or `max` before the key.
    pub(super) fn compare(&self, findings: &mut Findings) {
        let mut ranges: Vec<Range> = Vec::new();
        for case in self.cases().filter(|case| case.transport != Transport::Udp) {
            let (transport, labels) = (name(case.transport), self.labels(case).join("_"));
            for (metric, how, comparison) in COMPARED {
                let [tfrc, udp] = [case.transport, Transport::Udp].map(|transport| {
                    findings.value(&self.metric(metric, Case { transport, ..case }))
                });
                let value = comparison(tfrc, udp);
                if value.is_nan() {
                    continue;
                }
                let prefix = format!("{metric}_{transport}_{how}_udp");
                findings.derive(format!("{prefix}_{}", self.key(case)), value);
                match ranges
                    .iter_mut()
                    .find(|r| r.prefix == prefix && r.labels == labels)
                {
                    Some(range) => {
                        range.least = range.least.min(value);
                        range.most = range.most.max(value);
                    }
                    None => ranges.push(Range {
                        prefix,
                        labels: labels.clone(),
                        least: value,
                        most: value,
                    }),
                }
            }
        }
        if self.numbers_vary() {
            for range in ranges {
                let Range { prefix, labels, .. } = range;
                findings.derive(format!("{prefix}_min_{labels}"), range.least);
                findings.derive(format!("{prefix}_max_{labels}"), range.most);
            }
        }
    }

    /// Adds what each case has more than the same with the shortest path, `…_farther_KEY`, and more than the
    /// same with the slow movie, `…_faster_KEY`.
    pub(super) fn contrast(&self, findings: &mut Findings) {
        for case in self.cases() {
            let near = self.d2.iter().map(|d2| d2.0).min().unwrap_or(case.d2);
            let nearer = Case { d2: near, ..case };
            let slower = Case {
                movie: Movie::Slow,
                ..case
            };
            let transport = name(case.transport);
            for (word, other) in [("farther", nearer), ("faster", slower)] {
                if self.key(other) == self.key(case) {
                    continue;
                }
                for prefix in [
                    format!("iplr_{transport}"),
                    format!("iptd_mean_s_{transport}_minus_udp"),
                ] {
                    let of = |case: Case| findings.value(&format!("{prefix}_{}", self.key(case)));
                    let more = of(case) - of(other);
                    if more.is_finite() {
                        findings.derive(format!("{prefix}_{word}_{}", self.key(case)), more);
                    }
                }
            }
        }
    }

    /// Adds how many flows there may be, of those numbers that were run, so that on average the streams
    /// have the delay and loss that they need, there and with any smaller number:
    /// `most_TRANSPORT_LABELS`, 0 for none; and how many more than with UDP.
    pub(super) fn admit(&self, findings: &mut Findings) {
        let mut admitted: Vec<(Case, f64, bool)> = Vec::new();
        for case in self.cases() {
            let of = |metric: &str| findings.value(&self.metric(metric, case));
            let good = of("iplr") <= MOST_IPLR && of("iptd_mean_s") <= MOST_IPTD;
            let same = |known: &Case| {
                known.transport == case.transport && self.labels(*known) == self.labels(case)
            };
            let index = admitted.iter().position(|(known, ..)| same(known));
            let index = index.unwrap_or_else(|| {
                admitted.push((case, 0.0, true));
                admitted.len() - 1
            });
            let (_, flows, so_far) = &mut admitted[index];
            *so_far &= good;
            if *so_far {
                *flows = self.across(case);
            }
        }
        let most = |transport: Transport, case: Case| {
            format!("most_{}_{}", name(transport), self.labels(case).join("_"))
        };
        for (case, flows, _) in &admitted {
            findings.derive(most(case.transport, *case), *flows);
        }
        for (case, flows, _) in admitted {
            let gain = flows - findings.value(&most(Transport::Udp, case));
            if case.transport != Transport::Udp && gain.is_finite() {
                let (transport, labels) = (name(case.transport), self.labels(case).join("_"));
                findings.derive(format!("most_{transport}_minus_udp_{labels}"), gain);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::scenario;
    use super::*;

    /// Slow and fast, TFRC and UDP, with 1 to 3 streams each, and a loss and a delay for each.
    fn findings(iplr: impl Fn(Case) -> f64, iptd: impl Fn(Case) -> f64) -> Findings {
        let scenario = few();
        let mut findings = Findings::default();
        for case in scenario.cases() {
            findings.derive(scenario.metric("iplr", case), iplr(case));
            findings.derive(scenario.metric("iptd_mean_s", case), iptd(case));
        }
        scenario.derive(&mut findings);
        findings
    }

    fn few() -> VideoOnDemand {
        let mut scenario = scenario();
        scenario.d2.truncate(1);
        scenario.buffers.truncate(1);
        scenario.variants.truncate(1);
        scenario
    }

    fn is_udp(case: Case) -> bool {
        case.transport == Transport::Udp
    }

    #[test]
    fn tfrc_is_compared_with_udp_case_by_case_and_over_all_numbers() {
        let found = findings(
            |case| {
                if is_udp(case) {
                    0.5
                } else {
                    0.125 * case.streams as f64
                }
            },
            |_| 0.0,
        );
        assert_eq!(found.value("iplr_tfrc_minus_udp_slow_2streams"), -0.25);
        assert_eq!(found.value("iplr_tfrc_minus_udp_min_slow"), -0.375);
        assert_eq!(found.value("iplr_tfrc_minus_udp_max_slow"), -0.125);
        // No TCP was there to be compared.
        assert!(found.value("tcp_kbps_tfrc_over_udp_slow_2streams").is_nan());
    }

    #[test]
    fn the_fast_movie_is_compared_with_the_slow() {
        let fast = |case: Case| f64::from(u8::from(case.movie == Movie::Fast));
        let found = findings(
            |case| 0.5 * fast(case),
            |case| if is_udp(case) { 0.0 } else { fast(case) },
        );
        assert_eq!(found.value("iplr_udp_faster_fast_1streams"), 0.5);
        assert_eq!(
            found.value("iptd_mean_s_tfrc_minus_udp_faster_fast_1streams"),
            1.0
        );
    }

    #[test]
    fn as_many_flows_fit_as_have_what_they_need_there_and_with_fewer() {
        let found = findings(
            // UDP loses too much with two streams and none with three.
            |case| {
                if is_udp(case) && case.streams == 2 {
                    0.002
                } else {
                    0.001
                }
            },
            // TFRC takes too long with three of the fast movie.
            |case| match (is_udp(case), case.movie, case.streams) {
                (false, Movie::Fast, 3) => 1.1,
                _ => 1.0,
            },
        );
        assert_eq!(found.value("most_udp_fast"), 1.0);
        assert_eq!(found.value("most_tfrc_fast"), 2.0);
        assert_eq!(found.value("most_tfrc_slow"), 3.0);
        assert_eq!(found.value("most_tfrc_minus_udp_fast"), 1.0);
    }
}
