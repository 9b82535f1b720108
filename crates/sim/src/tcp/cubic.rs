//! The window as a cubic function of the time since it was last reduced (RFC 9438).

use tfrc::time::{Duration, Instant};

/// Packets a second cubed (§5).
const C: f64 = 0.4;
/// What a reduction leaves of the window (§4.6).
const BETA: f64 = 0.7;
/// The additive increase that has AIMD's mean window with [`BETA`] (§4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// What CUBIC remembers beside the window. Windows are in packets.
#[derive(Clone, Debug, Default)]
pub(super) struct Cubic {
    /// W_max: where the plateau is. Zero before the first reduction and after a timeout.
    w_max: f64,
    /// cwnd_prior: the window at the last reduction.
    prior: f64,
    /// The present stage of congestion avoidance; `None` until its first acknowledgement.
    epoch: Option<Epoch>,
}

#[derive(Clone, Debug)]
struct Epoch {
    start: Instant,
    /// Seconds from the start to the plateau.
    k: f64,
    /// The plateau.
    w_max: f64,
    /// W_est: what AIMD's window would be.
    w_est: f64,
}

impl Epoch {
    /// W_cubic, `secs` after the start (equation 1).
    fn w_cubic(&self, secs: f64) -> f64 {
        let t = secs - self.k;
        C * t * t * t + self.w_max
    }
}

impl Cubic {
    /// The window after an acknowledgement of `acked` new packets in congestion avoidance.
    pub(super) fn grow(&mut self, now: Instant, cwnd: f64, acked: u64, srtt: Duration) -> f64 {
        let w_max = self.w_max;
        let epoch = self.epoch.get_or_insert_with(|| Epoch {
            start: now,
            // §4.2; a stage that slow start or a timeout led to starts on the plateau (§4.8, §4.10).
            k: if w_max > cwnd {
                cube_root((w_max - cwnd) / C)
            } else {
                0.0
            },
            w_max: w_max.max(cwnd),
            w_est: cwnd,
        });
        let acked = acked as f64;
        // §4.3: above the window of the last reduction, AIMD's increase is 1.
        let alpha = if epoch.w_est < self.prior { ALPHA } else { 1.0 };
        epoch.w_est += alpha * acked / cwnd;
        let elapsed = now.saturating_since(epoch.start).as_secs_f64();
        if epoch.w_cubic(elapsed) < epoch.w_est {
            return epoch.w_est.max(cwnd);
        }
        // §4.4, §4.5: towards the window of one round trip later, for each packet acknowledged.
        let target = epoch
            .w_cubic(elapsed + srtt.as_secs_f64())
            .clamp(cwnd, 1.5 * cwnd);
        cwnd + (target - cwnd) * (acked / cwnd).min(1.0)
    }

    /// What is left of `flight` packets after congestion.
    pub(super) fn on_congestion(&mut self, cwnd: f64, flight: f64) -> f64 {
        // §4.7: a flow that did not come back to its plateau leaves room for new ones.
        self.w_max = if cwnd < self.w_max {
            cwnd * (1.0 + BETA) / 2.0
        } else {
            cwnd
        };
        self.prior = cwnd;
        self.epoch = None;
        flight * BETA
    }

    /// The first stage after a timeout starts on its own plateau (§4.8).
    pub(super) fn on_timeout(&mut self) {
        self.w_max = 0.0;
        self.epoch = None;
    }
}

