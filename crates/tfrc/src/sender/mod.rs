//! The data sender (RFC 5348 §4): reports in, the allowed rate and departure times out.

mod limits;
mod rtt;

use core::time::Duration;

use crate::equation;
use crate::pacer::Pacer;
use crate::time::Instant;
use crate::trace::{Bound, Branch, Trace};
use crate::units::{Bytes, LossEventRate, Rate};
use limits::{DataLimit, ReceiveRates};
use rtt::RoundTrip;

/// t_mbi: one packet in this time is the slowest that a sender gets (RFC 5348 §4.3).
const MAX_BACKOFF: f64 = 64.0;
/// The nofeedback timer before the first report (RFC 5348 §4.2).
const FIRST_NOFEEDBACK: Duration = Duration::from_secs(2);
/// The shortest round trip believed: a clock's resolution, so that nothing divides by zero.
const MIN_RTT: Duration = Duration::from_micros(1);
/// X stays below this whatever a receiver claims, so that time never stands still between two packets:
/// 8 Tb/s, beyond any host.
const MAX_RATE: Rate = Rate::from_bytes_per_sec(1e12);
/// The largest s: no datagram is larger.
const MAX_SEGMENT: Bytes = Bytes::new(65_535);

/// How a sender behaves.
#[derive(Clone, Debug)]
pub struct SenderConfig {
    /// s: the size of a full packet, which is the "maximum segment size" that RFC 5348 §4.1 lets a
    /// sender use. The average would feed back on itself where frames fit into one packet: a lower
    /// rate makes smaller packets, which lower the average and so the rate, down to nothing. RFC 4828
    /// takes the same way out. A sender that has only small packets to send must give their size, or
    /// it sends more of them than a TCP would. Held between 1 and 65,535 bytes.
    pub segment_size: Bytes,
    /// Spacing by √R against oscillation (RFC 5348 §4.5). On by default.
    pub oscillation_reduction: bool,
    /// How far a burst may go after time that was not used; one round trip bounds it in any case
    /// (RFC 5348 §4.6). 10 ms by default, twice the timer error that the thesis measured (§4.1.5): what
    /// is due late is caught up with, yet a sender of frames, which always leaves some time unused,
    /// does not burst a round trip into a short queue. That triples its losses (`tests/closed_loop`).
    pub max_credit: Duration,
    /// A floor under the nofeedback timer, for hosts whose timers and reports are late: the thesis
    /// (§4.1.5) measured 3-5 ms, which breaks 4R at short round trips. 20 ms by default.
    pub min_nofeedback: Duration,
}

impl Default for SenderConfig {
    fn default() -> Self {
        Self {
            segment_size: Bytes::new(1_460),
            oscillation_reduction: true,
            max_credit: Duration::from_millis(10),
            min_nofeedback: Duration::from_millis(20),
        }
    }
}

/// A report as the sender reads it (RFC 5348 §3.2.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Feedback {
    /// t_recvdata: when the last packet received had been sent, on the sender's clock.
    pub sent_at: Instant,
    /// t_delay: how long the receiver held the report back after that packet arrived.
    pub delay: Duration,
    /// X_recv: the rate at which data arrived.
    pub receive_rate: Rate,
    /// p: the loss event rate as the receiver computed it.
    pub loss_event_rate: LossEventRate,
}

/// The data sender: a constant amount of state, no clock.
#[derive(Clone, Debug)]
pub struct Sender {
    config: SenderConfig,
    /// X.
    allowed: Rate,
    bound: Bound,
    p: LossEventRate,
    receive_rate: Rate,
    rtt: RoundTrip,
    receive_rates: ReceiveRates,
    data_limit: DataLimit,
    /// tld: when slow start last doubled the rate.
    doubled: Instant,
    nofeedback: Instant,
    sent_since_timer: bool,
    pacer: Pacer,
}

impl Sender {
    /// A sender that is ready to send: one packet a second until the first report (RFC 5348 §4.2).
    pub fn new(now: Instant, mut config: SenderConfig) -> Self {
        config.segment_size = config.segment_size.clamp(Bytes::new(1), MAX_SEGMENT);
        let allowed = Rate::from_bytes_per_sec(config.segment_size.as_f64());
        Self {
            allowed,
            bound: Bound::Unknown,
            p: LossEventRate::ZERO,
            receive_rate: Rate::ZERO,
            rtt: RoundTrip::default(),
            receive_rates: ReceiveRates::new(),
            data_limit: DataLimit::new(FIRST_NOFEEDBACK),
            doubled: now,
            nofeedback: now + FIRST_NOFEEDBACK,
            sent_since_timer: false,
            pacer: Pacer::new(config.max_credit, allowed, None),
            config,
        }
    }

