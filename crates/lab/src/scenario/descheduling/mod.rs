//! A receiver that the system leaves without a processor now and then: does the rate collapse?
//! (`thesis` §5.3.2, figures 5.24 and 5.25.)

mod process;

use evenkeel_link::{LinkConfig, Loss, Random};
use evenkeel_sim::{Access, End, Shape, Simulation};
use serde::Deserialize;
use tfrc::time::{Duration, Instant};
use tfrc::units::duration_from_secs;

use crate::error::{Impossible, RunError, broken, require};
use crate::findings::{Findings, Sample};
use crate::flow::{Flow, TfrcFlowEvent, TfrcFlowSetup};
use crate::job::Job;
use crate::metrics::{BIN, dip_pct, mean, most};
use crate::network::{Edition, Feedback, Tfrc, reached, require_packet};
use crate::reader::Times;
use crate::real::{BedRecord, BedSetup, Real, RealFlow, RealProtocol};
use crate::scenario::contract::Scenario;
use crate::scenario::require::{require_lost_one_in, require_round_trips, require_window};
use crate::units::{Size, Time};
use process::Process;

/// Parameters.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Descheduling {
    /// Round-trip time.
    rtt: Time,
    /// Of every packet.
    packet: Size,
    /// Its t_RTO; each receiver has its edition.
    #[serde(default)]
    tfrc: Tfrc,
    /// The last of this many packets is lost, so that the loss event rate is steady and every dip of
    /// the rate has another reason.
    lost_one_in: u64,
    /// For how long the receiver is left alone.
    away: Time,
    /// From the end of one such time to the next: drawn evenly from between these.
    every: [Time; 2],
    /// How long after it a dip still counts as its consequence.
    consequence: Time,
    /// From and to when it happens.
    measured: [Time; 2],
    /// One cell each; what is named `ours` is what is required.
    receiver: Vec<ReceiverKind>,
}

/// How a receiver copes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReceiverKind {
    /// In the legend, and in names of metrics.
    name: String,
    /// Which times it reckons with.
    times: Times,
    /// The edition that both ends follow.
    edition: Edition,
    /// The least that the sender waits for a report before it takes the path for broken; its own default
    /// unless given.
    patience: Option<Time>,
    /// Whole sessions whose receiver reports this, in place of a sender and a receiver without bytes.
    feedback: Option<Feedback>,
}

/// Times and rates in bytes a second.
type Rates = Vec<(f64, f64)>;

impl Scenario for Descheduling {
    fn verify(&self) -> Result<(), Impossible> {
        self.tfrc.verify_alone()?;
        require_packet(self.packet)?;
        require_round_trips("measured", self.measured[1], self.rtt)?;
        require_lost_one_in([self.lost_one_in])?;
        let ours = self.receiver.iter().any(|kind| kind.name == "ours");
        require(
            ours,
            "receiver",
            "one or more, of which one has the name \"ours\"",
        )?;
        require_window("measured", self.measured)?;
        let apart = self.every[0] <= self.every[1] && self.every[0] >= self.consequence;
        require(apart, "every", "[least, most], not less than consequence")?;
        let some = !self.consequence.0.is_zero();
        require(some, "consequence", "above 0")
    }

    fn cells(&self) -> usize {
        self.receiver.len()
    }

    fn run(&self, job: Job<'_>) -> Result<Sample, RunError> {
        let kind = &self.receiver[job.cell];
        let aways = self.aways(job.seed);
        if let Some(feedback) = kind.feedback {
            let rates = self.sessions(kind, feedback, &aways, job)?;
            return Ok(self.sample_of(&kind.name, &rates, &aways, job.seed));
        }
        let mut flow = Flow::new(&TfrcFlowSetup {
            rtt: self.rtt.0,
            packet: self.packet.0,
            loss: Loss::Periodic(self.lost_one_in),
            tfrc: Tfrc {
                edition: kind.edition,
                ..self.tfrc
            },
            times: kind.times,
            patience: kind.patience.map(|time| time.0),
            seed: job.seed,
        });
        let mut rates = Rates::new();
        let mut see = |at: Instant, seen: TfrcFlowEvent| {
            if let TfrcFlowEvent::Feedback { allowed, .. } | TfrcFlowEvent::Silence { allowed } =
                seen
            {
                rates.push((at.as_secs_f64(), allowed.bytes_per_sec()));
            }
        };
        for from in &aways {
            flow.run_until(*from, &mut see);
            job.go_on()?;
            flow.deschedule_receiver(*from + self.away.0);
        }
        flow.run_until(Instant::ZERO + self.measured[1].0, &mut see);
        Ok(self.sample_of(&kind.name, &rates, &aways, job.seed))
    }

