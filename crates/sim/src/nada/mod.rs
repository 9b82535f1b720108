//! NADA, network-assisted dynamic adaptation (RFC 8698): the sender's side.
//!
//! The receiver's calculations run here as well, on per-packet feedback (RFC 8698 §6.4). Flows are not
//! ECN-capable, so that the marking ratio is zero and its term is left out.

mod loss_intervals;
mod signal;

use crate::rate_controller::{FeedbackReport, RateController};
use evenkeel_codec::source::FrameRate;
use signal::{CongestionSignal, PathStatistics};
use tfrc::time::{Duration, Instant};
use tfrc::units::{Bytes, Rate};

/// The parameters of RFC 8698 table 2 that the sender's side uses, with their default values.
mod params {
    use tfrc::time::Duration;

    /// PRIO: weight of priority of the flow.
    pub(super) const PRIORITY: f64 = 1.0;
    /// XREF: reference congestion level, in seconds.
    pub(super) const REFERENCE_SIGNAL: f64 = 0.010;
    /// KAPPA: scaling parameter of the gradual rate update.
    pub(super) const GRADUAL_GAIN: f64 = 0.5;
    /// ETA: scaling parameter of the gradual rate update.
    pub(super) const GRADUAL_CHANGE_GAIN: f64 = 2.0;
    /// TAU: upper bound of the round-trip time in the gradual rate update, in seconds.
    pub(super) const MAX_RTT: f64 = 0.5;
    /// DELTA: target feedback interval.
    pub(super) const FEEDBACK_INTERVAL: Duration = Duration::from_millis(100);
    /// DFILT: bound on the filtering delay, in seconds.
    pub(super) const MAX_FILTERING_DELAY: f64 = 0.120;
    /// GAMMA_MAX: upper bound on the rate increase ratio of the accelerated ramp-up.
    pub(super) const MAX_INCREASE: f64 = 0.5;
    /// QBOUND: upper bound on self-inflicted queueing delay during the ramp-up, in seconds.
    pub(super) const MAX_RAMP_UP_QUEUEING: f64 = 0.050;
    /// BETA_V and BETA_S: scaling parameters of what the rate-shaping buffer does to both rates.
    pub(super) const BUFFER_GAIN: f64 = 0.1;
    /// RFC 8698 §5.2.2: the bound on what the rate-shaping buffer does, as a share of the reference rate.
    pub(super) const MAX_BUFFER_SHARE: f64 = 0.05;
}

/// What the application gives a NADA sender.
#[derive(Clone, Copy, Debug)]
pub struct NadaConfig {
    /// RMIN, the least rate of the encoder, and the first: 150 kb/s by default (table 2).
    pub min: Rate,
    /// RMAX, the largest rate of the encoder; the rate at which flows settle depends on it (§4.3).
    pub max: Rate,
    /// FPS, the frame rate of the video.
    pub frame_rate: FrameRate,
}

/// A NADA sender.
#[derive(Clone, Debug)]
pub struct Nada {
    config: NadaConfig,
    statistics: PathStatistics,
    /// r_ref, the rate that the network allows.
    reference: Rate,
    /// x_prev, in seconds.
    previous_signal: f64,
    /// t_last.
    last_feedback: Instant,
    rtt: Duration,
}

impl Nada {
    /// RMIN of table 2.
    pub const MIN_RATE: Rate = Rate::from_bits_per_sec(150e3);

    /// A sender that starts at this instant (§4.3: r_ref = RMIN, rtt = 0, x_prev = 0).
    pub const fn new(start: Instant, config: NadaConfig) -> Self {
        Self {
            config,
            statistics: PathStatistics::new(),
            reference: config.min,
            previous_signal: 0.0,
            last_feedback: start,
            rtt: Duration::ZERO,
        }
    }

    /// §4.3: "On receiving feedback report".
    fn update(&mut self, now: Instant, signal: CongestionSignal) {
        let delta = now.saturating_since(self.last_feedback).as_secs_f64();
        let updated = if signal.is_underused {
            self.accelerated_ramp_up(signal.receive_rate)
        } else {
            self.gradual_update(delta, signal.delay)
        };
        // Equations 8 and 9.
        self.reference = updated.min(self.config.max).max(self.config.min);
        self.previous_signal = signal.delay;
        self.last_feedback = now;
    }

    /// Equations 3 and 4.
    fn accelerated_ramp_up(&self, receive_rate: Rate) -> Rate {
        let reaction = self.rtt + params::FEEDBACK_INTERVAL;
        let reaction = reaction.as_secs_f64() + params::MAX_FILTERING_DELAY;
        let gamma = (params::MAX_RAMP_UP_QUEUEING / reaction).min(params::MAX_INCREASE);
        self.reference.max(receive_rate * (1.0 + gamma))
    }

    /// Equations 5 to 7.
    fn gradual_update(&self, delta: f64, signal: f64) -> Rate {
        let equilibrium = params::PRIORITY * params::REFERENCE_SIGNAL;
        let offset = signal - equilibrium * (self.config.max / self.reference);
        let change = signal - self.previous_signal;
        let tau = params::MAX_RTT;
        let integral = params::GRADUAL_GAIN * (delta / tau) * (offset / tau);
        let proportional = params::GRADUAL_GAIN * params::GRADUAL_CHANGE_GAIN * (change / tau);
        self.reference * (1.0 - integral - proportional)
    }

