//! The data sender (RFC 5348 §4): takes reports and computes the allowed rate and departure times.

mod config;
mod limits;
mod rfc3448;
mod rfc5348;
mod rtt;
mod small_packets;

use core::time::Duration;

use crate::Standard;
use crate::equation;
use crate::pacer::Pacer;
use crate::time::{Instant, Nanos};
use crate::trace::{Bound, Trace};
use crate::trust::{MAX_RATE, MIN_RTT};
use crate::units::{Bytes, LossEventRate, Rate};

pub use config::{RetransmissionTimeout, SenderConfig};
use limits::{DataLimit, ReceiveRates};
use rtt::RoundTrip;
use small_packets::SmallPackets;

/// t_mbi: a sender never falls below one packet in this time (RFC 5348 §4.3).
const MAX_BACKOFF: f64 = 64.0;
/// The duration of the nofeedback timer before the first report (RFC 5348 §4.2).
const FIRST_NOFEEDBACK: Duration = Duration::from_secs(2);

/// The content of a report for the sender (RFC 5348 §3.2.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Feedback {
    /// t_recvdata: the departure of the last packet received, on the sender's clock.
    pub sent_at: Instant,
    /// t_delay: the time from that packet's arrival to the departure of the report.
    pub delay: Duration,
    /// X_recv: the rate at which data arrived.
    pub receive_rate: Rate,
    /// p: the loss event rate as the receiver computed it.
    pub loss_event_rate: LossEventRate,
}

/// The data sender, which has a constant amount of state and no clock.
#[derive(Clone, Debug)]
pub struct Sender {
    config: SenderConfig,
    /// X, including headers where they count (RFC 4828 §3).
    allowed: Rate,
    /// The least rate, s / t_mbi.
    floor: Rate,
    min_nofeedback: Nanos,
    /// The share of X that headers leave; 1 where headers do not count.
    payload_share: f64,
    bound: Bound,
    p: LossEventRate,
    receive_rate: Rate,
    rtt: RoundTrip,
    /// A report has arrived.
    is_reported: bool,
    /// The sender follows an earlier one: its reports state a past p, but the path may no longer bear that rate.
    is_returning: bool,
    receive_rates: ReceiveRates,
    data_limit: DataLimit,
    /// tld: when slow start last doubled the rate.
    doubled: Instant,
    nofeedback: Instant,
    sent_since_timer: bool,
    /// The largest rate that the application can use.
    ceiling: Rate,
    /// The largest rate that other reports than feedback support.
    held: Rate,
    pacer: Pacer,
    small_packets: Option<SmallPackets>,
}

impl Sender {
    /// Creates a sender that is ready to send: one packet a second until the first report (RFC 5348 §4.2).
    ///
    /// # Panics
    ///
    /// Panics if [`SenderConfig::validate`] refuses `config`.
    #[track_caller]
    pub fn new(now: Instant, config: SenderConfig) -> Self {
        if let Err(error) = config.validate() {
            panic!("{error}");
        }
        let allowed = Rate::from_bytes_per_sec(config.segment_size.as_f64());
        Self {
            allowed,
            floor: allowed / MAX_BACKOFF,
            min_nofeedback: config.min_nofeedback.into(),
            payload_share: 1.0,
            bound: Bound::Unknown,
            p: LossEventRate::ZERO,
            receive_rate: Rate::ZERO,
            rtt: RoundTrip::new(config.rtt_weight),
            is_reported: false,
            is_returning: false,
            receive_rates: ReceiveRates::new(),
            data_limit: DataLimit::new(FIRST_NOFEEDBACK),
            doubled: now,
            nofeedback: now + FIRST_NOFEEDBACK,
            sent_since_timer: false,
            ceiling: MAX_RATE,
            held: MAX_RATE,
            pacer: Pacer::new(config.max_credit, allowed, None),
            small_packets: config.small_packets.then(SmallPackets::default),
            config,
        }
    }

    /// Creates a sender for a receiver that replaces another and reports the other's past.
    ///
    /// As after idle time, X may double once a round trip from the initial rate on, and no more. RFC 5348 §4.3 does
    /// not limit the first two round trips.
    ///
    /// # Panics
    ///
    /// Panics as [`Sender::new`] does.
    #[track_caller]
    pub fn returning(now: Instant, config: SenderConfig) -> Self {
        Self {
            is_returning: true,
            ..Self::new(now, config)
        }
    }

