//! The average loss interval of NADA, in packets (RFC 8698 §4.2, by RFC 5348 §5.4).

use std::collections::VecDeque;

/// RFC 5348 §5.4: the weights of the last eight intervals.
const WEIGHTS: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];

/// The newest intervals between losses, the one that has not ended first.
#[derive(Clone, Debug)]
pub(super) struct LossIntervals {
    current: u64,
    ended: VecDeque<u64>,
}

impl LossIntervals {
    pub(super) const fn new() -> Self {
        Self {
            current: 0,
            ended: VecDeque::new(),
        }
    }

    /// A packet arrived in order.
    pub(super) fn handle_arrival(&mut self) {
        self.current += 1;
    }

    /// Packets are missing before one that arrived. Neighbours that are lost together are one loss.
    pub(super) fn handle_loss(&mut self) {
        self.ended.push_front(self.current);
        self.ended.truncate(WEIGHTS.len());
        self.current = 1;
    }

    /// Packets since the last loss.
    pub(super) fn current(&self) -> f64 {
        self.current as f64
    }

    /// loss_int, of the intervals that have ended; `None` without a loss.
    ///
    /// RFC 5348 §5.4 includes the current interval where that raises the average. A loss would then
    /// never expire: seven times the average would always exceed the current interval.
    pub(super) fn average(&self) -> Option<f64> {
        let weighted = self.ended.iter().zip(WEIGHTS);
        let sum: f64 = weighted
            .map(|(packets, weight)| *packets as f64 * weight)
            .sum();
        let total: f64 = WEIGHTS.iter().take(self.ended.len()).sum();
        (total > 0.0).then(|| sum / total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn average_weighs_eight_ended_intervals() {
        let mut history = LossIntervals::new();
        let mut averages = Vec::new();
        for packets in [10, 100, 100, 100, 100, 100, 100, 100, 40] {
            let present = history.current;
            (present..packets).for_each(|_| history.handle_arrival());
            averages.push(history.average());
            history.handle_loss();
        }
        // The packets before the first loss are the first interval.
        assert_eq!(averages[..3], [None, Some(10.0), Some(55.0)]);
        // 10 packets weigh 0.2 of 6: (5.8 * 100 + 0.2 * 10) / 6. They are forgotten after the ninth loss.
        assert_eq!(averages[8], Some(97.0));
        assert_eq!(history.average(), Some(90.0));
        assert_eq!(history.current(), 1.0);
    }
}
