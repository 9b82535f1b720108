//! RFC 5348 §4 and §8.2 as their text has them, with the deviations that `docs/RFC5348.md` lists.

use std::time::Duration;

use tfrc::time::Instant;
use tfrc::trace::Branch;
use tfrc::units::{Bytes, LossEventRate, Rate, duration_from_secs};
use tfrc::{Feedback, SenderConfig, equation};

/// §4.3.
const T_MBI: f64 = 64.0;
/// Deviation 13.
const MAX_X: f64 = 1e12;
const MIN_R: Duration = Duration::from_micros(1);
/// q and q2 (§4.3, §4.5).
const Q: f64 = 0.9;

/// What has been measured of the round trip.
#[derive(Clone, Copy)]
struct RoundTrip {
    /// R, seconds.
    r: f64,
    r_sqmean: f64,
    r_sample: Duration,
}

/// A packet that left, with its nominal times.
#[derive(Clone, Copy)]
struct Departure {
    size: Bytes,
    /// With the credit that the configuration allows.
    nominal: Instant,
    /// With the credit that the standard allows.
    entitled: Instant,
    /// When the configuration last took credit away.
    forfeited: Instant,
}

/// A decision of the sender's.
#[derive(Debug, PartialEq)]
pub(crate) enum Decision {
    Feedback {
        x: u64,
        x_inst: u64,
        r: Duration,
        r_sample: Duration,
        data_limited: bool,
    },
    NoFeedback {
        branch: Branch,
        x: u64,
        interval: Duration,
    },
}

pub(crate) struct Sender {
    config: SenderConfig,
    x: f64,
    p: LossEventRate,
    round_trip: Option<RoundTrip>,
    /// X_recv_set, oldest first.
    x_recv_set: Vec<(f64, Instant)>,
    tld: Instant,
    timer: Instant,
    idle: bool,
    departures: Vec<Departure>,
    /// The instants at which all that was allowed had been sent, at least R/4 apart (deviation 3).
    not_limited: Vec<Instant>,
}

impl Sender {
    /// §4.2.
    pub(crate) fn new(now: Instant, config: SenderConfig) -> Self {
        Self {
            x: config.segment_size.as_f64(),
            p: LossEventRate::ZERO,
            round_trip: None,
            x_recv_set: vec![(f64::INFINITY, now)],
            tld: now,
            timer: now + Duration::from_secs(2),
            idle: true,
            departures: Vec::new(),
            not_limited: Vec::new(),
            config,
        }
    }

    /// §4.3.
    pub(crate) fn handle_feedback(&mut self, now: Instant, feedback: &Feedback) -> Decision {
        let r_sample = ((now - feedback.sent_at).saturating_sub(feedback.delay)).max(MIN_R);
        let sample = r_sample.as_secs_f64();
        let first = self.round_trip.is_none();
        let before = self.round_trip.unwrap_or(RoundTrip {
            r: sample,
            r_sqmean: sample.sqrt(),
            r_sample,
        });
        self.round_trip = Some(if first {
            before
        } else {
            RoundTrip {
                r: Q * before.r + (1.0 - Q) * sample,
                r_sqmean: Q * before.r_sqmean + (1.0 - Q) * sample.sqrt(),
                r_sample,
            }
        });
        let p_rose = feedback.loss_event_rate > self.p;
        self.p = feedback.loss_event_rate;
        let mut x_recv = feedback.receive_rate.bytes_per_sec();
        let data_limited = self.data_limited(feedback.sent_at) && x_recv > 0.0;
        if first {
            // "this replaces step (4)"; with a loss that is known already, no more than X_Bps (10).
            self.tld = now;
            self.x_recv_set = vec![(f64::INFINITY, now)];
            self.x = self.bounded(self.initial_rate());
            if self.x_bps() < self.x {
                self.x = self.bounded(self.x_bps());
            }
        } else {
            let recv_limit = if data_limited && p_rose {
                self.x_recv_set
                    .iter_mut()
                    .for_each(|(rate, _)| *rate /= 2.0);
                x_recv *= 0.85;
                self.maximize(x_recv, now);
                self.max_x_recv()
            } else if data_limited {
                self.maximize(x_recv, now);
                2.0 * self.max_x_recv()
            } else {
                self.update(x_recv, now);
                2.0 * self.max_x_recv()
            };
            if !self.p.is_zero() {
                self.x = self.bounded(self.x_bps().min(recv_limit));
            } else if now - self.tld >= self.r() {
                let doubled = (2.0 * self.x).min(recv_limit).max(self.initial_rate());
                self.x = self.bounded(doubled);
                self.tld = now;
            }
        }
        self.restart_timer(now);
        Decision::Feedback {
            x: self.x.to_bits(),
            x_inst: self.x_inst().bytes_per_sec().to_bits(),
            r: self.r(),
            r_sample,
            data_limited,
        }
    }

