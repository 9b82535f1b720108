//! Calls over one link, as chapter 7 of the `thesis` has them: what the sending buffer makes of X, and what
//! the viewer sees of it, by one policy or by two beside each other.

use std::str::FromStr;

use evenkeel_link::{LinkConfig, QueueLimit, Random};
use evenkeel_media::policy::Rules;
use evenkeel_media::report::Summary;
use evenkeel_media::sender::SendingSide;
use evenkeel_media::source::{Format, FrameRate, Scene, Source};
use evenkeel_sim::{
    Access, End, FlowId, LinkId, MediaEnd, Pictures, Shape, Shooting, Simulation, Traffic,
};
use serde::Deserialize;
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, Rate};

use super::{Impossible, Job, RunError, Scenario, require};
use crate::findings::{Findings, Sample};
use crate::metrics::{cov, mean, quantile};
use crate::network::{advance, broken};
use crate::units::{BitRate, Size, Time};

/// Parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VideoCall {
    /// Columns and rows.
    picture: [usize; 2],
    /// What is drawn and coded.
    #[serde(default)]
    content: Content,
    /// What the viewer sees is decoded and compared with what was captured.
    #[serde(default)]
    psnr: bool,
    /// What the bottleneck's drop-tail queue holds.
    queue: Size,
    /// By which rules frames are made and sent: `evenkeel`, `thesis`.
    policies: Vec<Policy>,
    /// When measuring begins, and when the run ends.
    measured: [Time; 2],
    /// One cell each, with each policy.
    case: Vec<Case>,
}

/// A path and how many pictures go over it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// In legends and names of metrics.
    name: String,
    rtt: Time,
    rate: BitRate,
    /// Pictures a second.
    fps: u32,
}

/// What pictures are of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Content {
    /// The built-in scene, through the real encoder.
    #[default]
    Scene,
    /// Nothing: frames of the sizes that they were asked to be.
    Sizes,
}

/// Rules by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
struct Policy(Rules);

impl TryFrom<String> for Policy {
    type Error = <Rules as FromStr>::Err;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        name.parse().map(Self)
    }
}

/// Between two looks at the sender.
const LOOK: Duration = Duration::from_millis(50);
/// The rate of media is drawn over so many looks: half a second.
const DRAWN: usize = 10;
/// γ of the thesis (§6.3.2).
const IN_TIME: Duration = Duration::from_millis(150);

impl Scenario for VideoCall {
    fn verify(&self) -> Result<(), Impossible> {
        let [width, height] = self.picture;
        let fits = |side: usize| (16..=2_040).contains(&side) && side.is_multiple_of(8);
        require(
            fits(width) && fits(height),
            "picture",
            "multiples of 8 up to 2040",
        )?;
        require(!self.policies.is_empty(), "policies", "one or more")?;
        let [from, to] = self.measured;
        require(from < to, "measured", "[from, to]")?;
        let looks = !self.psnr || self.content == Content::Scene;
        require(looks, "psnr", "of the scene's pictures")?;
        require(!self.case.is_empty(), "case", "one or more")?;
        self.case.iter().enumerate().try_for_each(|(index, case)| {
            let sound = require((1..=120).contains(&case.fps), "fps", "from 1 to 120");
            sound.map_err(|wrong| wrong.inside("case", index))
        })
    }

    fn cells(&self) -> usize {
        self.case.len() * self.policies.len()
    }

    fn is_random(&self) -> bool {
        true
    }

    /// What holds for the worst case of each policy.
    fn derive(&self, findings: &mut Findings) {
        for Policy(rules) in &self.policies {
            let rules = rules.name();
            for (metric, share) in [
                ("utilisation_of_x", 0.0),
                ("longest_gap_ms", 1.0),
                ("frames_discarded_pct", 1.0),
                ("in_time_pct", 0.0),
            ] {
                let cases = self.case.iter();
                let values: Vec<f64> = cases
                    .map(|case| findings.value(&format!("{metric}_{rules}_{}", case.name)))
                    .collect();
                findings.derive(format!("{metric}_{rules}_worst"), quantile(&values, share));
            }
        }
    }

    fn run(&self, job: Job<'_>) -> Result<Sample, RunError> {
        let case = &self.case[job.cell / self.policies.len()];
        let Policy(rules) = self.policies[job.cell % self.policies.len()];
        let mut world = World::new(self, case, rules, job.seed)?;
        let looks = world.watch(self.measured[1], job)?;
        Ok(self.sample(case, rules, &world, &looks))
    }
}

/// What the sender is at, each time that it is looked at.
struct Look {
    at: f64,
    /// X, in bits per second.
    allowed: f64,
    /// Bytes of media sent so far, as TFRC counts them.
    sent: f64,
    /// Bytes in the sending buffer.
    queued: f64,
}

struct World {
    sim: Simulation<Traffic>,
    flow: FlowId,
    bottleneck: LinkId,
}

