//! A call over a lossy link, its rate filled with nothing, with dummies or with repair packets: what each does
//! to the rate, to delay and to the pictures.

use std::str::FromStr;

use evenkeel_link::{GilbertElliott, LinkConfig, Loss, QueueLimit};
use evenkeel_media::filler::Filler;
use evenkeel_media::policy::{PolicyConfig, Rules};
use evenkeel_media::source::{Format, FrameRate, Scene, Source};
use evenkeel_sim::{Access, End, FlowId, MediaEnd, Pictures, Shape, Shooting, Simulation, Traffic};
use serde::Deserialize;
use tfrc::time::{Duration, Instant};
use tfrc::units::Rate;

use super::{Impossible, Job, RunError, Scenario, require};
use crate::findings::Sample;
use crate::metrics::{cov, mean};
use crate::network::{advance, broken};
use crate::units::{BitRate, Share, Size, Time};

/// Parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FilledCall {
    /// Columns and rows.
    picture: [usize; 2],
    /// Pictures a second.
    fps: u32,
    /// What the bottleneck's drop-tail queue holds.
    queue: Size,
    rtt: Time,
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

/// Between two looks at the sender.
const LOOK: Duration = Duration::from_millis(500);
/// γ of the thesis (§6.3.2).
const IN_TIME: Duration = Duration::from_millis(150);

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
        let fits = |side: &usize| (16..=2_040).contains(side) && side.is_multiple_of(8);
        let sides = self.picture.iter().all(fits);
        require(sides, "picture", "multiples of 8 up to 2040")?;
        require((1..=120).contains(&self.fps), "fps", "from 1 to 120")?;
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

    fn is_random(&self) -> bool {
        true
    }

    fn run(&self, job: Job<'_>) -> Result<Sample, RunError> {
        let case = &self.case[job.cell / self.fillers.len()];
        let Named(filler) = self.fillers[job.cell % self.fillers.len()];
        let mut world = World::new(self, case, filler, job.seed)?;
        let looks = world.watch(self.measured[1], job)?;
        Ok(self.sample(case, filler, &world, &looks))
    }
}

/// What the sender is at, each time that it is looked at.
struct Look {
    at: f64,
    /// X, in bits per second.
    allowed: f64,
    /// Bytes sent so far, as TFRC counts them.
    media: f64,
    filler: f64,
}

struct World {
    sim: Simulation<Traffic>,
    flow: FlowId,
}