    /// §4.4.
    pub(crate) fn handle_timeout(&mut self, now: Instant) -> Option<Decision> {
        if now < self.timer {
            return None;
        }
        let branch = self.expire(now);
        self.restart_timer(now);
        Some(Decision::NoFeedback {
            branch,
            x: self.x.to_bits(),
            interval: self.timer - now,
        })
    }

    pub(crate) fn timer(&self) -> Instant {
        self.timer
    }

    /// t_(i+1) = t_i + t_ipi (§4.6).
    pub(crate) fn next_departure(&self, now: Instant) -> Instant {
        self.departures
            .last()
            .map_or(now, |last| last.nominal + last.size / self.x_inst())
    }

    /// Credit is taken away by moving the nominal time up to now − T (§4.6).
    pub(crate) fn handle_sent(&mut self, now: Instant, size: Bytes) {
        self.idle = false;
        let x_inst = self.x_inst();
        let r = self.round_trip.map_or(Duration::ZERO, |_| self.r());
        let departure = match self.departures.last() {
            None => Departure {
                size,
                nominal: now,
                entitled: now,
                forfeited: now,
            },
            Some(last) => {
                let t_ipi = last.size / x_inst;
                // Before any R is known, 10 ms: what is late is caught up with.
                let bound = self.round_trip.map_or(Duration::from_millis(10), |_| r);
                let nominal = (last.nominal + t_ipi).max(now - self.config.max_credit.min(bound));
                let took_away = nominal > last.nominal + t_ipi;
                let forfeited = if took_away { now } else { last.forfeited };
                // What the configuration took away is forgotten after a round trip (deviation 2).
                let entitled = if now - forfeited > r {
                    nominal
                } else {
                    (last.entitled + t_ipi).max(now - r)
                };
                Departure {
                    size,
                    nominal,
                    entitled,
                    forfeited,
                }
            }
        };
        self.departures.push(departure);
        let used_up = departure.entitled + size / x_inst > now;
        let spaced = self
            .not_limited
            .last()
            .is_none_or(|last| now >= *last + self.r() / 4);
        if used_up && spaced {
            self.not_limited.push(now);
        }
    }

    /// §8.2.1: no instant of (t_old, t_new] was used up, of the last sixteen; R/4 further back because
    /// they are R/4 apart (deviation 3).
    fn data_limited(&self, t_new: Instant) -> bool {
        let back = self.r() + self.r() / 4;
        let after_old = |at: &Instant| {
            t_new
                .checked_since(Instant::ZERO + back)
                .is_none_or(|t_old| *at > Instant::ZERO + t_old)
        };
        !self
            .not_limited
            .iter()
            .rev()
            .take(16)
            .any(|at| after_old(at) && *at <= t_new)
    }