    fn real(&self) -> Option<&dyn Real> {
        let ours = |kind: &ReceiverKind| {
            matches!(
                (kind.times, kind.edition),
                (Times::Arrival, Edition::Rfc5348)
            )
        };
        // The others' mistakes are nowhere to be had.
        self.receiver.iter().all(ours).then_some(self)
    }

    /// What is required is ours.
    fn derive(&self, findings: &mut Findings) {
        let worst = findings.value("rate_dip_pct_ours");
        findings.derive("rate_dip_pct", worst);
    }
}

impl Real for Descheduling {
    fn takes(&self, _: usize) -> Duration {
        self.measured[1].0
    }

    fn setup(&self, job: Job<'_>) -> Result<BedSetup, RunError> {
        let aways = self.aways(job.seed).into_iter();
        let away = aways.map(|at| [at, at + self.away.0].map(|time| time - Instant::ZERO));
        let patience = self.receiver[job.cell].patience;
        Ok(BedSetup {
            links: self.links(),
            packet: self.packet.0,
            flows: vec![RealFlow {
                speaks: RealProtocol::Tfrc {
                    feedback: self.receiver[job.cell].feedback.unwrap_or_default(),
                    floor: patience.map(|time| time.0),
                    reports: None,
                },
                start: Duration::ZERO,
                stop: None,
                away: away.collect(),
            }],
            rate_change: None,
            shown: [Duration::ZERO, self.measured[1].0],
            measured: self.measured.map(|time| time.0),
            bin: BIN,
            seed: job.seed,
        })
    }

    fn sample(&self, job: Job<'_>, seen: BedRecord) -> Sample {
        let name = &self.receiver[job.cell].name;
        let aways = self.aways(job.seed);
        let mut sample = self.sample_of(name, &seen.allowed, &aways, job.seed);
        for (metric, late) in seen.late_us() {
            sample.metric(format!("{metric}_{name}"), late);
        }
        sample
    }
}

/// Rates are looked at so often: a fraction of a round trip.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

impl Descheduling {
    /// X of a session whose receiver is left alone at these times.
    fn sessions(
        &self,
        kind: &ReceiverKind,
        feedback: Feedback,
        aways: &[Instant],
        job: Job<'_>,
    ) -> Result<Rates, RunError> {
        let shape = Shape::dumbbell(self.links(), [Access::even(LinkConfig::default())])
            .map_err(|error| broken(&error))?;
        let mut sim = Simulation::new(&shape.topology, job.seed);
        let tfrc = Tfrc {
            edition: kind.edition,
            ..self.tfrc
        };
        let patience = kind.patience.map(|time| time.0);
        let [sender, receiver] = tfrc.sessions(self.packet.0, feedback, patience, job.seed);
        let place = &shape.places[0];
        let flow = sim.add_flow(
            &place.forward,
            &place.reverse,
            Process::new(sender, &[], Duration::ZERO),
            Process::new(receiver, aways, self.away.0),
        );
        let end = Instant::ZERO + self.measured[1].0;
        let mut rates = Rates::new();
        while sim.now() < end {
            job.go_on()?;
            let to = end.min(sim.now() + POLL_INTERVAL);
            reached(sim.run_until(to), to)?;
            let path = sim.agent(flow, End::Sender).end().session().path();
            let rate = path.map_or(0.0, |path| path.allowed_rate.bytes_per_sec());
            if rates.last().is_none_or(|(_, last)| *last != rate) {
                rates.push((to.as_secs_f64(), rate));
            }
        }
        Ok(rates)
    }

    /// There and back.
    fn links(&self) -> [LinkConfig; 2] {
        let back = LinkConfig {
            delay: self.rtt.0 / 2,
            ..LinkConfig::default()
        };
        let there = LinkConfig {
            loss: Loss::Periodic(self.lost_one_in),
            ..back
        };
        [there, back]
    }

    /// When the receiver loses its processor.
    fn aways(&self, seed: u64) -> Vec<Instant> {
        let mut random = Random::new(seed, 1);
        let [least, most] = self.every.map(Time::secs);
        let last = Instant::ZERO + (self.measured[1].0 - self.consequence());
        let mut aways = Vec::new();
        let mut at = Instant::ZERO + self.measured[0].0;
        loop {
            at += duration_from_secs(least + (most - least) * random.unit());
            if at > last {
                return aways;
            }
            aways.push(at);
            at += self.away.0;
        }
    }