    /// Equations 11 and 12, which are equal as BETA_V is BETA_S.
    fn buffer_adjustment(&self, backlog: Bytes) -> Rate {
        let draining = backlog / self.config.frame_rate.interval();
        (draining * params::BUFFER_GAIN).min(self.reference * params::MAX_BUFFER_SHARE)
    }
}

impl RateController for Nada {
    fn on_feedback(&mut self, now: Instant, feedback: &FeedbackReport<'_>) {
        let arrived = feedback.packets.iter();
        let mut arrived: Vec<_> = arrived
            .filter_map(|packet| Some((packet.arrival?, packet)))
            .collect();
        arrived.sort_by_key(|(arrival, _)| *arrival);
        for (arrival, packet) in &arrived {
            self.statistics.handle_arrival(*arrival, packet);
        }
        if let Some((arrival, packet)) = arrived.last() {
            let held = feedback.reported.saturating_since(*arrival);
            self.rtt = now.saturating_since(packet.sent).saturating_sub(held);
        }
        let signal = self.statistics.report(feedback.reported);
        self.update(now, signal);
    }

    /// Equation 13: r_vin.
    fn target_rate(&self, backlog: Bytes) -> Rate {
        let less = self.buffer_adjustment(backlog) / self.reference;
        (self.reference * (1.0 - less)).max(self.config.min)
    }

    /// Equation 14: r_send.
    fn pacing_rate(&self, backlog: Bytes) -> Rate {
        (self.reference + self.buffer_adjustment(backlog)).min(self.config.max)
    }

    fn feedback_interval(&self) -> Duration {
        params::FEEDBACK_INTERVAL
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Instant = Instant::from_millis;

    fn sender() -> Nada {
        Nada::new(
            Instant::ZERO,
            NadaConfig {
                min: Nada::MIN_RATE,
                max: Rate::from_bits_per_sec(1.5e6),
                frame_rate: FrameRate::new(30, 1).unwrap(),
            },
        )
    }

    fn signal(is_underused: bool, delay: f64, receive_rate: f64) -> CongestionSignal {
        CongestionSignal {
            delay,
            is_underused,
            receive_rate: Rate::from_bits_per_sec(receive_rate),
        }
    }

    #[track_caller]
    fn assert_rate(rate: Rate, expected: f64) {
        let rate = rate.bits_per_sec();
        assert!((rate - expected).abs() < 1e-3, "{rate}, not {expected}");
    }

    #[test]
    fn ramp_up_follows_equations_3_and_4() {
        let mut nada = sender();
        nada.rtt = Duration::from_millis(30);
        // gamma = 50 / (30 + 100 + 120) = 0.2.
        nada.update(MS(100), signal(true, 0.0, 500e3));
        assert_rate(nada.reference, 600e3);
        // Nothing is taken back when less arrives.
        nada.update(MS(200), signal(true, 0.0, 400e3));
        assert_rate(nada.reference, 600e3);
        nada.update(MS(300), signal(true, 0.0, 2e6));
        assert_rate(nada.reference, 1.5e6);
    }

    #[test]
    fn gradual_update_follows_equations_5_to_7() {
        let mut nada = sender();
        nada.reference = Rate::from_bits_per_sec(1e6);
        nada.last_feedback = MS(900);
        nada.previous_signal = 0.020;
        // x_offset = 40 - 10 * 1.5 = 25 ms, x_diff = 20 ms:
        // 1 - 0.5 * 100/500 * 25/500 - 0.5 * 2 * 20/500 = 1 - 0.005 - 0.04.
        nada.update(MS(1_000), signal(false, 0.040, 1e6));
        assert_rate(nada.reference, 955e3);
        assert_eq!(nada.previous_signal, 0.040);
    }

    #[test]
    fn reference_rate_rests_at_the_equilibrium() {
        let mut nada = sender();
        nada.reference = Rate::from_bits_per_sec(1e6);
        nada.previous_signal = 0.015;
        // §4.3: x_curr = PRIO * XREF * RMAX / r_ref.
        nada.update(MS(100), signal(false, 0.015, 1e6));
        assert_rate(nada.reference, 1e6);
    }

    #[test]
    fn reference_rate_stays_within_the_encoders_range() {
        let mut nada = sender();
        nada.update(MS(100), signal(false, 3.0, 100e3));
        assert_rate(nada.reference, 150e3);
        // x_diff = -3 s would multiply the rate by seven; x_offset takes 0.1 * -100/500 more.
        nada.reference = Rate::from_bits_per_sec(1e6);
        nada.update(MS(200), signal(false, 0.0, 100e3));
        assert_rate(nada.reference, 1.5e6);
    }

    #[test]
    fn buffer_nudges_both_rates_as_the_rfc_counts() {
        let mut nada = sender();
        nada.reference = Rate::from_bits_per_sec(1e6);
        // §5.2.2: 2000 bytes at 30 frames a second lead to 48 kb/s.
        let backlog = Bytes::new(2_000);
        assert_rate(nada.target_rate(backlog), 952e3);
        assert_rate(nada.pacing_rate(backlog), 1.048e6);
        // 5 % at most.
        assert_rate(nada.target_rate(Bytes::new(9_000)), 950e3);
        assert_rate(nada.target_rate(Bytes::ZERO), 1e6);
    }
}