/// The cube root of a positive, normal number by Newton's method: with sums, products and quotients
/// alone it is the same on every machine, where the library's may not be.
fn cube_root(x: f64) -> f64 {
    // A third of the exponent, and of 1023 what that lost: within 6 %, which five steps square away.
    let mut root = f64::from_bits(x.to_bits() / 3 + (682 << 52));
    for _ in 0..5 {
        root = (2.0 * root + x / (root * root)) / 3.0;
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    fn assert_near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-3, "{value}, not {expected}");
    }

    #[test]
    fn the_cube_root_is_that_of_the_library_but_for_the_last_bits() {
        for x in [1e-9, 0.3, 1.0, 2.0, 8.0, 75.0, 1e6, 3e15] {
            let root = cube_root(x);
            assert!((root / f64::cbrt(x) - 1.0).abs() < 1e-15, "{x}: {root}");
        }
    }

    #[test]
    fn the_window_comes_back_to_its_plateau_after_k_seconds() {
        let mut cubic = Cubic::default();
        assert_near(cubic.on_congestion(100.0, 100.0), 70.0);
        cubic.grow(Instant::from_secs(10), 70.0, 1, RTT);
        let epoch = cubic.epoch.as_ref().unwrap();
        // (100 - 70) / 0.4 = 75, whose cube root is 4.21716.
        assert_near(epoch.k, 4.217_163);
        assert_near(epoch.w_cubic(0.0), 70.0);
        // 0.4 · (2 - 4.217163)³ = -4.35977.
        assert_near(epoch.w_cubic(2.0), 95.640_2);
        assert_near(epoch.w_cubic(epoch.k), 100.0);
        assert_near(epoch.w_cubic(2.0 * epoch.k), 130.0);
    }

    #[test]
    fn an_acknowledgement_takes_the_window_towards_that_of_a_round_trip_later() {
        let mut cubic = Cubic::default();
        cubic.on_congestion(100.0, 100.0);
        let start = Instant::from_secs(10);
        // W_est is ahead for a moment: 70 + 9/17 / 70.
        assert_near(cubic.grow(start, 70.0, 1, RTT), 70.007_56);
        // 0.4 · (0.6 - 4.217163)³ + 100 = 81.06940: 11.06940 more in 70 acknowledgements.
        let later = start + Duration::from_millis(500);
        assert_near(cubic.grow(later, 70.0, 1, RTT), 70.15813);
        // Two packets count twice.
        assert_near(cubic.grow(later, 70.0, 2, RTT), 70.31627);
        // However late, no more than half of the window in a round trip (§4.4).
        let late = start + Duration::from_secs(30);
        assert_near(cubic.grow(late, 70.0, 70, RTT), 105.0);
    }

    #[test]
    fn a_flow_that_did_not_reach_its_plateau_leaves_room() {
        let mut cubic = Cubic::default();
        cubic.on_congestion(100.0, 100.0);
        cubic.on_congestion(80.0, 80.0);
        // 80 · (1 + 0.7) / 2.
        assert_near(cubic.w_max, 68.0);
        cubic.on_congestion(90.0, 90.0);
        assert_near(cubic.w_max, 90.0);
    }

    #[test]
    fn the_window_is_never_below_that_of_aimd() {
        // One second of a path of 10 ms: the cubic function adds less than a packet to its plateau,
        // AIMD 9/17 of a packet a round trip up to it and a whole one from there.
        let mut cubic = Cubic::default();
        let mut cwnd = cubic.on_congestion(10.0, 10.0);
        let mut estimate = cwnd;
        let mut now = Instant::ZERO;
        for _ in 0..100 {
            estimate += if estimate < 10.0 { 9.0 / 17.0 } else { 1.0 };
            let step = cwnd;
            cwnd = cubic.grow(now, cwnd, step as u64, Duration::from_millis(10));
            now += Duration::from_millis(10);
        }
        assert!(cwnd > 0.9 * estimate, "{cwnd} {estimate}");
    }

    #[test]
    fn after_a_timeout_the_window_starts_on_its_own_plateau() {
        let mut cubic = Cubic::default();
        cubic.on_congestion(100.0, 100.0);
        cubic.on_timeout();
        cubic.grow(Instant::ZERO, 70.0, 1, RTT);
        let epoch = cubic.epoch.as_ref().unwrap();
        assert_eq!((epoch.k, epoch.w_max), (0.0, 70.0));
    }
}
