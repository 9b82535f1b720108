//! What a path does to packets besides queueing them: loss, jitter, reordering, duplication.

use crate::loss::{Loss, LossProcess};
use crate::random::{Random, stream};
use std::collections::VecDeque;
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, duration_from_secs};

/// Delay variation. It never reorders: a packet that would overtake another leaves together with
/// it, as RFC 8868 §4.5.2 has it for a queue further down the path (whose rate is not modelled).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Jitter {
    /// The delay is constant.
    #[default]
    None,
    /// |N(0, σ²)| clipped at 3σ, with this σ (RFC 8868 §4.5.3, which recommends 5 ms).
    Normal(Duration),
    /// Uniform between zero and this.
    Uniform(Duration),
}

/// Packets that fall behind, so that later ones overtake them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reordering {
    /// How likely a packet is to fall behind. Clamped to [0, 1]; NaN is 0.
    pub probability: f64,
    /// It is delayed by up to this besides, uniformly.
    pub delay: Duration,
}

/// What happens to one packet on its way.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fate {
    /// What is added to its delay without reordering it.
    pub(crate) jitter: Duration,
    /// What is added besides, if it falls behind.
    pub(crate) behind: Option<Duration>,
    pub(crate) is_duplicated: bool,
}

/// The impairments of a link, each with its own random stream.
#[derive(Clone, Debug)]
pub(crate) struct Impairments {
    pub(crate) loss: LossProcess,
    /// Packets to be lost by their number from now on, in ascending order.
    script: VecDeque<u64>,
    arrivals: u64,
    jitter: Jitter,
    jitter_random: Random,
    reordering: Reordering,
    reordering_random: Random,
    duplication: f64,
    duplication_random: Random,
    /// Of the packet on the wire: drawn before it is through, so that it is known when it comes out.
    pub(crate) fate: Fate,
}

impl Impairments {
    pub(crate) fn new(
        loss: Loss,
        jitter: Jitter,
        reordering: Reordering,
        duplication: f64,
        seed: u64,
    ) -> Self {
        Self {
            loss: LossProcess::new(loss, seed),
            script: VecDeque::new(),
            arrivals: 0,
            jitter,
            jitter_random: Random::new(seed, stream::JITTER),
            reordering,
            reordering_random: Random::new(seed, stream::REORDERING),
            duplication,
            duplication_random: Random::new(seed, stream::DUPLICATION),
            fate: Fate::default(),
        }
    }

    /// None, until some are set.
    pub(crate) fn none(seed: u64) -> Self {
        Self::new(Loss::None, Jitter::None, Reordering::default(), 0.0, seed)
    }

    /// Loses the packets of these numbers, counted from zero from now on.
    pub(crate) fn set_script(&mut self, mut numbers: Vec<u64>) {
        numbers.sort_unstable();
        self.script = numbers.into();
        self.arrivals = 0;
    }

    /// True if the packet of this size is lost that arrives now.
    pub(crate) fn loses_next(&mut self, now: Instant, size: Bytes) -> bool {
        let number = self.arrivals;
        self.arrivals += 1;
        let mut is_listed = false;
        while self.script.front().is_some_and(|&next| next <= number) {
            self.script.pop_front();
            is_listed = true;
        }
        self.loss.loses_next(now, size) || is_listed
    }

    /// True if packets may fall behind others.
    pub(crate) fn reorders(&self) -> bool {
        self.reordering.probability > 0.0
    }

    /// Decides the fate of the packet that goes on the wire now.
    pub(crate) fn draw(&mut self) {
        self.fate = Fate {
            jitter: self.draw_jitter(),
            behind: self.draw_reordering(),
            is_duplicated: self.duplication > 0.0
                && self.duplication_random.unit() < self.duplication,
        };
    }

    fn draw_reordering(&mut self) -> Option<Duration> {
        let Reordering { probability, delay } = self.reordering;
        let falls = probability > 0.0 && self.reordering_random.unit() < probability;
        falls.then(|| duration_from_secs(delay.as_secs_f64() * self.reordering_random.unit()))
    }

    fn draw_jitter(&mut self) -> Duration {
        match self.jitter {
            Jitter::None => Duration::ZERO,
            Jitter::Normal(sigma) => {
                let z = self.jitter_random.normal().abs().min(NORMAL_CLIP);
                duration_from_secs(sigma.as_secs_f64() * z)
            }
            Jitter::Uniform(most) => {
                duration_from_secs(most.as_secs_f64() * self.jitter_random.unit())
            }
        }
    }
}

/// N_STD of RFC 8868 §4.5.3.
const NORMAL_CLIP: f64 = 3.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_loses_the_packets_that_it_names() {
        let mut path = Impairments::new(Loss::None, Jitter::None, Reordering::default(), 0.0, 1);
        assert!(!path.loses_next(Instant::ZERO, Bytes::new(1)));
        path.set_script(vec![4, 1, 1, 2]);
        let lost: Vec<u64> = (0..8)
            .filter(|_| path.loses_next(Instant::ZERO, Bytes::new(1)))
            .collect();
        assert_eq!(lost, [1, 2, 4]);
    }

    #[test]
    fn as_many_fall_behind_and_are_doubled_as_was_asked_for() {
        let reordering = Reordering {
            probability: 0.1,
            delay: Duration::from_millis(10),
        };
        let mut path = Impairments::new(Loss::None, Jitter::None, reordering, 0.02, 1);
        let mut draw = || {
            path.draw();
            path.fate
        };
        let fates: Vec<Fate> = (0..100_000).map(|_| draw()).collect();
        let behind: Vec<Duration> = fates.iter().filter_map(|fate| fate.behind).collect();
        // Four standard deviations of a binomial each.
        assert!((9_620..=10_380).contains(&behind.len()), "{}", behind.len());
        assert!(behind.iter().all(|delay| *delay < reordering.delay));
        let doubled = fates.iter().filter(|fate| fate.is_duplicated).count();
        assert!((1_823..=2_177).contains(&doubled), "{doubled}");
    }
}
