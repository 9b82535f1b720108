//! Which packets the path itself loses, before they reach the queue.

use crate::random::{Random, stream};

/// Loss that does not depend on the load.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Loss {
    /// Only a full queue drops.
    #[default]
    None,
    /// Each packet is lost with this probability, independently. Clamped to [0, 1]; NaN is 0.
    Bernoulli(f64),
    /// Every n-th packet is lost: the n-th, the 2n-th and so on. Zero loses none.
    Periodic(u64),
}

/// Decides each packet's fate in order of arrival.
#[derive(Clone, Debug)]
pub(crate) struct LossProcess {
    model: Loss,
    random: Random,
    since_last: u64,
}

impl LossProcess {
    pub(crate) fn new(model: Loss, seed: u64) -> Self {
        Self {
            model,
            random: Random::new(seed, stream::LOSS),
            since_last: 0,
        }
    }

    pub(crate) fn model(&self) -> Loss {
        self.model
    }

    /// Changes the model; the random stream goes on and the period starts anew.
    pub(crate) fn set_model(&mut self, model: Loss) {
        self.model = model;
        self.since_last = 0;
    }

    /// True if the next packet is lost.
    pub(crate) fn loses_next(&mut self) -> bool {
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
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(model: Loss, packets: u64) -> u64 {
        let mut process = LossProcess::new(model, 1);
        (0..packets).filter(|_| process.loses_next()).count() as u64
    }

    #[test]
    fn periodic_loss_takes_exactly_every_nth() {
        let mut process = LossProcess::new(Loss::Periodic(3), 1);
        let fates: Vec<bool> = (0..7).map(|_| process.loses_next()).collect();
        assert_eq!(fates, [false, false, true, false, false, true, false]);
        assert_eq!(lost(Loss::Periodic(0), 100), 0);
        assert_eq!(lost(Loss::Periodic(1), 100), 100);
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
}
