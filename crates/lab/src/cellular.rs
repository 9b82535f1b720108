//! A seeded model generates cellular links where their recordings are absent.
//!
//! Deliveries are a Poisson process whose rate is random itself: a bounded Brownian motion with outages (Winstein,
//! Sivaraman, Balakrishnan, NSDI 2013, §3). The motion is of the quantile of the rate, not of the rate: reflected
//! between 0 and 1 it is uniform over time, so that the deciles of a recording are parameters of its model.
//! An outage begins by chance while the rate is in its lowest decile.

use evenkeel_link::{DeliveryTrace, Random};
use evenkeel_sim::Law;
use tfrc::time::Duration;

use crate::metrics::quantile;

/// The parameters of one link, fitted to its recording.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Model {
    /// The file of the recording.
    pub(crate) name: &'static str,
    /// The statistics that the parameters are fitted to.
    pub(crate) recorded: Statistics,
    /// The rates at [`QUANTILES`], in Mb/s.
    rates: [f64; 5],
    /// The standard deviation of the quantile's motion over a second.
    volatility: f64,
    /// Outages in a minute.
    outages_per_min: f64,
    /// In seconds; the length of an outage is uniform from zero to this.
    longest_outage: f64,
}

/// Statistics of a link's deliveries: rates over 1 s in Mb/s, times in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Statistics {
    /// The mean rate.
    pub(crate) mean: f64,
    /// The rate's quantiles of 10, 50 and 90 %.
    pub(crate) deciles: [f64; 3],
    /// The longest time without a delivery.
    pub(crate) longest_outage: f64,
}

impl Statistics {
    /// Measures one loop of a trace; a rest shorter than 1 s is left out of the deciles.
    pub(crate) fn of(trace: &DeliveryTrace) -> Self {
        let second = |index| Duration::from_secs(index);
        let rates = (0..trace.period().as_secs())
            .map(|i| trace.deliverable(second(i), second(i + 1)).as_f64() * 8e-6);
        let rates: Vec<f64> = rates.collect();
        let gaps = trace.millis().windows(2).map(|pair| pair[1] - pair[0]);
        Self {
            mean: trace.mean_rate().bits_per_sec() / 1e6,
            deciles: [0.1, 0.5, 0.9].map(|share| quantile(&rates, share)),
            longest_outage: gaps.max().unwrap_or_default() as f64 / 1e3,
        }
    }
}

/// The model interpolates the rate between these shares of the time.
const QUANTILES: [f64; 5] = [0.0, 0.1, 0.5, 0.9, 1.0];
/// The rate is constant over this time, in seconds (Winstein et al., §3.2).
const TICK: f64 = 0.02;
/// A packet of [`DeliveryTrace::OPPORTUNITY`], in Mb.
const PACKET: f64 = DeliveryTrace::OPPORTUNITY.get() as f64 * 8e-6;

/// The links whose recordings Mahimahi distributes: three of Winstein et al., and a later one of AT&T.
const MODELS: [Model; 4] = [
    Model {
        name: "ATT-LTE-driving-2016.down",
        recorded: Statistics {
            mean: 4.56,
            deciles: [0.792, 3.732, 9.696],
            longest_outage: 1.123,
        },
        rates: [0.26, 0.85, 3.2, 11.1, 11.3],
        volatility: 0.4,
        outages_per_min: 12.0,
        longest_outage: 0.65,
    },
    Model {
        name: "Verizon-LTE-short.down",
        recorded: Statistics {
            mean: 5.03,
            deciles: [1.332, 4.26, 9.696],
            longest_outage: 1.447,
        },
        rates: [0.46, 1.5, 4.1, 10.35, 10.6],
        volatility: 0.22,
        outages_per_min: 2.0,
        longest_outage: 1.4,
    },
    Model {
        name: "TMobile-LTE-short.up",
        recorded: Statistics {
            mean: 13.32,
            deciles: [3.324, 11.244, 25.32],
            longest_outage: 0.724,
        },
        rates: [1.11, 3.4, 10.7, 25.6, 28.3],
        volatility: 0.11,
        outages_per_min: 1.0,
        longest_outage: 0.72,
    },
    Model {
        name: "Verizon-EVDO-driving.down",
        recorded: Statistics {
            mean: 0.521,
            deciles: [0.048, 0.408, 1.164],
            longest_outage: 11.567,
        },
        rates: [0.017, 0.122, 0.43, 1.18, 1.53],
        volatility: 0.2,
        outages_per_min: 1.0,
        longest_outage: 10.8,
    },
];

