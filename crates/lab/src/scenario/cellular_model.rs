//! The seeded model of cellular links beside the recordings that it is fitted to.

use evenkeel_link::Random;
use serde::Deserialize;

use crate::cellular::{Model, Statistics};
use crate::error::{Impossible, RunError, impossible, require};
use crate::findings::{Findings, Sample};
use crate::job::Job;
use crate::scenario::contract::Scenario;
use crate::units::Time;

/// Parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellularModel {
    /// How much of each link is generated.
    length: Time,
    /// One cell each.
    link: Vec<Link>,
}

/// A link.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Link {
    /// In names of metrics and of curves.
    name: String,
    /// The file of its recording.
    recording: String,
}

/// The longest that is generated: some million deliveries of the fastest link.
const MAX_LENGTH: Time = Time(tfrc::time::Duration::from_secs(3_600));

impl Scenario for CellularModel {
    fn verify(&self) -> Result<(), Impossible> {
        let sound = !self.length.0.is_zero() && self.length <= MAX_LENGTH;
        require(sound, "length", "above 0s and at most 1h")?;
        require(!self.link.is_empty(), "link", "one or more")?;
        let verify = |(index, link): (usize, &Link)| {
            let known = link.model().map(|_| ());
            known.map_err(|wrong| wrong.inside("link", index))
        };
        self.link.iter().enumerate().try_for_each(verify)
    }

    fn cells(&self) -> usize {
        self.link.len()
    }

    fn run(&self, job: Job<'_>) -> Result<Sample, RunError> {
        let link = &self.link[job.cell];
        let failed = |what: &dyn std::fmt::Display| RunError::Failed(what.to_string());
        let model = link.model().map_err(|wrong| failed(&wrong))?;
        let mut random = Random::new(job.seed, job.cell as u64);
        let trace = model.generate(self.length.0, &mut random);
        let trace = trace.ok_or_else(|| failed(&format_args!("{}: no delivery", link.name)))?;
        let mut sample = Sample::default();
        for (kind, statistics) in [
            ("recorded", model.recorded),
            ("generated", Statistics::of(&trace)),
        ] {
            link.add(&mut sample, kind, &statistics);
        }
        Ok(sample)
    }

    /// Each statistic of the model over the recording's.
    fn derive(&self, findings: &mut Findings) {
        for link in &self.link {
            for what in STATISTICS {
                let of = |kind| findings.value(&format!("{kind}_{what}_{}", link.name));
                let fit = of("generated") / of("recorded");
                findings.derive(format!("fit_{what}_{}", link.name), fit);
            }
        }
    }
}

const STATISTICS: [&str; 5] = [
    "mean_mbps",
    "p10_mbps",
    "p50_mbps",
    "p90_mbps",
    "longest_outage_s",
];

impl Link {
    fn model(&self) -> Result<&'static Model, Impossible> {
        Model::of(&self.recording)
            .ok_or_else(|| impossible("recording", format!("one of {}", Model::names())))
    }

    fn add(&self, sample: &mut Sample, kind: &str, statistics: &Statistics) {
        let [p10, p50, p90] = statistics.deciles;
        let values = [statistics.mean, p10, p50, p90, statistics.longest_outage];
        for (what, value) in STATISTICS.iter().zip(values) {
            sample.metric(format!("{kind}_{what}_{}", self.name), value);
        }
        let points = [(10.0, p10), (50.0, p50), (90.0, p90)];
        sample.curve(format!("deciles_{}", self.name), kind, points);
    }
}