impl World {
    fn new(call: &FilledCall, case: &Case, filler: Filler, seed: u64) -> Result<Self, RunError> {
        let [width, height] = call.picture;
        let format = Format {
            width,
            height,
            frame_rate: FrameRate::new(call.fps, 1)
                .ok_or_else(|| RunError::Failed("no such frame rate".to_owned()))?,
        };
        let scene = || -> Result<Box<dyn Source + Send>, RunError> {
            let scene = Scene::new(format, seed).map_err(|error| broken(&error))?;
            Ok(Box::new(scene))
        };
        let back = LinkConfig {
            rate: case.rate.0,
            delay: call.rtt.0 / 2,
            queue: QueueLimit::Bytes(call.queue.0),
            ..LinkConfig::default()
        };
        let forward = LinkConfig {
            loss: case.loss(),
            ..back
        };
        let access = Access::even(LinkConfig::default());
        let shape = Shape::dumbbell([forward, back], [access]).map_err(|error| broken(&error))?;
        let start = Instant::ZERO;
        let [warm, end] = call.measured.map(|time| start + time.0);
        let shooting = Shooting {
            start,
            // A sender that has fallen silent has no other event left than the next picture.
            stop: end + Duration::from_secs(1),
            pause: None,
            most: case.most.map_or(Rate::INFINITY, |most| most.0),
        };
        let policy = PolicyConfig {
            rules: call.policy.0,
            filler,
            ..PolicyConfig::new(format.frame_rate.interval())
        };
        let pictures = Pictures::Coded(scene()?);
        let sender = MediaEnd::sender_of(policy, warm, pictures, shooting, false, seed);
        let receiver = MediaEnd::receiver(start, warm, seed).looks_at(scene()?, start);
        let mut sim = Simulation::new(&shape.topology, seed);
        let place = &shape.places[0];
        let flow = sim.add_flow(
            &place.forward,
            &place.reverse,
            sender.into(),
            receiver.into(),
        );
        Ok(Self { sim, flow })
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
            let session = end.call().session();
            let path = session.path();
            looks.push(Look {
                at: next.as_secs_f64(),
                allowed: path.map_or(0.0, |path| path.allowed_rate.bits_per_sec()),
                media: session.statistics().bytes_sent as f64,
                filler: session.statistics().repair_bytes_sent as f64,
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

impl FilledCall {
    fn sample(&self, case: &Case, filler: Filler, world: &World, looks: &[Look]) -> Sample {
        let mut sample = Sample::default();
        let key = format!("{}_{}", filler.name(), case.name);
        let mut metric = |name: &str, value: f64| sample.metric(format!("{name}_{key}"), value);
        let [from, to] = self.measured.map(Time::secs);
        let captured = (to - from) * f64::from(self.fps);
        let inside: Vec<&Look> = looks.iter().filter(|look| look.at >= from).collect();
        let kbps = |of: fn(&Look) -> f64| -> Vec<f64> {
            let steps = inside.windows(2).map(|pair| (pair[0], pair[1]));
            steps
                .map(|(a, b)| (of(b) - of(a)) * 8e-3 / (b.at - a.at))
                .collect()
        };
        let x: Vec<f64> = inside.iter().map(|look| look.allowed / 1e3).collect();
        metric("x_kbps", mean(&x));
        let rate = kbps(|look| look.media + look.filler);
        metric("rate_kbps", mean(&rate));
        metric("rate_cov", cov(&rate));
        metric("media_kbps", mean(&kbps(|look| look.media)));
        metric("filler_kbps", mean(&kbps(|look| look.filler)));
        if let Some(end) = world.end(End::Receiver) {
            let statistics = end.call().session().statistics();
            let (lost, came) = (statistics.packets_lost, statistics.packets_received);
            metric(
                "loss_pct",
                100.0 * lost as f64 / (lost + came).max(1) as f64,
            );
            let back = statistics.packets_recovered as f64 / lost.max(1) as f64;
            metric("recovered_pct", 100.0 * back);
            let (report, until) = (end.report(), Instant::ZERO + self.measured[1].0);
            let shown = report.summary();
            let in_time = report.shown_within(IN_TIME) as f64;
            metric("in_time_pct", (100.0 * in_time / captured).min(100.0));
            let damaged = 100.0 * shown.frames_corrupt as f64 / captured;
            metric("frames_corrupt_pct", damaged);
            let gap = report.longest_gap(until).as_secs_f64();
            metric("longest_gap_ms", gap * 1e3);
            for (name, value) in [
                ("frame_delay_p50_ms", shown.frame_delay_p50_ms),
                ("frame_delay_p95_ms", shown.frame_delay_p95_ms),
                ("psnr_mean_db", shown.psnr_mean_db),
                ("psnr_p5_db", shown.psnr_p5_db),
                ("ssim_mean", end.ssim_mean()),
            ] {
                // Who shows nothing has none of them.
                metric(name, value.unwrap_or(f64::NAN));
            }
        }
        let curve = |of: fn(&Look) -> f64| -> Vec<(f64, f64)> {
            let steps = looks.windows(2).map(|pair| (&pair[0], &pair[1]));
            steps
                .map(|(a, b)| (b.at, (of(b) - of(a)) * 8e-3 / (b.at - a.at)))
                .collect()
        };
        let group = format!("rates_{}", case.name);
        let name = filler.name();
        let x = looks.iter().map(|look| (look.at, look.allowed / 1e3));
        sample.curve(group.clone(), format!("X, {name}"), x);
        sample.curve(
            group.clone(),
            format!("media, {name}"),
            curve(|look| look.media),
        );
        if filler != Filler::None {
            sample.curve(group, format!("filler, {name}"), curve(|look| look.filler));
        }
        sample
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::Findings;
    use std::sync::atomic::AtomicBool;

    fn scenario(more: &str, case: &str) -> FilledCall {
        toml::from_str(&format!(
            r#"picture = [64, 48]
               fps = 25
               queue = "30kB"
               rtt = "40ms"
               {more}
               measured = ["3s", "13s"]
               case = [{{ name = "a", rate = "1Mb/s"{case} }}]"#
        ))
        .expect("a scenario")
    }

    fn run(call: &FilledCall) -> Findings {
        let stop = AtomicBool::new(false);
        let cells = (0..call.cells()).map(|cell| {
            let job = Job {
                cell,
                seed: 1,
                stop: &stop,
            };
            vec![call.run(job).expect("a run")]
        });
        Findings::join(&cells.collect::<Vec<_>>())
    }

    #[test]
    fn what_no_run_could_have_is_refused() {
        let fillers = r#"fillers = ["fec"]"#;
        assert_eq!(scenario(fillers, "").verify(), Ok(()));
        for (case, key) in [(r#", loss = "50%""#, "loss"), (", burst = 0.5", "burst")] {
            let refused = scenario(fillers, case).verify();
            assert_eq!(refused.map_err(|error| error.key), Err(key));
        }
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
        for filler in ["none", "dummy", "fec"] {
            let rate = value(&format!("rate_kbps_{filler}"));
            assert!(
                rate <= 1.05 * value(&format!("x_kbps_{filler}")),
                "{findings:?}"
            );
        }
    }
}
