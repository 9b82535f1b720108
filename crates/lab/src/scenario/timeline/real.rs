//! A timeline on a test bed.

use evenkeel_link::LinkConfig;
use tfrc::time::{Duration, Instant};

use super::{Also, Timeline};
use crate::error::RunError;
use crate::findings::Sample;
use crate::job::Job;
use crate::metrics::BIN;
use crate::network::{FLOW_STREAMS, Protocol, Speaks};
use crate::real::{BedRecord, BedSetup, Real, RealFlow, RealProtocol, RealTcp};

impl Real for Timeline {
    fn takes(&self, cell: usize) -> Duration {
        self.times_of(&self.case[cell]).shown[1].0
    }

    fn setup(&self, job: Job<'_>) -> Result<BedSetup, RunError> {
        let case = &self.case[job.cell];
        let each_way = LinkConfig {
            rate: case.rate.mean(),
            delay: case.rtt.0 / 2,
            ..LinkConfig::default()
        };
        let mut forward = each_way;
        case.queue.apply(&mut forward);
        case.path.apply(&mut forward);
        let back = LinkConfig {
            loss: case.loss_back(),
            ..each_way
        };
        let members = self.members(case, job.seed).into_iter();
        let since = |at: Instant| at - Instant::ZERO;
        let flows = members.enumerate().map(|(index, member)| RealFlow {
            speaks: match member.speaks {
                Speaks::Long(Protocol::Tfrc, feedback) => RealProtocol::Tfrc {
                    feedback,
                    floor: None,
                    reports: None,
                },
                Speaks::Long(Protocol::Udp(udp), _) => {
                    RealProtocol::Udp(udp, FLOW_STREAMS + index as u64)
                }
                Speaks::Long(..) | Speaks::Web(_) => {
                    RealProtocol::Tcp(RealTcp::new(&self.tcp, self.packet.0))
                }
            },
            start: since(member.start),
            stop: (member.stop < Instant::MAX).then(|| since(member.stop)),
            away: Vec::new(),
        });
        let change = self.rate_change;
        let times = self.times_of(case);
        Ok(BedSetup {
            links: [forward, back],
            packet: self.packet.0,
            flows: flows.collect(),
            rate_change: change.map(|change| (change.at.0, change.rate.0)),
            shown: times.shown.map(|time| time.0),
            measured: times.measured.map(|time| time.0),
            bin: BIN,
            seed: job.seed,
        })
    }

    fn sample(&self, job: Job<'_>, seen: BedRecord) -> Sample {
        let case = &self.case[job.cell];
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        let late = Vec::from_iter(seen.late_us());
        let lateness = seen.lateness.filter(|_| self.also.contains(&Also::Gaps));
        let mut sample = self.sample_of(case, &seen.into());
        for (metric, late) in late {
            sample.metric(format!("{metric}_{}", case.name), late);
        }
        for (name, late) in ["p50", "p99"].iter().zip(lateness.into_iter().flatten()) {
            sample.metric(format!("ipi_error_{name}_us_{}", case.name), micros(late));
        }
        sample
    }
}
