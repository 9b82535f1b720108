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