    /// Takes in a report (RFC 5348 §4.3). The caller has checked that it is about a packet that was
    /// sent; `now` is when it arrived.
    pub fn handle_feedback(&mut self, now: Instant, feedback: &Feedback) -> Trace {
        let first = self.rtt.smoothed().is_none();
        let sample = now
            .saturating_since(feedback.sent_at)
            .saturating_sub(feedback.delay)
            .max(MIN_RTT);
        self.rtt.update(sample);
        let rtt = self.round_trip();
        let p_rose = feedback.loss_event_rate > self.p;
        self.p = feedback.loss_event_rate;
        self.receive_rate = feedback.receive_rate;
        let covered_data_limited = self.data_limit.covers(feedback.sent_at, rtt);
        // A first report, X_recv = 0, tells nothing of the interval (RFC 5348 §4.3).
        let data_limited = covered_data_limited && feedback.receive_rate > Rate::ZERO;

        if first {
            self.receive_rates.begin(now);
            self.set_rate(self.initial_rate(), Bound::Initial);
            self.doubled = now;
            // W_init / R replaces step 4, yet a loss that is known already allows no more than it would.
            if self.equation_rate() < self.allowed {
                self.follow_equation(Rate::INFINITY);
            }
        } else {
            let limit = self.receive_limit(now, data_limited, p_rose);
            if !self.p.is_zero() {
                self.follow_equation(limit);
            } else if now.saturating_since(self.doubled) >= rtt {
                self.slow_start(limit);
                self.doubled = now;
            }
        }
        self.restart_timer(now);
        self.set_pace();
        Trace::Feedback {
            allowed_rate: self.allowed,
            instantaneous_rate: self.instantaneous_rate(),
            bound: self.bound,
            rtt,
            rtt_sample: sample,
            receive_rate: self.receive_rate,
            loss_event_rate: self.p,
            data_limited,
        }
    }

    /// Serves the nofeedback timer if it has expired (RFC 5348 §4.4).
    pub fn handle_timeout(&mut self, now: Instant) -> Option<Trace> {
        if now < self.nofeedback {
            return None;
        }
        let branch = self.expire(now);
        self.restart_timer(now);
        self.set_pace();
        Some(Trace::NoFeedback {
            branch,
            allowed_rate: self.allowed,
            interval: self.nofeedback.saturating_since(now),
        })
    }

    /// When the nofeedback timer expires (RFC 5348 §4.4): [`Sender::handle_timeout`] is due then.
    pub fn poll_timeout(&self) -> Instant {
        self.nofeedback
    }

    /// When the next packet may leave; not later than `now` means at once (RFC 5348 §4.6).
    #[inline]
    pub fn next_departure(&self, now: Instant) -> Instant {
        self.pacer.next_departure(now)
    }

    /// Notes that a packet of this size left at `now`, whether or not it was due.
    #[inline]
    pub fn handle_sent(&mut self, now: Instant, size: Bytes) {
        self.sent_since_timer = true;
        if self.pacer.handle_sent(now, size) {
            self.data_limit.handle_permission_used(now);
        }
    }

    /// X, the allowed rate: between s/64 and 10¹² bytes a second (RFC 5348 §4.3).
    pub const fn allowed_rate(&self) -> Rate {
        self.allowed
    }

    /// X_inst, the rate of departures: X less what the growing queue on the path asks for
    /// (RFC 5348 §4.5). Within the same bounds.
    pub const fn instantaneous_rate(&self) -> Rate {
        self.pacer.rate()
    }

    /// What the allowed rate is held by since the last decision.
    pub const fn bound(&self) -> Bound {
        self.bound
    }

    /// R, the smoothed round-trip time; `None` before the first report (RFC 5348 §4.3).
    pub fn rtt(&self) -> Option<Duration> {
        self.rtt.smoothed()
    }

    /// p, the loss event rate as last reported; zero before the first report.
    pub const fn loss_event_rate(&self) -> LossEventRate {
        self.p
    }

    /// X_recv, the receive rate as last reported; zero before the first report.
    pub const fn receive_rate(&self) -> Rate {
        self.receive_rate
    }

    /// s, the size of a full packet as the configuration has it, brought into its range.
    pub const fn segment_size(&self) -> Bytes {
        self.config.segment_size
    }

    fn round_trip(&self) -> Duration {
        self.rtt.smoothed().unwrap_or(FIRST_NOFEEDBACK).max(MIN_RTT)
    }