    /// Handles a report that arrived at `now` (RFC 5348 §4.3). The caller has checked that the report concerns a
    /// packet that was sent.
    pub fn handle_feedback(&mut self, now: Instant, feedback: &Feedback) -> Trace {
        let first = !self.is_reported;
        if first {
            self.rtt = RoundTrip::new(self.config.rtt_weight);
            self.is_reported = true;
        }
        let delayed = now.nanos_since(feedback.sent_at);
        let sample = (delayed - feedback.delay.into()).max(MIN_RTT.into());
        self.rtt.update(sample);
        let p_rose = feedback.loss_event_rate > self.p;
        self.p = feedback.loss_event_rate;
        self.receive_rate = feedback.receive_rate;
        if let Some(packets) = &self.small_packets {
            self.payload_share = packets.payload_share();
        }
        let covered_data_limited = self.data_limit.covers(feedback.sent_at, self.round_trip());
        // A first report has X_recv = 0, which says nothing about the interval (RFC 5348 §4.3).
        let data_limited = covered_data_limited && feedback.receive_rate > Rate::ZERO;

        match self.config.standard {
            Standard::Rfc5348 => self.adapt_rfc5348(now, first, data_limited, p_rose),
            Standard::Rfc3448 => self.adapt_rfc3448(now, first),
        }
        self.restart_timer(now);
        self.set_pace();
        Trace::Feedback {
            allowed_rate: self.allowed_rate(),
            instantaneous_rate: self.instantaneous_rate(),
            bound: self.bound,
            rtt: self.round_trip().into(),
            rtt_sample: sample.into(),
            sent_at: feedback.sent_at,
            receive_rate: self.receive_rate,
            loss_event_rate: self.p,
            data_limited,
        }
    }

    /// Sets the initial rate by a round-trip time from elsewhere, before the first report (RFC 5348 §4.2). The
    /// sample has no other effect: the first report measures anew, and a later sample changes nothing.
    pub fn handle_round_trip(&mut self, now: Instant, sample: Duration) {
        if self.is_reported || self.rtt.smoothed().is_some() {
            return;
        }
        self.rtt.update(sample.max(MIN_RTT).into());
        match self.config.standard {
            Standard::Rfc5348 => self.set_rate(self.initial_rate(), Bound::Initial),
            Standard::Rfc3448 => self.set_rate(self.packet_per_round_trip(), Bound::Initial),
        }
        self.restart_timer(now);
        self.set_pace();
    }

    /// Handles the nofeedback timer if it has expired (RFC 5348 §4.4).
    pub fn handle_timeout(&mut self, now: Instant) -> Option<Trace> {
        if now < self.nofeedback {
            return None;
        }
        let branch = match self.config.standard {
            Standard::Rfc5348 => self.expire_rfc5348(now),
            Standard::Rfc3448 => self.expire_rfc3448(now),
        };
        self.restart_timer(now);
        self.set_pace();
        Some(Trace::NoFeedback {
            branch,
            allowed_rate: self.allowed_rate(),
            interval: self.nofeedback.saturating_since(now),
        })
    }

    /// Returns when the nofeedback timer expires (RFC 5348 §4.4): [`Sender::handle_timeout`] is due then.
    pub fn poll_timeout(&self) -> Instant {
        self.nofeedback
    }

    /// Returns when the next packet may leave; a time up to `now` means at once (RFC 5348 §4.6).
    #[inline]
    pub fn next_departure(&self, now: Instant) -> Instant {
        let departure = self.pacer.next_departure(now);
        match &self.small_packets {
            None => departure,
            Some(packets) => departure.max(packets.next_departure()),
        }
    }

    /// Records that a packet of this size left at `now`, whether or not it was due. An empty packet would be free,
    /// so a caller that sends empty packets counts their headers.
    #[inline]
    pub fn handle_sent(&mut self, now: Instant, size: Bytes) {
        self.sent_since_timer = true;
        if self.pacer.handle_sent(now, size) {
            self.data_limit.handle_permission_used(now);
        }
        if let Some(packets) = &mut self.small_packets {
            packets.handle_sent(now, size, self.p);
        }
    }

    /// Limits [`Sender::allowed_rate`] to the rate that the application can use; [`Rate::INFINITY`] removes the
    /// limit.
    ///
    /// A sender may always send less than the allowed rate. A sender that states its limit in advance is paced
    /// accordingly: its data leaves evenly instead of in bursts that only its own queue on the path would smooth.
    pub fn set_ceiling(&mut self, ceiling: Rate) {
        let with_headers = ceiling / self.payload_share;
        self.ceiling = with_headers.min(MAX_RATE).max(self.floor);
        if self.allowed > self.ceiling {
            (self.allowed, self.bound) = (self.ceiling, Bound::Application);
            self.set_pace();
        }
    }

    /// Holds X and X_inst to a rate that other reports than feedback support, until the next call.
    pub fn hold(&mut self, held: Rate) {
        self.held = (held / self.payload_share).min(MAX_RATE).max(self.floor);
        self.set_rate(self.allowed, self.bound);
        self.set_pace();
    }

    /// Returns X, the allowed rate: between s/64 and 10¹² bytes a second (RFC 5348 §4.3), less the share of headers
    /// where they count ([`SenderConfig::small_packets`]).
    pub fn allowed_rate(&self) -> Rate {
        self.allowed * self.payload_share
    }

