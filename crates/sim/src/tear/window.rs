//! The window of TEAR follows what a TCP would have had for the packets that arrive, averaged over epochs.

use crate::tcp::DUP_THRESH;

/// Of epochs, the newest first: TFRC's of loss intervals, with which the paper compares its own.
const WEIGHTS: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];
/// The window never grows beyond this: 65,535 packets, as sequence numbers of 16 bits would have it.
const MAX_WINDOW: f64 = 65_535.0;

/// Windows of an epoch.
#[derive(Clone, Copy, Debug, Default)]
struct Epoch {
    sum: f64,
    rounds: f64,
}

impl Epoch {
    fn mean(self) -> f64 {
        self.sum / self.rounds
    }
}

/// A hole in the sequence, and whether a TCP would have seen it by duplicate acknowledgements.
#[derive(Clone, Copy, Debug)]
struct Hole {
    /// From here on packets are of a window that was sent after the loss was known.
    recover: u64,
    /// Packets that came above it.
    above: u64,
}

/// The window of a TCP that received what this receives.
#[derive(Clone, Debug)]
pub(super) struct Window {
    size: f64,
    threshold: f64,
    /// Arrivals until the round is over.
    left: f64,
    epoch: Epoch,
    /// The newest first; no rounds where there are none yet.
    closed: [Epoch; WEIGHTS.len()],
    /// One more than the highest packet.
    next: u64,
    hole: Option<Hole>,
}

impl Window {
    pub(super) fn new() -> Self {
        Self {
            size: 1.0,
            threshold: MAX_WINDOW,
            left: 1.0,
            epoch: Epoch::default(),
            closed: [Epoch::default(); WEIGHTS.len()],
            next: 0,
            hole: None,
        }
    }

    pub(super) fn handle_data(&mut self, sequence: u64) {
        let Some(missing) = sequence.checked_sub(self.next) else {
            return;
        };
        let expected = self.next;
        self.next = sequence + 1;
        if let Some(mut hole) = self.hole {
            if sequence >= hole.recover {
                self.hole = None;
                if hole.above < DUP_THRESH {
                    // Too few to tell a TCP of the loss.
                    self.lose(1.0);
                }
            } else {
                hole.above += 1;
                if hole.above == DUP_THRESH {
                    self.lose(self.size / 2.0);
                }
                self.hole = Some(hole);
            }
        }
        if missing > 0 && self.hole.is_none() {
            self.hole = Some(Hole {
                recover: expected + self.size.max(1.0) as u64,
                above: 1,
            });
        }
        if self.hole.is_none() {
            self.grow();
        }
        self.left -= 1.0;
        if self.left <= 0.0 {
            self.epoch.sum += self.size;
            self.epoch.rounds += 1.0;
            self.left = self.size.max(1.0);
        }
    }

    fn grow(&mut self) {
        let step = if self.size < self.threshold {
            1.0
        } else {
            1.0 / self.size
        };
        self.size = (self.size + step).min(MAX_WINDOW);
    }

    /// An epoch ends.
    fn lose(&mut self, left: f64) {
        self.threshold = (self.size / 2.0).max(2.0);
        self.size = left.max(1.0);
        self.left = self.left.min(self.size);
        let epoch = std::mem::take(&mut self.epoch);
        if epoch.rounds > 0.0 {
            self.closed.rotate_right(1);
            self.closed[0] = epoch;
        }
    }

    /// Packets a round trip. The epoch that is not over counts if it raises the average.
    pub(super) fn smoothed(&self) -> f64 {
        let known = self.closed.iter().filter(|epoch| epoch.rounds > 0.0);
        let closed: Vec<f64> = known.map(|epoch| epoch.mean()).collect();
        if closed.is_empty() {
            return self.size;
        }
        let past = weighted(closed.iter().copied());
        if self.epoch.rounds > 0.0 {
            let with = std::iter::once(self.epoch.mean()).chain(closed.iter().copied());
            past.max(weighted(with))
        } else {
            past
        }
    }
}

fn weighted(means: impl Iterator<Item = f64>) -> f64 {
    let pairs = means.zip(WEIGHTS);
    let (sum, weights) = pairs.fold((0.0, 0.0), |(sum, weights), (mean, weight)| {
        (sum + mean * weight, weights + weight)
    });
    sum / weights
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window of 16 packets in congestion avoidance, all up to here received.
    fn window() -> Window {
        Window {
            size: 16.0,
            threshold: 8.0,
            left: 16.0,
            next: 100,
            ..Window::new()
        }
    }

    #[test]
    fn a_round_of_packets_adds_one_to_the_window() {
        let mut window = window();
        (100..116).for_each(|sequence| window.handle_data(sequence));
        assert!((window.size - 17.0).abs() < 0.05, "{}", window.size);
        assert_eq!(window.epoch.rounds, 1.0);
    }

    #[test]
    fn three_packets_above_a_hole_halve_the_window_once_for_all_of_it() {
        let mut window = window();
        for sequence in [101, 102] {
            window.handle_data(sequence);
        }
        assert_eq!(window.size, 16.0);
        for sequence in [103, 105, 106, 110] {
            window.handle_data(sequence);
        }
        assert_eq!((window.size, window.threshold), (8.0, 8.0));
    }

    #[test]
    fn a_window_lost_whole_is_a_timeout() {
        let mut window = window();
        window.handle_data(101);
        window.handle_data(120);
        assert!(window.size < 2.5, "{}", window.size);
        assert_eq!(window.threshold, 8.0);
    }

    #[test]
    fn the_rate_averages_epochs_and_an_open_one_can_only_raise_it() {
        let mut window = window();
        let epoch = |mean: f64| Epoch {
            sum: 2.0 * mean,
            rounds: 2.0,
        };
        window.closed[..2].copy_from_slice(&[epoch(10.0), epoch(14.0)]);
        assert_eq!(window.smoothed(), 12.0);
        window.epoch = epoch(6.0);
        assert_eq!(window.smoothed(), 12.0);
        window.epoch = epoch(18.0);
        assert_eq!(window.smoothed(), 14.0);
    }
}
