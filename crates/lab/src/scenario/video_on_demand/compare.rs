//! What follows from cells together: transports beside each other, and how many flows fit.

use super::{Case, MOST_IPLR, MOST_IPTD, Transport, VideoOnDemand, name};
use crate::findings::Findings;
use crate::scenario::Scenario;

impl VideoOnDemand {
    /// Adds what TFRC has over UDP in each case: `METRIC_TRANSPORT_minus_udp_KEY`.
    pub(super) fn compare(&self, findings: &mut Findings) {
        let tfrcs = (0..self.cells()).map(|cell| self.case(cell));
        let tfrcs: Vec<Case> = tfrcs.filter(|case| case.transport != Transport::Udp).collect();
        for case in tfrcs {
            let (transport, key) = (name(case.transport), self.key(case));
            for metric in ["iplr", "iptd_mean_s", "iptd_max_s", "tcp_iplr", "tcp_kbps"] {
                let of = |transport: &str| findings.value(&format!("{metric}_{transport}_{key}"));
                let more = of(&transport) - of("udp");
                if more.is_finite() {
                    findings.derive(format!("{metric}_{transport}_minus_udp_{key}"), more);
                }
            }
        }
    }

    /// Adds how many flows there may be, of those numbers that were run, so that on average the streams
    /// have the delay and loss that they need, there and with any smaller number:
    /// `most_TRANSPORT_LABELS`, 0 for none.
    pub(super) fn admit(&self, findings: &mut Findings) {
        let mut most: Vec<(String, f64, bool)> = Vec::new();
        for cell in 0..self.cells() {
            let case = self.case(cell);
            let (transport, key) = (name(case.transport), self.key(case));
            let of = |metric: &str| findings.value(&format!("{metric}_{transport}_{key}"));
            let good = of("iplr") <= MOST_IPLR && of("iptd_mean_s") <= MOST_IPTD;
            let labels = self.labels(case).join("_");
            let metric = format!("most_{transport}_{labels}");
            let index = most.iter().position(|(known, ..)| *known == metric);
            let index = index.unwrap_or_else(|| {
                most.push((metric, 0.0, true));
                most.len() - 1
            });
            let (_, flows, so_far) = &mut most[index];
            *so_far &= good;
            if *so_far {
                *flows = self.across(case);
            }
        }
        for (metric, flows, _) in most {
            findings.derive(metric, flows);
        }
    }
}
