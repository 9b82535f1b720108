//! Calls over one link, after chapter 7 of the `thesis`: the use of X and the pictures shown, by one policy or by two.

mod filled;
mod map;
mod world;

use std::str::FromStr;

use evenkeel_link::Loss;
use evenkeel_media::filler::Filler;
use evenkeel_media::policy::Rules;
use serde::Deserialize;
use tfrc::units::Rate;

use crate::error::{Impossible, RunError, require};
use crate::findings::{Findings, Sample};
use crate::job::Job;
use crate::metrics::{cov, growth, mean, quantile};
use crate::network::Tfrc;
use crate::scenario::contract::Scenario;
use crate::units::{BitRate, Size, Time};
use world::{CallScene, Content, SenderSample, World, utilisation};

pub(super) use filled::FilledCall;
pub(super) use map::CallMap;

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
    /// The call's edition and t_RTO.
    #[serde(default)]
    tfrc: Tfrc,
    /// By which rules frames are made and sent: `evenkeel`, `thesis`.
    policies: Vec<Named<Rules>>,
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

/// A value that has a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String", bound(deserialize = "T::Err: std::fmt::Display"))]
struct Named<T: FromStr>(T)
where
    T::Err: std::fmt::Display;

impl<T: FromStr> TryFrom<String> for Named<T>
where
    T::Err: std::fmt::Display,
{
    type Error = T::Err;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        name.parse().map(Self)
    }
}

/// The rate of media is drawn over so many looks: half a second.
const DRAWN: usize = 10;

impl Scenario for VideoCall {
    fn verify(&self) -> Result<(), Impossible> {
        self.tfrc.verify_alone()?;
        require_picture(self.picture)?;
        require(!self.policies.is_empty(), "policies", "one or more")?;
        let [from, to] = self.measured;
        require(from < to, "measured", "[from, to]")?;
        let looks = !self.psnr || self.content != Content::Sizes;
        require(looks, "psnr", "of pictures")?;
        require(!self.case.is_empty(), "case", "one or more")?;
        self.case.iter().enumerate().try_for_each(|(index, case)| {
            require_fps(case.fps).map_err(|wrong| wrong.inside("case", index))
        })
    }

    fn cells(&self) -> usize {
        self.case.len() * self.policies.len()
    }

