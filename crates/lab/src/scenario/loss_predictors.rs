//! How well do ways to average loss intervals foretell the next one? (`sigcomm` §4.4, figure 18.)

use evenkeel_sim::{Body, End, FlowId, LOWER_LAYERS, Observer, Packet, Traffic};
use serde::Deserialize;
use tfrc::loss::{Average, LossEstimator, Weights};
use tfrc::time::Instant;
use tfrc::{Arrival, ReceiverConfig};

use crate::error::{Impossible, RunError, require};
use crate::findings::{Findings, Sample};
use crate::job::Job;
use crate::metrics::{Estimate, deviation, least, mean};
use crate::network::{Bottleneck, Flows, Protocol, Queue, Run, Stage};
use crate::scenario::contract::Scenario;
use crate::scenario::require::require_queues;
use crate::units::{BitRate, Time};

/// Parameters. Every combination of a rate, a queue and a number of flows is a condition: a cell.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LossPredictors {
    /// Of the bottleneck.
    rates: Vec<BitRate>,
    /// Of the bottleneck.
    queues: Vec<Queue>,
    /// TCP flows beside the one TFRC flow whose losses are foretold.
    tcp_flows: Vec<usize>,
    /// Their paths and packets.
    flows: Flows,
    /// When the run ends.
    until: Time,
    /// Intervals that the averages look back at.
    history: Vec<usize>,
    /// Weights of the newest interval, for the exponentially weighted average.
    ewma: Vec<f64>,
    /// Lengths of the history window, in round trips.
    windows: Vec<u32>,
}

/// Loss events that come before any is foretold: the longest history is then full.
const LEARNT: usize = 33;

impl Scenario for LossPredictors {
    fn verify(&self) -> Result<(), Impossible> {
        self.flows.verify()?;
        require(!self.rates.is_empty(), "rates", "one or more")?;
        require_queues(&self.queues, self.flows.packet)?;
        let few = self.tcp_flows.iter().all(|count| *count <= 5_000);
        require(
            few && !self.tcp_flows.is_empty(),
            "tcp_flows",
            "one or more numbers up to 5000",
        )?;
        let history = self.history.iter().all(|n| (1..=32).contains(n));
        require(history, "history", "numbers from 1 to 32")?;
        let ewma = self
            .ewma
            .iter()
            .all(|weight| *weight > 0.0 && *weight <= 1.0);
        require(ewma, "ewma", "weights above 0, at most 1")
    }

    fn cells(&self) -> usize {
        self.rates.len() * self.queues.len() * self.tcp_flows.len()
    }

    fn comparable_stage(&self, cell: usize, seed: u64) -> Option<Stage> {
        Some(self.stage(cell, seed))
    }

    fn run(&self, job: Job<'_>) -> Result<Sample, RunError> {
        let stage = self.stage(job.cell, job.seed);
        let nothing = [Instant::ZERO; 2];
        let run = Run::new(&stage.bottleneck, &stage.members, nothing, job.seed)?;
        let mut trial = Trial::new(self.predictors());
        run.watch(Instant::ZERO + self.until.0, job, &mut trial)?;
        let condition = job.cell;
        let mut sample = Sample::default();
        sample.metric(
            format!("loss_events_condition_{condition}"),
            trial.events as f64,
        );
        for predictor in &trial.predictors {
            let (error, deviation) = predictor.errors();
            let name = &predictor.name;
            sample.metric(format!("error_mean_{name}_condition_{condition}"), error);
            sample.metric(format!("error_sd_{name}_condition_{condition}"), deviation);
        }
        Ok(sample)
    }

    /// Means over the conditions, as the paper has them.
    fn derive(&self, findings: &mut Findings) {
        let predictors = self.predictors();
        for predictor in &predictors {
            for metric in ["error_mean", "error_sd"] {
                let name = format!("{metric}_{}", predictor.name);
                let of = |condition| findings.estimate(&format!("{name}_condition_{condition}"));
                let value = Estimate::mean_of(&(0..self.cells()).map(of).collect::<Vec<_>>());
                findings.derive(name, value);
                if let Some((curve, x)) = predictor.drawn {
                    findings.draw(metric, curve, x, value);
                }
            }
        }
        let errors = predictors
            .iter()
            .map(|predictor| findings.value(&format!("error_mean_{}", predictor.name)));
        let best = least(errors);
        let of = |n: usize| findings.value(&format!("error_mean_decreasing_{n}"));
        let (eight, two) = (of(8), of(2));
        findings.derive("error_mean_decreasing_8_over_best", eight / best);
        findings.derive("error_mean_decreasing_8_over_2", eight / two);
    }
}