    /// s / t_mbi.
    fn floor(&self) -> Rate {
        Rate::from_bytes_per_sec(self.segment_size().as_f64() / MAX_BACKOFF)
    }

    /// W_init / R (RFC 5348 §4.2, after RFC 3390).
    fn initial_rate(&self) -> Rate {
        let mss = self.config.segment_size.get();
        Bytes::new((4 * mss).min((2 * mss).max(4_380))) / self.round_trip()
    }

    /// X_Bps.
    fn equation_rate(&self) -> Rate {
        equation::rate(self.segment_size(), self.round_trip(), self.p)
    }

    /// recv_limit (RFC 5348 §4.3 step 4).
    fn receive_limit(&mut self, now: Instant, data_limited: bool, p_rose: bool) -> Rate {
        if !data_limited {
            self.receive_rates
                .update(self.receive_rate, now, self.round_trip());
        } else if p_rose {
            self.receive_rates.halve();
            self.receive_rates.maximise(self.receive_rate * 0.85, now);
            return self.receive_rates.max();
        } else {
            self.receive_rates.maximise(self.receive_rate, now);
        }
        self.receive_rates.max() * 2.0
    }

    /// X = max(min(X_Bps, recv_limit), s/t_mbi).
    fn follow_equation(&mut self, limit: Rate) {
        let equation = self.equation_rate();
        self.set_rate(
            equation.min(limit),
            if equation <= limit {
                Bound::Equation
            } else {
                Bound::ReceiveRate
            },
        );
    }

    /// X = max(min(2X, recv_limit), initial_rate).
    fn slow_start(&mut self, limit: Rate) {
        let doubled = self.allowed * 2.0;
        let bound = if doubled <= limit {
            Bound::SlowStart
        } else {
            Bound::ReceiveRate
        };
        let initial = self.initial_rate();
        if doubled.min(limit) < initial {
            self.set_rate(initial, Bound::Initial);
        } else {
            self.set_rate(doubled.min(limit), bound);
        }
    }

    fn set_rate(&mut self, rate: Rate, bound: Bound) {
        let floor = self.floor();
        (self.allowed, self.bound) = if rate > floor {
            (rate.min(MAX_RATE), bound)
        } else {
            (floor, Bound::Floor)
        };
    }

    /// RFC 5348 §4.4 step 1.
    fn expire(&mut self, now: Instant) -> Branch {
        let idle = !self.sent_since_timer;
        let receive_rate = self.receive_rates.max();
        let known = self.rtt.smoothed().is_some();
        let recover = if known {
            self.initial_rate()
        } else {
            Rate::INFINITY
        };
        if !known && !idle {
            self.set_rate(self.allowed / 2.0, Bound::Unknown);
            return Branch::BeforeFirstReport;
        }
        let slow = if self.p.is_zero() {
            self.allowed < recover * 2.0
        } else {
            receive_rate < recover
        };
        if idle && slow {
            return Branch::Idle;
        }
        if self.p.is_zero() {
            self.set_rate(self.allowed / 2.0, Bound::SlowStart);
            return Branch::WithoutLoss;
        }
        let equation = self.equation_rate();
        if equation > receive_rate * 2.0 {
            self.update_limits(receive_rate, now);
            Branch::ReceiveRateHalved
        } else {
            self.update_limits(equation / 2.0, now);
            Branch::EquationHalved
        }
    }

    /// Update_Limits(timer_limit) (RFC 5348 §4.4).
    fn update_limits(&mut self, limit: Rate, now: Instant) {
        self.receive_rates
            .replace(limit.max(self.floor()) / 2.0, now);
        self.follow_equation(self.receive_rates.max() * 2.0);
    }

    /// Passes X_inst and R on to what asks for them with every packet.
    fn set_pace(&mut self) {
        let rate = if self.config.oscillation_reduction {
            (self.allowed * self.rtt.oscillation_factor())
                .max(self.floor())
                .min(MAX_RATE)
        } else {
            self.allowed
        };
        self.pacer.set_rate(rate, self.rtt.smoothed());
        self.data_limit.set_round_trip(self.round_trip());
    }

    /// max(4R, 2s/X) (RFC 5348 §4.3 step 3), and the host's own floor.
    fn restart_timer(&mut self, now: Instant) {
        let interval = (4 * self.rtt.smoothed().unwrap_or(Duration::ZERO))
            .max(self.segment_size() / (self.allowed / 2.0));
        self.nofeedback = now + interval.max(self.config.min_nofeedback);
        self.sent_since_timer = false;
    }
}

#[cfg(test)]
mod tests;
