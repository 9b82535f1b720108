//! Metrics of a run, from the simulator and from a test bed alike.

use super::{Case, MOST_IPLR, MOST_IPTD, VideoOnDemand, name};
use crate::findings::Sample;
use crate::metrics::mean;

/// What became of a stream's packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stream {
    /// Those lost, of those sent.
    pub(super) iplr: f64,
    /// Seconds from when they were ready, on average.
    pub(super) iptd_mean: f64,
    /// The longest of these.
    pub(super) iptd_max: f64,
}

/// The same of a TCP flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct TcpFlow {
    pub(super) iplr: f64,
    /// What arrived, with all headers.
    pub(super) kbps: f64,
}

impl VideoOnDemand {
    /// Metrics and curves of one case.
    pub(super) fn sample_of(&self, case: Case, streams: &[Stream], tcps: &[TcpFlow]) -> Sample {
        let mut sample = Sample::default();
        let mut put = |metric: &str, value: f64| self.put(&mut sample, case, metric, value);
        let over = |of: fn(&Stream) -> f64| mean(&streams.iter().map(of).collect::<Vec<f64>>());
        put("iplr", over(|stream| stream.iplr));
        put("iptd_mean_s", over(|stream| stream.iptd_mean));
        let max = streams.iter().map(|stream| stream.iptd_max);
        put("iptd_max_s", max.fold(0.0, f64::max));
        let meets = |stream: &&Stream| stream.iptd_mean <= MOST_IPTD && stream.iplr <= MOST_IPLR;
        put("meeting", streams.iter().filter(meets).count() as f64);
        if !tcps.is_empty() {
            let over = |of: fn(&TcpFlow) -> f64| mean(&tcps.iter().map(of).collect::<Vec<f64>>());
            put("tcp_iplr", over(|tcp| tcp.iplr));
            put("tcp_kbps", over(|tcp| tcp.kbps));
        }
        sample
    }

    /// Adds a metric of a case, and its points.
    pub(super) fn put(&self, sample: &mut Sample, case: Case, metric: &str, value: f64) {
        sample.metric(self.metric(metric, case), value);
        let transport = name(case.transport);
        let labels = if self.numbers_vary() {
            self.labels(case)
        } else {
            self.kinds(case)
        };
        let x = self.across(case);
        let by_transport = labels.join(", ");
        sample.curve(format!("{metric}_{transport}"), by_transport, [(x, value)]);
        let by_movie = [&[transport.to_uppercase()], &labels[1..]]
            .concat()
            .join(", ");
        sample.curve(format!("{metric}_{}", labels[0]), by_movie, [(x, value)]);
    }
}
