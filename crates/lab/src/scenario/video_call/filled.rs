//! A call over a lossy link, its rate filled with nothing, with dummies or with repair packets: what each does
//! to the rate, to delay and to the pictures.

use evenkeel_link::{GilbertElliott, Loss};
use evenkeel_media::filler::Filler;
use evenkeel_media::policy::Rules;
use serde::Deserialize;
use tfrc::units::Rate;

use super::world::{CallOutcome, CallScene, Content, SenderSample, World};
use super::{Named, require_fps, require_picture};
use crate::error::{Impossible, RunError, require};
use crate::findings::Sample;
use crate::job::Job;
use crate::metrics::{cov, mean};
use crate::network::Tfrc;
use crate::scenario::contract::Scenario;
use crate::units::{BitRate, Share, Size, Time};

/// Parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FilledCall {
    /// Columns and rows.
    picture: [usize; 2],
    /// Pictures a second.
    fps: u32,
    /// What is drawn and coded.
    #[serde(default)]
    content: Content,
    /// What the bottleneck's drop-tail queue holds.
    queue: Size,
    rtt: Time,
    /// The call's edition and t_RTO.
    #[serde(default)]
    tfrc: Tfrc,
    /// By which rules frames are made and sent; the product's if not given.
    #[serde(default)]
    policy: Named<Rules>,
    /// One cell each, with each case: `none`, `dummy`, `fec`.
    fillers: Vec<Named<Filler>>,
    /// When measuring begins, and when the run ends.
    measured: [Time; 2],
    case: Vec<Case>,
}

/// What the link does.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// In legends and names of metrics.
    name: String,
    rate: BitRate,
    /// No frame is larger than this rate has it.
    #[serde(default)]
    most: Option<BitRate>,
    /// Packets lost, each with this probability.
    #[serde(default)]
    loss: Option<Share>,
    /// Lost at a time, on average: the chain of Gilbert, which loses everything while it is bad.
    #[serde(default)]
    burst: Option<f64>,
}

/// Rates are taken over so many looks: half a second.
const STEP: usize = 10;

impl Case {
    fn loss(&self) -> Loss {
        let share = self.loss.map_or(0.0, |share| share.0);
        match self.burst {
            // The share of packets met in the bad state is to_bad / (to_bad + to_good).
            Some(burst) if share > 0.0 => Loss::GilbertElliott(GilbertElliott {
                to_bad: share / (1.0 - share) / burst,
                to_good: 1.0 / burst,
                good_loss: 0.0,
                bad_loss: 1.0,
            }),
            _ if share > 0.0 => Loss::Bernoulli(share),
            _ => Loss::None,
        }
    }
}

impl Scenario for FilledCall {
    fn verify(&self) -> Result<(), Impossible> {
        self.tfrc.verify_alone()?;
        require_picture(self.picture)?;
        require_fps(self.fps)?;
        let looks = self.content != Content::Sizes;
        require(looks, "content", "pictures")?;
        require(!self.fillers.is_empty(), "fillers", "one or more")?;
        let [from, to] = self.measured;
        require(from < to, "measured", "[from, to]")?;
        require(!self.case.is_empty(), "case", "one or more")?;
        self.case.iter().enumerate().try_for_each(|(index, case)| {
            let lost = case.loss.is_none_or(|share| share.0 < 0.5);
            require(lost, "loss", "below 50%").map_err(|wrong| wrong.inside("case", index))?;
            let burst = case
                .burst
                .is_none_or(|burst| (1.0..=100.0).contains(&burst));
            require(burst, "burst", "from 1 to 100 packets")
                .map_err(|wrong| wrong.inside("case", index))
        })
    }

    fn cells(&self) -> usize {
        self.case.len() * self.fillers.len()
    }

    fn run(&self, job: Job<'_>) -> Result<Sample, RunError> {
        let case = &self.case[job.cell / self.fillers.len()];
        let Named(filler) = self.fillers[job.cell % self.fillers.len()];
        let setup = CallScene {
            picture: self.picture,
            fps: self.fps,
            content: self.content.clone(),
            psnr: true,
            rules: self.policy.0,
            filler,
            most: case.most.map_or(Rate::INFINITY, |most| most.0),
            rtt: self.rtt,
            rate: case.rate,
            loss: case.loss(),
            queue: self.queue,
            measured: self.measured,
            tfrc: self.tfrc,
        };
        let mut world = World::new(&setup, job.seed)?;
        let looks = world.watch(job)?;
        let looks: Vec<&SenderSample> = looks.iter().skip(STEP - 1).step_by(STEP).collect();
        Ok(sample(&case.name, &setup, &world.seen(), &looks))
    }
}

