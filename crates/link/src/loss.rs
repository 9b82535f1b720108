//! Which packets the path itself loses, before they reach the queue.

use tfrc::time::Instant;
use tfrc::units::{Bytes, Rate};

use crate::random::{Random, stream};

/// Loss without a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Loss {
    /// Only a full queue drops.
    #[default]
    None,
    /// Each packet is lost with this probability, independently. Clamped to [0, 1]; NaN is 0.
    Bernoulli(f64),
    /// Every n-th packet is lost: the n-th, the 2n-th and so on. Zero loses none.
    Periodic(u64),
    /// Two states, each with its own probability of loss, between which every packet may change
    /// (E. N. Gilbert, 1960; E. O. Elliott, 1963). It begins in the good one.
    GilbertElliott(GilbertElliott),
    /// What exceeds a rate is lost, as by a provider's policer; nothing is delayed.
    Policer(Policer),
}

/// A token bucket, full at first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policer {
    /// The rate in the long run.
    pub rate: Rate,
    /// What may exceed it at a time.
    pub burst: Bytes,
}

/// The probabilities of a [`Loss::GilbertElliott`]. Each is clamped to [0, 1]; NaN is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GilbertElliott {
    /// That the good state turns bad before a packet.
    pub to_bad: f64,
    /// That the bad state turns good before a packet: bursts last `1 / to_good` packets on average.
    pub to_good: f64,
    /// That a packet is lost in the good state.
    pub good_loss: f64,
    /// That a packet is lost in the bad state.
    pub bad_loss: f64,
}

impl GilbertElliott {
    /// The share of packets that is lost in the long run; `None` if the states never change.
    pub fn mean_loss(&self) -> Option<f64> {
        let [to_bad, to_good, good_loss, bad_loss] =
            [self.to_bad, self.to_good, self.good_loss, self.bad_loss].map(probability);
        let changes = to_bad + to_good;
        (changes > 0.0).then(|| (to_bad * bad_loss + to_good * good_loss) / changes)
    }
}

fn probability(p: f64) -> f64 {
    if p.is_nan() { 0.0 } else { p.clamp(0.0, 1.0) }
}

/// Decides each packet's fate in order of arrival.
#[derive(Clone, Debug)]
pub(crate) struct LossProcess {
    model: Loss,
    random: Random,
    since_last: u64,
    is_bad: bool,
    /// Bytes in the bucket of a policer, and when they were counted.
    tokens: f64,
    filled_at: Instant,
}

impl LossProcess {
    pub(crate) fn new(model: Loss, seed: u64) -> Self {
        let mut process = Self {
            model,
            random: Random::new(seed, stream::LOSS),
            since_last: 0,
            is_bad: false,
            tokens: 0.0,
            filled_at: Instant::ZERO,
        };
        process.set_model(model);
        process
    }

    pub(crate) fn model(&self) -> Loss {
        self.model
    }

    /// Changes the model; the random stream goes on, the period starts anew, in the good state, with a full bucket.
    pub(crate) fn set_model(&mut self, model: Loss) {
        self.model = model;
        self.since_last = 0;
        self.is_bad = false;
        self.tokens = f64::INFINITY;
    }

    /// True if the packet of this size is lost that arrives now.
    pub(crate) fn loses_next(&mut self, now: Instant, size: Bytes) -> bool {
        match self.model {
            Loss::None | Loss::Periodic(0) => false,
            // `unit` is below 1, so a probability of 1 loses every packet, and 0 none.
            Loss::Bernoulli(p) => self.random.unit() < p,
            Loss::Periodic(period) => {
                self.since_last += 1;
                let lost = self.since_last >= period;
                if lost {
                    self.since_last = 0;
                }
                lost
            }
            Loss::GilbertElliott(model) => {
                let change = if self.is_bad {
                    model.to_good
                } else {
                    model.to_bad
                };
                self.is_bad ^= self.random.unit() < change;
                let loss = if self.is_bad {
                    model.bad_loss
                } else {
                    model.good_loss
                };
                self.random.unit() < loss
            }
            Loss::Policer(policer) => {
                let elapsed = now.saturating_since(self.filled_at).as_secs_f64();
                let filled = self.tokens + policer.rate.bytes_per_sec() * elapsed;
                self.tokens = filled.min(policer.burst.as_f64());
                self.filled_at = now;
                let is_lost = self.tokens < size.as_f64();
                if !is_lost {
                    self.tokens -= size.as_f64();
                }
                is_lost
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Bytes = Bytes::new(1_000);

    fn lost(model: Loss, packets: u64) -> u64 {
        let mut process = LossProcess::new(model, 1);
        (0..packets)
            .filter(|_| process.loses_next(Instant::ZERO, SIZE))
            .count() as u64
    }

    #[test]
    fn periodic_loss_takes_exactly_every_nth() {
        let mut process = LossProcess::new(Loss::Periodic(3), 1);
        let fates: Vec<bool> = (0..7)
            .map(|_| process.loses_next(Instant::ZERO, SIZE))
            .collect();
        assert_eq!(fates, [false, false, true, false, false, true, false]);
        assert_eq!(lost(Loss::Periodic(0), 100), 0);
        assert_eq!(lost(Loss::Periodic(1), 100), 100);
    }

    #[test]
    fn policer_passes_its_rate_after_a_burst() {
        let policer = Policer {
            rate: Rate::from_bytes_per_sec(10e3),
            burst: Bytes::new(5_000),
        };
        let mut process = LossProcess::new(Loss::Policer(policer), 1);
        let mut passed = |ms: u64| {
            let fates = (0..20).map(|_| process.loses_next(Instant::from_millis(ms), SIZE));
            fates.filter(|is_lost| !is_lost).count()
        };
        assert_eq!([0, 100, 350, 60_000].map(&mut passed), [5, 1, 2, 5]);
    }

    #[test]
    fn bernoulli_loss_has_its_probability() {
        assert_eq!(lost(Loss::Bernoulli(0.0), 1_000), 0);
        assert_eq!(lost(Loss::Bernoulli(1.0), 1_000), 1_000);
        assert_eq!(lost(Loss::Bernoulli(f64::NAN), 1_000), 0);
        assert_eq!(lost(Loss::Bernoulli(-3.0), 1_000), 0);
        // Four standard deviations of a binomial around 2000.
        let count = lost(Loss::Bernoulli(0.02), 100_000);
        assert!((1_823..=2_177).contains(&count), "{count}");
    }

    #[test]
    fn two_states_lose_in_bursts_of_the_mean_length() {
        let model = GilbertElliott {
            to_bad: 0.01,
            to_good: 0.2,
            good_loss: 0.0,
            bad_loss: 1.0,
        };
        let mut process = LossProcess::new(Loss::GilbertElliott(model), 1);
        let fates: Vec<bool> = (0..500_000)
            .map(|_| process.loses_next(Instant::ZERO, SIZE))
            .collect();
        let bursts = fates.chunk_by(|a, b| a == b).filter(|chunk| chunk[0]);
        let lengths: Vec<usize> = bursts.map(<[bool]>::len).collect();
        let lost: usize = lengths.iter().sum();
        let share = lost as f64 / fates.len() as f64;
        let expected = 0.01 / 0.21;
        assert!((model.mean_loss().unwrap() - expected).abs() < 1e-12);
        assert!((share / expected - 1.0).abs() < 0.1, "{share}");
        let mean = lost as f64 / lengths.len() as f64;
        assert!((mean - 5.0).abs() < 0.3, "{mean}");
        assert_eq!(GilbertElliott::default().mean_loss(), None);
    }
}