impl World {
    fn new(call: &VideoCall, case: &Case, rules: Rules, seed: u64) -> Result<Self, RunError> {
        let frame_rate = FrameRate::new(case.fps, 1)
            .ok_or_else(|| RunError::Failed("no such frame rate".to_owned()))?;
        let [width, height] = call.picture;
        let format = Format {
            width,
            height,
            frame_rate,
        };
        let scene = || -> Result<Box<dyn Source + Send>, RunError> {
            let scene = Scene::new(format, seed).map_err(|error| broken(&error))?;
            Ok(Box::new(scene))
        };
        let pictures = match call.content {
            Content::Scene => Pictures::Coded(scene()?),
            Content::Sizes => Pictures::Sizes(format, Random::new(seed, 1)),
        };
        let link = LinkConfig {
            rate: case.rate.0,
            delay: case.rtt.0 / 2,
            queue: QueueLimit::Bytes(call.queue.0),
            ..LinkConfig::default()
        };
        let access = Access::even(LinkConfig::default());
        let shape = Shape::dumbbell([link; 2], [access]).map_err(|error| broken(&error))?;
        let start = Instant::ZERO;
        let [warm, end] = call.measured.map(|time| start + time.0);
        // A sender that has fallen silent has no other event left than the next picture.
        let stop = end + Duration::from_secs(1);
        let shooting = Shooting {
            start,
            stop,
            pause: None,
            most: Rate::INFINITY,
        };
        let sender = MediaEnd::sender_by(rules, warm, pictures, shooting, false, seed);
        let mut receiver = MediaEnd::receiver(start, warm, seed);
        if call.psnr {
            receiver = receiver.looks_at(scene()?, start);
        }
        let mut sim = Simulation::new(&shape.topology, seed);
        let place = &shape.places[0];
        let flow = sim.add_flow(
            &place.forward,
            &place.reverse,
            sender.into(),
            receiver.into(),
        );
        Ok(Self {
            sim,
            flow,
            bottleneck: shape.bottlenecks[0][0],
        })
    }

    fn watch(&mut self, until: Time, job: Job<'_>) -> Result<Vec<Look>, RunError> {
        let end = Instant::ZERO + until.0;
        let mut looks = Vec::new();
        while self.sim.now() < end {
            let next = end.min(self.sim.now() + LOOK);
            advance(&mut self.sim, next, job, &mut ())?;
            let Some(end) = self.end(End::Sender) else {
                continue;
            };
            let path = end.call().session().path();
            looks.push(Look {
                at: next.as_secs_f64(),
                allowed: path.map_or(0.0, |path| path.allowed_rate.bits_per_sec()),
                sent: end.call().session().statistics().bytes_sent as f64,
                queued: end
                    .call()
                    .sender()
                    .map_or(Bytes::ZERO, SendingSide::queued)
                    .as_f64(),
            });
        }
        Ok(looks)
    }

    fn end(&self, end: End) -> Option<&MediaEnd> {
        match self.sim.agent(self.flow, end) {
            Traffic::MediaEnd(end) => Some(end),
            _ => None,
        }
    }
}