    fn consequence(&self) -> Duration {
        (self.away.0 + self.consequence.0).min(self.measured[1].0)
    }

    fn sample_of(&self, name: &str, rates: &[(f64, f64)], aways: &[Instant], seed: u64) -> Sample {
        let dips: Vec<f64> = aways.iter().map(|at| self.dip(rates, *at)).collect();
        let worst = most(dips.iter().copied());
        let mut sample = Sample::default();
        sample.metric(format!("rate_dip_pct_{name}"), worst);
        sample.metric(format!("rate_dip_mean_pct_{name}"), mean(&dips));
        sample.metric(format!("deschedulings_{name}"), dips.len() as f64);
        // One run is drawn: a mean over seeds would hide the dips.
        if seed == 1 {
            let drawn = rates.iter().filter(|(t, _)| *t >= self.measured[0].secs());
            let kilobits = drawn.map(|(t, rate)| (*t, rate * 8.0 / 1e3));
            sample.curve("rate", name, kilobits);
            let ordered = aways.iter().zip(&dips);
            let points = ordered.map(|(at, dip)| (at.as_secs_f64(), *dip));
            sample.curve("dips", name, points);
        }
        sample
    }

    /// By how much of itself X is less, at its least, from an instant on.
    fn dip(&self, rates: &[(f64, f64)], at: Instant) -> f64 {
        let from = at.as_secs_f64();
        let to = (at + self.consequence()).as_secs_f64();
        let first = rates.partition_point(|(t, _)| *t < from);
        let before = rates[..first].last().map_or(f64::NAN, |(_, rate)| *rate);
        let after = rates[first..].iter().take_while(|(t, _)| *t < to);
        // A rate that only rises has not dipped.
        let rates = after.map(|(_, rate)| *rate).chain([before]);
        dip_pct(before, rates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial;

    fn scenario() -> Descheduling {
        toml::from_str(
            r#"rtt = "100ms"
               packet = "1000B"
               lost_one_in = 100
               away = "200ms"
               every = ["1s", "3s"]
               consequence = "1s"
               measured = ["10s", "30s"]
               receiver = [{ name = "ours", times = "arrival", edition = "rfc5348" }]"#,
        )
        .unwrap()
    }

    #[test]
    fn a_dip_is_the_least_rate_that_follows_within_its_time() {
        let rates = vec![
            (9.9, 50.0),
            (10.1, 40.0),
            (10.5, 45.0),
            (11.1, 30.0),
            (11.3, 10.0),
        ];
        let dip = scenario().dip(&rates, Instant::from_secs(10));
        assert!((dip - 40.0).abs() < 1e-9, "{dip}");
        assert_eq!(
            scenario().dip(&rates[..3], Instant::from_millis(10_200)),
            0.0
        );
    }

    #[test]
    fn the_receiver_is_away_at_random_within_the_time_and_never_twice_at_once() {
        let (a, b) = (scenario().aways(1), scenario().aways(2));
        assert!(a.len() >= 5 && a != b, "{a:?}");
        let apart = |pair: &[Instant]| pair[1] - pair[0] >= Duration::from_millis(1_200);
        assert!(a.windows(2).all(apart), "{a:?}");
        let last = Instant::from_millis(28_800);
        assert!(a[0] >= Instant::from_secs(11) && a.iter().all(|at| *at <= last));
    }

    /// A report that comes after 200 ms finds the nofeedback timer of 220 ms expired, unless the sender is patient.
    #[test]
    fn a_session_whose_receiver_is_away_is_silent_and_recovers() {
        let dip = |patience: &str| {
            let scenario: Descheduling = toml::from_str(&format!(
                r#"rtt = "55ms"
                   packet = "1000B"
                   lost_one_in = 100
                   away = "200ms"
                   every = ["1s", "3s"]
                   consequence = "800ms"
                   measured = ["10s", "40s"]
                   receiver = [{{ name = "ours", times = "arrival", edition = "rfc5348", feedback = "ccfb"{patience} }}]"#,
            ))
            .unwrap();
            trial::findings_of(&scenario, [0]).value("rate_dip_pct_ours")
        };
        let hasty = dip("");
        assert!((40.0..60.0).contains(&hasty), "{hasty}");
        let patient = dip(r#", patience = "300ms""#);
        assert!(patient < 5.0, "{patient}");
    }
}