    /// §4.4 step 1.
    fn expire(&mut self, now: Instant) -> Branch {
        let x_recv = self.max_x_recv();
        let known = self.round_trip.is_some();
        if !known && !self.idle {
            self.x = self.bounded(self.x / 2.0);
            return Branch::BeforeFirstReport;
        }
        // Without an R there is no recover_rate, and an idle sender has sent nothing that was too fast.
        let recover_rate = if known {
            self.initial_rate()
        } else {
            f64::INFINITY
        };
        let slow = (!self.p.is_zero() && x_recv < recover_rate)
            || (self.p.is_zero() && self.x < 2.0 * recover_rate);
        if slow && self.idle {
            Branch::Idle
        } else if self.p.is_zero() {
            self.x = self.bounded(self.x / 2.0);
            Branch::WithoutLoss
        } else if self.x_bps() > 2.0 * x_recv {
            self.update_limits(x_recv, now);
            Branch::ReceiveRateHalved
        } else {
            self.update_limits(self.x_bps() / 2.0, now);
            Branch::EquationHalved
        }
    }

    fn update_limits(&mut self, timer_limit: f64, now: Instant) {
        self.x_recv_set = vec![(timer_limit.max(self.floor()) / 2.0, now)];
        self.x = self.bounded(self.x_bps().min(2.0 * self.max_x_recv()));
    }

    /// Update X_recv_set() (§4.3, §8.2.2).
    fn update(&mut self, x_recv: f64, now: Instant) {
        let oldest = now - 2 * self.r();
        self.x_recv_set.push((x_recv, now));
        self.x_recv_set.retain(|(_, at)| *at >= oldest);
        let excess = self.x_recv_set.len().saturating_sub(3);
        self.x_recv_set.drain(..excess);
    }

    /// Maximize X_recv_set() (§4.3).
    fn maximize(&mut self, x_recv: f64, now: Instant) {
        self.x_recv_set.push((x_recv, now));
        self.x_recv_set.retain(|(rate, _)| rate.is_finite());
        self.x_recv_set = vec![(self.max_x_recv(), now)];
    }

    fn max_x_recv(&self) -> f64 {
        self.x_recv_set
            .iter()
            .fold(0.0, |max, (rate, _)| f64::max(max, *rate))
    }

    /// RTO = max(4R, 2s/X), and deviation 6.
    fn restart_timer(&mut self, now: Instant) {
        let r = self.round_trip.map_or(Duration::ZERO, |_| self.r());
        let rto = (4 * r).max(duration_from_secs(2.0 * self.s() / self.x));
        self.timer = now + rto.max(self.config.min_nofeedback);
        self.idle = true;
    }

    /// §4.5.
    pub(crate) fn x_inst(&self) -> Rate {
        let x_inst = match self.round_trip {
            Some(known) if self.config.oscillation_reduction => {
                self.bounded(self.x * (known.r_sqmean / known.r_sample.as_secs_f64().sqrt()))
            }
            _ => self.x,
        };
        Rate::from_bytes_per_sec(x_inst)
    }

    /// R; before the first sample, the two seconds of §4.2 stand in.
    fn r(&self) -> Duration {
        self.round_trip
            .map_or(Duration::from_secs(2), |known| duration_from_secs(known.r))
            .max(MIN_R)
    }

    fn s(&self) -> f64 {
        self.config.segment_size.as_f64()
    }

    fn floor(&self) -> f64 {
        self.s() / T_MBI
    }

    /// X = max(…, s/t_mbi), and deviation 13.
    fn bounded(&self, x: f64) -> f64 {
        x.max(self.floor()).min(MAX_X)
    }

    /// W_init / R (§4.2).
    fn initial_rate(&self) -> f64 {
        let mss = self.s();
        f64::min(4.0 * mss, f64::max(2.0 * mss, 4_380.0)) / self.r().as_secs_f64()
    }

    fn x_bps(&self) -> f64 {
        equation::rate(self.config.segment_size, self.r(), self.p).bytes_per_sec()
    }
}