impl VideoCall {
    fn sample(&self, case: &Case, rules: Rules, world: &World, looks: &[Look]) -> Sample {
        let mut sample = Sample::default();
        let key = format!("{}_{}", rules.name(), case.name);
        let [from, to] = self.measured.map(Time::secs);
        let captured = (to - from) * f64::from(case.fps);
        let inside: Vec<&Look> = looks.iter().filter(|look| look.at >= from).collect();
        // X at one look holds until the next.
        let pairs = || inside.windows(2).map(|pair| (pair[0], pair[1]));
        let allowed: f64 = pairs().map(|(a, b)| a.allowed * (b.at - a.at) / 8.0).sum();
        let sent: f64 = pairs().map(|(a, b)| b.sent - a.sent).sum();
        sample.metric(format!("utilisation_of_x_{key}"), sent / allowed);
        let x: Vec<f64> = inside.iter().map(|look| look.allowed / 1e3).collect();
        sample.metric(format!("x_kbps_{key}"), mean(&x));
        sample.metric(format!("x_cov_{key}"), cov(&x));
        let rates = |looks: &[&Look]| -> Vec<(f64, f64)> {
            let steps = looks.windows(DRAWN + 1).step_by(DRAWN);
            steps
                .map(|step| {
                    let (first, last) = (step[0], step[DRAWN]);
                    let kbps = (last.sent - first.sent) * 8e-3 / (last.at - first.at);
                    (f64::midpoint(first.at, last.at), kbps)
                })
                .collect()
        };
        let media: Vec<f64> = rates(&inside).into_iter().map(|(_, kbps)| kbps).collect();
        sample.metric(format!("rate_kbps_{key}"), mean(&media));
        sample.metric(format!("rate_cov_{key}"), cov(&media));
        let queued: Vec<f64> = inside.iter().map(|look| look.queued / 1e3).collect();
        sample.metric(format!("buffer_p95_kb_{key}"), quantile(&queued, 0.95));
        let half = queued.len() / 2;
        let growth = mean(&queued[half..]) - mean(&queued[..half]);
        sample.metric(format!("buffer_growth_kb_{key}"), growth);
        let link = world.sim.link(world.bottleneck).counters();
        let lost = link.dropped.packets as f64 / link.received.packets as f64;
        sample.metric(format!("loss_{key}"), lost);
        let summary = |end| world.end(end).map(|end| end.report().summary());
        let theirs: Summary = summary(End::Receiver).unwrap_or_default();
        let ours: Summary = summary(End::Sender).unwrap_or_default();
        let in_time = world
            .end(End::Receiver)
            .map_or(0, |end| end.report().shown_within(IN_TIME));
        let until = Instant::ZERO + self.measured[1].0;
        let gap = world
            .end(End::Receiver)
            .map_or(Duration::ZERO, |end| end.report().longest_gap(until));
        for (metric, value) in [
            (
                "frames_discarded_pct",
                100.0 * ours.frames_discarded as f64 / captured,
            ),
            (
                "in_time_pct",
                (100.0 * in_time as f64 / captured).min(100.0),
            ),
            (
                "frames_corrupt_pct",
                100.0 * theirs.frames_corrupt as f64 / captured,
            ),
            ("longest_gap_ms", gap.as_secs_f64() * 1e3),
        ] {
            sample.metric(format!("{metric}_{key}"), value);
        }
        let known = [
            ("frame_delay_p95_ms", theirs.frame_delay_p95_ms),
            ("size_error_p50_pct", ours.size_error_p50_pct),
            ("size_error_p95_pct", ours.size_error_p95_pct),
            ("psnr_mean_db", theirs.psnr_mean_db),
        ];
        for (metric, value) in known {
            // Who shows nothing has no delay.
            sample.metric(format!("{metric}_{key}"), value.unwrap_or(f64::NAN));
        }
        let all: Vec<&Look> = looks.iter().collect();
        let group = |what: &str| format!("{what}_{}", case.name);
        let x = looks.iter().map(|look| (look.at, look.allowed / 1e3));
        sample.curve(group("rates"), format!("X, {}", rules.name()), x);
        sample.curve(
            group("rates"),
            format!("media, {}", rules.name()),
            rates(&all),
        );
        let queued = looks.iter().map(|look| (look.at, look.queued / 1e3));
        sample.curve(group("buffer"), rules.name(), queued);
        sample
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    fn scenario(content: &str, more: &str, fps: u32) -> Result<VideoCall, toml::de::Error> {
        toml::from_str(&format!(
            r#"picture = [64, 48]
               content = "{content}"
               {more}
               queue = "15kB"
               policies = ["evenkeel", "thesis"]
               measured = ["2s", "6s"]
               case = [{{ name = "a", rtt = "60ms", rate = "300kb/s", fps = {fps} }}]"#
        ))
    }

    fn run(call: &VideoCall) -> Findings {
        let stop = AtomicBool::new(false);
        let cells = (0..call.cells()).map(|cell| {
            let job = Job {
                cell,
                seed: 1,
                stop: &stop,
            };
            vec![call.run(job).unwrap()]
        });
        let mut findings = Findings::join(&cells.collect::<Vec<_>>());
        call.derive(&mut findings);
        findings
    }

    #[test]
    fn what_no_run_could_have_is_refused() {
        assert_eq!(
            scenario("scene", "psnr = true", 10).unwrap().verify(),
            Ok(())
        );
        for (content, more, fps, key) in [
            ("sizes", "psnr = true", 10, "psnr"),
            ("scene", "", 0, "fps"),
        ] {
            let refused = scenario(content, more, fps).unwrap().verify();
            assert_eq!(refused.map_err(|error| error.key), Err(key));
        }
        assert!(scenario("scene", "policies = [\"ours\"]", 10).is_err());
    }

    #[test]
    fn pictures_that_fit_are_seen_in_time_and_as_they_were_captured() {
        let findings = run(&scenario("scene", "psnr = true", 10).unwrap());
        let value = |name: &str| findings.value(&format!("{name}_evenkeel_a"));
        assert!(value("in_time_pct") > 95.0, "{findings:?}");
        assert!(value("psnr_mean_db") > 25.0, "{findings:?}");
        assert!(value("longest_gap_ms") < 300.0, "{findings:?}");
        assert!(value("utilisation_of_x") <= 1.02, "{findings:?}");
    }

    #[test]
    fn the_worst_of_all_cases_is_told_for_each_policy() {
        let findings = run(&scenario("sizes", "", 10).unwrap());
        for policy in ["evenkeel", "thesis"] {
            let worst = findings.value(&format!("longest_gap_ms_{policy}_worst"));
            assert_eq!(worst, findings.value(&format!("longest_gap_ms_{policy}_a")));
        }
    }
}