impl Model {
    /// The model of a recording, by the name of its file.
    pub(crate) fn of(name: &str) -> Option<&'static Self> {
        MODELS.iter().find(|model| model.name == name)
    }

    /// The names of all models, for an error's remedy.
    pub(crate) fn names() -> String {
        MODELS.map(|model| model.name).join(", ")
    }

    /// Draws a trace of this length; `None` if nothing is delivered in it.
    pub(crate) fn generate(&self, length: Duration, random: &mut Random) -> Option<DeliveryTrace> {
        let ticks = (length.as_secs_f64() / TICK) as u64;
        let step = self.volatility * TICK.sqrt();
        let lowest = QUANTILES[1];
        let outage = self.outages_per_min / 60.0 * TICK / lowest;
        let mut quantile = random.unit();
        let mut up_from = 0.0;
        // The expected deliveries until the next one, of a Poisson process of rate 1.
        let mut expected = interval(random);
        let mut millis = Vec::new();
        for tick in 0..ticks {
            let start = tick as f64 * TICK;
            if start < up_from {
                continue;
            }
            quantile = reflected(quantile + step * random.normal());
            if quantile < lowest && random.unit() < outage {
                up_from = start + self.longest_outage * random.unit();
                continue;
            }
            let per_second = self.rate(quantile) / PACKET;
            let mut offset = expected / per_second;
            while offset < TICK {
                millis.push(((start + offset) * 1e3) as u64);
                expected = interval(random);
                offset += expected / per_second;
            }
            expected = (offset - TICK) * per_second;
        }
        DeliveryTrace::new(millis)
    }

    /// The rate at this quantile, in Mb/s.
    fn rate(&self, quantile: f64) -> f64 {
        let above = QUANTILES.iter().position(|known| quantile <= *known);
        let above = above.unwrap_or(QUANTILES.len() - 1).max(1);
        let [from, to] = [QUANTILES[above - 1], QUANTILES[above]];
        let [low, high] = [self.rates[above - 1], self.rates[above]];
        low + (high - low) * (quantile - from) / (to - from)
    }
}

/// The time between two deliveries of a Poisson process of rate 1.
fn interval(random: &mut Random) -> f64 {
    Law::Exponential { mean: 1.0 }.draw(random)
}

/// Reflects a quantile at 0 and 1.
fn reflected(quantile: f64) -> f64 {
    let above = if quantile < 0.0 { -quantile } else { quantile };
    if above > 1.0 { 2.0 - above } else { above }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorded;
    use std::path::Path;

    const LENGTH: Duration = Duration::from_secs(120);

    #[test]
    fn trace_is_that_of_its_seed() {
        for model in &MODELS {
            let draw = |seed| model.generate(LENGTH, &mut Random::new(seed, 0));
            assert_eq!(draw(1), draw(1));
            assert_ne!(draw(1), draw(2));
        }
        // On any machine.
        let trace = MODELS[0].generate(LENGTH, &mut Random::new(1, 0)).unwrap();
        let [first, last] = [trace.millis()[0], trace.period().as_millis() as u64];
        assert_eq!((first, last, trace.millis().len()), (1, 119_989, 44_910));
    }

    #[test]
    fn models_have_the_statistics_of_their_recordings() {
        for model in &MODELS {
            let trace = model.generate(LENGTH * 60, &mut Random::new(1, 0)).unwrap();
            let generated = Statistics::of(&trace);
            let near = |value: f64, expected: f64, tolerance: f64| {
                let off = (value / expected - 1.0).abs();
                assert!(off < tolerance, "{}: {value}, not {expected}", model.name);
            };
            near(generated.mean, model.recorded.mean, 0.1);
            for (value, expected) in generated.deciles.iter().zip(model.recorded.deciles) {
                near(*value, expected, 0.15);
            }
        }
    }

    #[test]
    fn recordings_that_are_there_have_the_statistics_stated() {
        let experiments = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
        for model in &MODELS {
            let file = recorded::folder(&experiments).join(model.name);
            if !file.is_file() {
                continue;
            }
            let recording = Statistics::of(&recorded::read(&file).unwrap());
            let pairs = recording.deciles.into_iter().zip(model.recorded.deciles);
            for (value, stated) in pairs.chain([(recording.mean, model.recorded.mean)]) {
                assert!((value - stated).abs() < 0.006, "{}: {value}", model.name);
            }
            assert_eq!(recording.longest_outage, model.recorded.longest_outage);
        }
    }
}