    /// Returns X_inst, the rate of departures: X reduced while the queue on the path grows (RFC 5348 §4.5). X_inst
    /// has the same bounds as X.
    pub const fn instantaneous_rate(&self) -> Rate {
        self.pacer.rate()
    }

    /// Returns which bound has held the allowed rate since the last decision.
    pub const fn bound(&self) -> Bound {
        self.bound
    }

    /// Returns R, the smoothed round-trip time; `None` before the first report (RFC 5348 §4.3) or
    /// [`Sender::handle_round_trip`].
    pub fn rtt(&self) -> Option<Duration> {
        self.rtt.smoothed().map(Duration::from)
    }

    /// Returns p, the loss event rate as last reported; zero before the first report.
    pub const fn loss_event_rate(&self) -> LossEventRate {
        self.p
    }

    /// Returns X_recv, the receive rate as last reported; zero before the first report.
    pub const fn receive_rate(&self) -> Rate {
        self.receive_rate
    }

    /// Returns s, the size of a full packet ([`SenderConfig::segment_size`]).
    pub const fn segment_size(&self) -> Bytes {
        self.config.segment_size
    }

    fn round_trip(&self) -> Nanos {
        let before_any = FIRST_NOFEEDBACK.into();
        self.rtt.smoothed().unwrap_or(before_any)
    }

    /// Returns X_Bps.
    fn equation_rate(&self) -> Rate {
        let second = Duration::from_secs(1);
        match self.config.retransmission_timeout {
            RetransmissionTimeout::FourRoundTrips => {
                equation::rate(self.segment_size(), self.round_trip().into(), self.p)
            }
            RetransmissionTimeout::AtLeastASecond => {
                let rtt = Duration::from(self.round_trip());
                self.equation_rate_with(second.max(4 * rtt))
            }
            RetransmissionTimeout::Rfc6298 => {
                self.equation_rate_with(self.rtt.timeout().max(second))
            }
        }
    }

    /// Returns X_Bps with another t_RTO.
    #[inline(never)]
    fn equation_rate_with(&self, timeout: Duration) -> Rate {
        let rtt = self.round_trip().into();
        equation::rate_with_timeout(self.segment_size(), rtt, timeout, self.p)
    }

    /// Returns X_recv, including headers where they count.
    fn received(&self) -> Rate {
        self.receive_rate / self.payload_share
    }

    /// Sets X = max(min(X_Bps, limit), s/t_mbi).
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

    /// Sets X = max(min(2X, limit), initial).
    fn slow_start(&mut self, limit: Rate, initial: Rate) {
        let doubled = self.allowed * 2.0;
        let bound = if doubled <= limit {
            Bound::SlowStart
        } else {
            Bound::ReceiveRate
        };
        if doubled.min(limit) < initial {
            self.set_rate(initial, Bound::Initial);
        } else {
            self.set_rate(doubled.min(limit), bound);
        }
    }

    fn set_rate(&mut self, rate: Rate, bound: Bound) {
        let floor = self.floor;
        (self.allowed, self.bound) = if rate > self.held && self.held < self.ceiling {
            (self.held, Bound::ReceiveRate)
        } else if rate > self.ceiling {
            (self.ceiling, Bound::Application)
        } else if rate > floor {
            (rate, bound)
        } else {
            (floor, Bound::Floor)
        };
    }

    /// Passes X_inst and R to the pacer and to the data-limited rules, which need them for every packet.
    fn set_pace(&mut self) {
        let rate = if self.config.oscillation_reduction {
            let rate = (self.allowed * self.rtt.oscillation_factor()).min(self.held);
            let floor = match self.config.standard {
                Standard::Rfc5348 => self.floor,
                // RFC 3448 §4.5 has no floor.
                Standard::Rfc3448 => Rate::ZERO,
            };
            rate.max(floor).min(MAX_RATE)
        } else {
            self.allowed
        };
        let rate = rate * self.payload_share;
        self.pacer.set_pace(rate, self.rtt.smoothed());
        self.data_limit.set_round_trip(self.round_trip());
    }

    /// Restarts the nofeedback timer at max(4R, 2s/X) (RFC 5348 §4.3 step 3), or at the host's floor if that is
    /// longer.
    fn restart_timer(&mut self, now: Instant) {
        // This is exactly 2s/X: the floor is s over a power of two, and s needs no conversion.
        let two_packets = Nanos::from_secs(self.floor / self.allowed * (2.0 * MAX_BACKOFF));
        let interval = (self.rtt.smoothed().unwrap_or(Nanos::ZERO) * 4)
            .max(two_packets)
            .max(self.min_nofeedback);
        self.nofeedback = now + interval;
        self.sent_since_timer = false;
    }
}

#[cfg(test)]
mod tests;