    /// What holds for the worst case of each policy.
    fn derive(&self, findings: &mut Findings) {
        for Named(rules) in &self.policies {
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
        let policies = Rules::ALL.map(|rules| self.policies.iter().any(|named| named.0 == rules));
        if policies == [true, true] {
            self.case
                .iter()
                .for_each(|case| self.compare(&case.name, findings));
        }
    }

    fn run(&self, job: Job<'_>) -> Result<Sample, RunError> {
        let case = &self.case[job.cell / self.policies.len()];
        let Named(rules) = self.policies[job.cell % self.policies.len()];
        let setup = CallScene {
            picture: self.picture,
            fps: case.fps,
            content: self.content.clone(),
            psnr: self.psnr,
            rules,
            filler: Filler::None,
            most: Rate::INFINITY,
            rtt: case.rtt,
            rate: case.rate,
            loss: Loss::None,
            queue: self.queue,
            measured: self.measured,
            tfrc: self.tfrc,
        };
        let mut world = World::new(&setup, job.seed)?;
        let looks = world.watch(job)?;
        Ok(sample(case, &setup, &world, &looks))
    }
}

impl VideoCall {
    /// By how much the viewer is better off by our rules than by the thesis's.
    fn compare(&self, case: &str, findings: &mut Findings) {
        for (metric, gain, sign) in [
            ("psnr_in_time_db", "psnr_in_time_gain_db", 1.0),
            ("in_time_pct", "in_time_gain_pct", 1.0),
            ("longest_gap_ms", "longest_gap_less_ms", -1.0),
        ] {
            if self.psnr || !metric.starts_with("psnr") {
                let of =
                    |rules: Rules| findings.value(&format!("{metric}_{}_{case}", rules.name()));
                let more = of(Rules::Evenkeel) - of(Rules::Thesis);
                findings.derive(format!("{gain}_{case}"), sign * more);
            }
        }
    }
}

fn sample(case: &Case, setup: &CallScene, world: &World<'_>, looks: &[SenderSample]) -> Sample {
    let mut sample = Sample::default();
    let rules = setup.rules.name();
    let inside: Vec<&SenderSample> = looks.iter().filter(|l| l.at >= setup.from()).collect();
    let x: Vec<f64> = inside.iter().map(|look| look.allowed / 1e3).collect();
    let media: Vec<f64> = rates(&inside).into_iter().map(|(_, kbps)| kbps).collect();
    let queued: Vec<f64> = inside.iter().map(|look| look.queued / 1e3).collect();
    let seen = world.seen();
    let (sender, receiver) = (&seen.sender, &seen.receiver);
    // Who shows nothing has no delay.
    let known = |value: Option<f64>| value.unwrap_or(f64::NAN);
    for (metric, value) in [
        ("utilisation_of_x", utilisation(&inside)),
        ("x_kbps", mean(&x)),
        ("x_cov", cov(&x)),
        ("rate_kbps", mean(&media)),
        ("rate_cov", cov(&media)),
        ("buffer_p95_kb", quantile(&queued, 0.95)),
        ("buffer_growth_kb", growth(&queued)),
        ("loss", seen.lost),
        ("frames_discarded_pct", seen.discarded_pct),
        ("in_time_pct", seen.in_time_pct),
        ("frames_corrupt_pct", seen.corrupt_pct),
        ("longest_gap_ms", seen.longest_gap_ms),
        ("frame_delay_p95_ms", known(receiver.frame_delay_p95_ms)),
        ("size_error_p50_pct", known(sender.size_error_p50_pct)),
        ("size_error_p95_pct", known(sender.size_error_p95_pct)),
        ("psnr_mean_db", known(receiver.psnr_mean_db)),
        ("psnr_in_time_db", known(seen.psnr_in_time_db)),
    ] {
        sample.metric(format!("{metric}_{rules}_{}", case.name), value);
    }
    let all: Vec<&SenderSample> = looks.iter().collect();
    let group = |what: &str| format!("{what}_{}", case.name);
    let x = looks.iter().map(|look| (look.at, look.allowed / 1e3));
    sample.curve(group("rates"), format!("X, {rules}"), x);
    sample.curve(group("rates"), format!("media, {rules}"), rates(&all));
    let queued = looks.iter().map(|look| (look.at, look.queued / 1e3));
    sample.curve(group("buffer"), rules, queued);
    sample
}

/// When, and how many kb/s of media left around then.
fn rates(looks: &[&SenderSample]) -> Vec<(f64, f64)> {
    let steps = looks.windows(DRAWN + 1).step_by(DRAWN);
    steps
        .map(|step| {
            let (first, last) = (step[0], step[DRAWN]);
            let kbps = (last.sent - first.sent) * 8e-3 / (last.at - first.at);
            (f64::midpoint(first.at, last.at), kbps)
        })
        .collect()
}

fn require_picture([width, height]: [usize; 2]) -> Result<(), Impossible> {
    let fits = |side: usize| (16..=2_040).contains(&side) && side.is_multiple_of(8);
    require(
        fits(width) && fits(height),
        "picture",
        "multiples of 8 up to 2040",
    )
}

fn require_fps(fps: u32) -> Result<(), Impossible> {
    require((1..=120).contains(&fps), "fps", "from 1 to 120")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial;

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
        trial::findings(call)
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
    fn a_clip_that_is_not_there_is_named() {
        let mut call = scenario("scene", "psnr = true", 10).unwrap();
        call.content = toml::from_str::<toml::Table>(r#"clip = "no such file.mp4""#)
            .and_then(Content::deserialize)
            .unwrap();
        assert_eq!(call.verify(), Ok(()));
        let failed = call.run(trial::job(0)).err().map(|error| error.to_string());
        let said = failed.expect("no pictures, no run");
        assert!(said.starts_with("no such file.mp4: "), "{said}");
    }

    #[test]
    fn pictures_that_fit_are_seen_in_time_and_as_they_were_captured() {
        let findings = run(&scenario("scene", "psnr = true", 10).unwrap());
        let value = |name: &str| findings.value(&format!("{name}_evenkeel_a"));
        assert!(value("in_time_pct") > 95.0, "{findings:?}");
        assert!(value("psnr_mean_db") > 25.0, "{findings:?}");
        // What is in sight when it is due is what was shown of it, as all came in time.
        let apart = value("psnr_mean_db") - value("psnr_in_time_db");
        assert!(apart.abs() < 1.0, "{findings:?}");
        let gain = findings.value("psnr_in_time_gain_db_a");
        let theirs = findings.value("psnr_in_time_db_thesis_a");
        assert_eq!(gain, value("psnr_in_time_db") - theirs);
        let less = findings.value("longest_gap_less_ms_a");
        let theirs = findings.value("longest_gap_ms_thesis_a");
        assert_eq!(less, theirs - value("longest_gap_ms"));
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