fn sample(case: &str, setup: &CallScene, seen: &CallOutcome, looks: &[&SenderSample]) -> Sample {
    let mut sample = Sample::default();
    let name = setup.filler.name();
    let mut metric = |what: &str, value: f64| sample.metric(format!("{what}_{name}_{case}"), value);
    let from = looks.partition_point(|look| look.at < setup.from());
    let inside = &looks[from..];
    let kbps = |of: fn(&SenderSample) -> f64| -> Vec<f64> {
        let rates = rates(inside, of).into_iter();
        rates.map(|(_, kbps)| kbps).collect()
    };
    let x: Vec<f64> = inside.iter().map(|look| look.allowed / 1e3).collect();
    metric("x_kbps", mean(&x));
    let rate = kbps(|look| look.sent + look.filler);
    metric("rate_kbps", mean(&rate));
    metric("rate_cov", cov(&rate));
    let filler = mean(&kbps(|look| look.filler));
    metric("media_kbps", mean(&kbps(|look| look.sent)));
    metric("filler_kbps", filler);
    metric("filler_share_pct", 100.0 * filler / mean(&rate));
    metric("loss_pct", seen.missed_pct);
    metric("recovered_pct", seen.recovered_pct);
    metric("in_time_pct", seen.in_time_pct);
    metric("frames_corrupt_pct", seen.corrupt_pct);
    metric("longest_gap_ms", seen.longest_gap_ms);
    let shown = &seen.receiver;
    for (what, value) in [
        ("frame_delay_p50_ms", shown.frame_delay_p50_ms),
        ("frame_delay_p95_ms", shown.frame_delay_p95_ms),
        ("psnr_mean_db", shown.psnr_mean_db),
        ("psnr_p5_db", shown.psnr_p5_db),
        ("ssim_mean", seen.ssim_mean),
    ] {
        // Who shows nothing has none of them.
        metric(what, value.unwrap_or(f64::NAN));
    }
    let group = format!("rates_{case}");
    let x = looks.iter().map(|look| (look.at, look.allowed / 1e3));
    sample.curve(group.clone(), format!("X, {name}"), x);
    let media = rates(looks, |look| look.sent);
    sample.curve(group.clone(), format!("media, {name}"), media);
    if setup.filler != Filler::None {
        let filler = rates(looks, |look| look.filler);
        sample.curve(group, format!("filler, {name}"), filler);
    }
    sample
}

/// When, and how many kb/s left since the look before.
fn rates(looks: &[&SenderSample], of: fn(&SenderSample) -> f64) -> Vec<(f64, f64)> {
    let steps = looks.windows(2).map(|pair| (pair[0], pair[1]));
    steps
        .map(|(a, b)| (b.at, (of(b) - of(a)) * 8e-3 / (b.at - a.at)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::Findings;
    use crate::trial;

    /// Forty seconds: in ten 13 packets are lost with repair packets, too few to tell which share comes back.
    fn scenario(more: &str, case: &str) -> FilledCall {
        toml::from_str(&format!(
            r#"picture = [64, 48]
               fps = 25
               queue = "30kB"
               rtt = "40ms"
               {more}
               measured = ["3s", "43s"]
               case = [{{ name = "a", rate = "1Mb/s"{case} }}]"#
        ))
        .expect("a scenario")
    }

    fn run(call: &FilledCall) -> Findings {
        trial::findings_of(call, 0..call.cells())
    }

    #[test]
    fn what_no_run_could_have_is_refused() {
        let fillers = r#"fillers = ["fec"]"#;
        assert_eq!(scenario(fillers, "").verify(), Ok(()));
        for (case, key) in [(r#", loss = "50%""#, "loss"), (", burst = 0.5", "burst")] {
            let refused = scenario(fillers, case).verify();
            assert_eq!(refused.map_err(|error| error.key), Err(key));
        }
        let blank = scenario(&format!("{fillers}\ncontent = \"sizes\""), "");
        assert_eq!(blank.verify().map_err(|error| error.key), Err("content"));
    }

    #[test]
    fn repair_packets_leave_fewer_damaged_frames_and_dummies_do_not() {
        let call = scenario(
            r#"fillers = ["none", "dummy", "fec"]"#,
            r#", loss = "2%", most = "500kb/s""#,
        );
        let findings = run(&call);
        let value = |name: &str| findings.value(&format!("{name}_a"));
        assert!(value("filler_kbps_none") == 0.0, "{findings:?}");
        assert!(value("filler_kbps_dummy") > 50.0, "{findings:?}");
        assert!(value("recovered_pct_dummy") == 0.0, "{findings:?}");
        assert!(value("recovered_pct_fec") > 50.0, "{findings:?}");
        let damaged = value("frames_corrupt_pct_none");
        assert!(damaged > 2.0, "{findings:?}");
        assert!(
            value("frames_corrupt_pct_fec") < damaged / 2.0,
            "{findings:?}"
        );
        // Dummies fill a tenth more than the mean of what may be sent. Why is not traced.
        for (filler, more) in [("none", 1.0), ("dummy", 1.1), ("fec", 1.0)] {
            let rate = value(&format!("rate_kbps_{filler}"));
            let x = value(&format!("x_kbps_{filler}"));
            assert!(rate <= 1.05 * more * x, "{findings:?}");
        }
    }
}