impl LossPredictors {
    fn stage(&self, cell: usize, seed: u64) -> Stage {
        let (rest, tcp) = (cell / self.tcp_flows.len(), cell % self.tcp_flows.len());
        let (rate, queue) = (rest / self.queues.len(), rest % self.queues.len());
        let mut protocols = vec![Protocol::Tfrc];
        protocols.resize(1 + self.tcp_flows[tcp], Protocol::Tcp);
        let bottleneck = Bottleneck::new(self.rates[rate], self.queues[queue]);
        let measured = [self.flows.start[1], self.until].map(|time| Instant::ZERO + time.0);
        Stage::new(bottleneck, self.flows.draw(&protocols, seed), measured)
    }

    fn predictors(&self) -> Vec<Predictor> {
        let weighted = self.history.iter().flat_map(|n| {
            [
                ("constant", "constant weights", Weights::equal(*n)),
                ("decreasing", "decreasing weights", Weights::falling(*n)),
            ]
            .map(|(name, curve, weights)| {
                let drawn = Some((curve, *n as f64));
                Predictor::new(format!("{name}_{n}"), drawn, Average::Weighted(weights))
            })
        });
        let ewma = self.ewma.iter();
        let ewma = ewma.map(|w| Predictor::new(format!("ewma_{w}"), None, Average::Ewma(*w)));
        let windows = self.windows.iter();
        let windows =
            windows.map(|w| Predictor::new(format!("window_{w}"), None, Average::Window(*w)));
        weighted.chain(ewma).chain(windows).collect()
    }
}

/// One way to average, and how far off it was.
struct Predictor {
    name: String,
    /// The curve and the x that it is drawn at.
    drawn: Option<(&'static str, f64)>,
    estimator: LossEstimator,
    /// p after the last loss event.
    predicted: f64,
    /// p as foretold less p as it came.
    off: Vec<f64>,
}

impl Predictor {
    fn new(name: String, drawn: Option<(&'static str, f64)>, average: Average) -> Self {
        Self {
            name,
            drawn,
            estimator: LossEstimator::new(&ReceiverConfig {
                average,
                // The method itself is judged, not the discounting beside it.
                discounting: false,
                ..ReceiverConfig::default()
            }),
            predicted: f64::NAN,
            off: Vec::new(),
        }
    }

    /// The mean distance and the standard deviation of the difference.
    fn errors(&self) -> (f64, f64) {
        let distances: Vec<f64> = self.off.iter().map(|off| off.abs()).collect();
        (mean(&distances), deviation(&self.off))
    }
}

/// All predictors on the losses of flow 0.
struct Trial {
    predictors: Vec<Predictor>,
    events: usize,
    event_start: Option<u64>,
}

impl Trial {
    fn new(predictors: Vec<Predictor>) -> Self {
        Self {
            predictors,
            events: 0,
            event_start: None,
        }
    }

    fn handle_arrival(&mut self, arrival: &Arrival) {
        let mut new_event = false;
        for predictor in &mut self.predictors {
            // The synthetic first interval is out of every history when the first event is foretold.
            let arrived = predictor.estimator.handle_arrival(arrival, || 1.0);
            new_event = arrived.new_events > 0;
        }
        if !new_event {
            return;
        }
        self.events += 1;
        let came = self
            .event_start
            .replace(arrival.seq)
            .map(|start| 1.0 / arrival.seq.saturating_sub(start) as f64);
        for predictor in &mut self.predictors {
            if let Some(came) = came
                && self.events > LEARNT
            {
                predictor.off.push(predictor.predicted - came);
            }
            predictor.predicted = predictor.estimator.loss_event_rate().get();
        }
    }
}

impl Observer<Traffic> for Trial {
    fn arrived(&mut self, now: Instant, flow: FlowId, end: End, packet: &Packet<Body>) {
        if flow.index() != 0 || end != End::Receiver {
            return;
        }
        if let Body::TfrcData {
            sequence, timing, ..
        } = &packet.body
        {
            self.handle_arrival(&Arrival {
                seq: *sequence,
                at: now,
                timestamp: timing.send_time,
                rtt: timing.rtt(),
                size: packet.size - LOWER_LAYERS,
                ecn: packet.ecn,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfrc::Ecn;
    use tfrc::time::Duration;
    use tfrc::units::Bytes;

    #[test]
    fn a_periodic_loss_is_foretold_without_error_and_a_change_of_it_is_not() {
        let average = Average::Weighted(Weights::falling(8));
        let mut trial = Trial::new(vec![Predictor::new("p".into(), None, average)]);
        let mut feed = |from: u64, to: u64, period: u64| {
            for seq in (from..to).filter(|seq| seq % period != 0) {
                trial.handle_arrival(&Arrival {
                    seq,
                    at: Instant::from_millis(seq),
                    timestamp: 0,
                    rtt: Some(Duration::from_millis(5)),
                    size: Bytes::new(1_000),
                    ecn: Ecn::NotEct,
                });
            }
            trial.predictors[0].errors()
        };
        let (error, deviation) = feed(0, 5_000, 100);
        assert!(error < 1e-12 && deviation < 1e-12, "{error} {deviation}");
        assert!(feed(5_000, 5_060, 50).0 > 0.0);
    }
}
