//! How long a call takes to have its rate and its queueing delay as alone.

use super::super::record::BIN;
use crate::metrics::{mean, median};

/// One bin after the TCP has left.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecoveryBin {
    /// Bits per second that arrived.
    pub(super) rate: f64,
    /// The least queueing delay at the bottleneck, in seconds: a frame's own packets are not in it.
    pub(super) queue: f64,
    /// The queueing delay that the call aims at, in seconds.
    pub(super) target: f64,
}

/// Bins of two seconds: a call is alone again if its rate and queue are so over this time.
const HOLD_BINS: usize = 10;

/// Seconds until a call has `needed` bits per second and a queue of its target; all the time if it never has.
pub(super) fn seconds_to_recover(bins: &[RecoveryBin], needed: f64) -> f64 {
    let has_recovered = |bins: &[RecoveryBin]| {
        let values = |of: fn(&RecoveryBin) -> f64| -> Vec<f64> { bins.iter().map(of).collect() };
        let [queue, target] = [values(|bin| bin.queue), values(|bin| bin.target)];
        mean(&values(|bin| bin.rate)) >= needed && median(&queue) <= median(&target)
    };
    let first = bins.windows(HOLD_BINS).position(has_recovered);
    first.unwrap_or(bins.len()) as f64 * BIN.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recovery_waits_for_rate_and_queue() {
        let bin = |rate, queue| RecoveryBin {
            rate,
            queue,
            target: 0.01,
        };
        let standing = vec![bin(2e6, 0.3); 20];
        let slow = vec![bin(0.5e6, 0.001); 30];
        let recovered = vec![bin(1.5e6, 0.005); 30];
        let bins = [standing.clone(), slow, recovered].concat();
        // The queue is short from 4 s on, and the rate is sufficient from 10 s on.
        assert_eq!(seconds_to_recover(&bins, 1.45e6), 10.0);
        assert_eq!(seconds_to_recover(&standing, 1.45e6), 4.0);
    }
}
