//! Adapts X to a report, or to its absence, as RFC 5348 does.

use core::time::Duration;

use super::Sender;
use crate::time::Instant;
use crate::trace::{Bound, Branch};
use crate::units::{Bytes, Rate};

impl Sender {
    /// Adapts X to a report: §4.2 for the first, then §4.3 step 4.
    pub(super) fn adapt_rfc5348(
        &mut self,
        now: Instant,
        first: bool,
        data_limited: bool,
        p_rose: bool,
    ) {
        if first {
            if self.is_returning {
                let initial = self.initial_rate();
                self.receive_rates.replace(initial, now);
            } else {
                self.receive_rates.begin(now);
            }
            self.set_rate(self.initial_rate(), Bound::Initial);
            self.doubled = now;
            // W_init / R replaces step 4, but if a loss is already known, X is no higher than step 4 would allow.
            if self.equation_rate() < self.allowed {
                self.follow_equation(Rate::INFINITY);
            }
            return;
        }
        let limit = self.receive_limit(now, data_limited, p_rose);
        if !self.p.is_zero() {
            self.follow_equation(limit);
        } else if now.nanos_since(self.doubled) >= self.round_trip() {
            self.slow_start(limit, self.initial_rate());
            self.doubled = now;
        }
    }

    /// Adapts X to an expired nofeedback timer (§4.4 step 1).
    pub(super) fn expire_rfc5348(&mut self, now: Instant) -> Branch {
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

    /// Performs Update_Limits(timer_limit) (§4.4).
    fn update_limits(&mut self, limit: Rate, now: Instant) {
        self.receive_rates.replace(limit.max(self.floor) / 2.0, now);
        self.follow_equation(self.receive_rates.max() * 2.0);
    }

    /// Returns W_init / R (§4.2, after RFC 3390).
    pub(super) fn initial_rate(&self) -> Rate {
        let mss = self.config.segment_size.get();
        Bytes::new((4 * mss).min((2 * mss).max(4_380))) / Duration::from(self.round_trip())
    }

    /// Returns recv_limit (§4.3 step 4).
    fn receive_limit(&mut self, now: Instant, data_limited: bool, p_rose: bool) -> Rate {
        if !data_limited {
            let rtt = self.round_trip();
            self.receive_rates.update(self.received(), now, rtt);
        } else if p_rose {
            self.receive_rates.halve();
            let received = self.received() * 0.85;
            self.receive_rates.maximise(received, now);
            return self.receive_rates.max();
        } else {
            self.receive_rates.maximise(self.received(), now);
        }
        self.receive_rates.max() * 2.0
    }
}
