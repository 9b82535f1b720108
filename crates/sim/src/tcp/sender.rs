//! The sending end: acknowledgements and time become segments.

mod next_packet;

use super::config::{Config, ConfigError, Variant};
use super::rto::Rto;
use super::scoreboard::{DUP_THRESH, Scoreboard};
use super::segment::{Ack, Connection, Segment};
use super::window::Window;
use tfrc::Ecn;
use tfrc::time::{Duration, Instant};
use tfrc::units::Bytes;

/// A sender that always has data until its flow ends.
#[derive(Clone, Debug)]
pub struct Sender {
    config: Config,
    board: Scoreboard,
    window: Window,
    rto: Rto,
    phase: Phase,
    /// When the retransmission timer expires.
    timer: Option<Instant>,
    /// The packet whose round trip is being measured, and when it was sent: one at a time, never one
    /// that was sent again (Karn).
    timed: Option<(u64, Instant)>,
    /// Duplicate acknowledgements since the last new one.
    dup_acks: u64,
    /// No recovery starts before all that had been sent when the last one did is acknowledged (RFC
    /// 6582 §3.2 `recover`, RFC 6675 RecoveryPoint): one more than the highest packet then.
    recover: Option<u64>,
    /// The first packet that is not acknowledged is to be sent again, whatever the window.
    resend_first: bool,
    /// The window, not the data or the receiver, kept the last packet from leaving: only then does it
    /// grow (RFC 9438 §5.8).
    window_limited: bool,
    /// The packet whose timeout set the threshold: its further ones do not (RFC 5681 §3.1).
    timed_out: Option<u64>,
    /// The next new packet tells that the window was reduced (RFC 3168 §6.1.2).
    cwr: bool,
    /// Marks are not heeded before this packet is acknowledged: once a window (RFC 3168 §6.1.2).
    reduced_at: Option<u64>,
    counters: Counters,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nothing is known to be lost.
    Open,
    /// Fast recovery.
    Recovery {
        /// A partial acknowledgement has restarted the timer: no other does (RFC 6582 §3.2, step 3).
        timer_held: bool,
        /// The one retransmission that keeps the timer from expiring is spent (RFC 6675 NextSeg, 4).
        rescued: bool,
    },
    /// All that had been sent is taken for lost, and sent again from one packet a window on: after a
    /// timeout, and at once with Tahoe.
    Loss,
}

/// What a sender did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets sent, again or not.
    pub sent: u64,
    /// Packets sent again.
    pub resent: u64,
    /// Losses found by duplicate acknowledgements.
    pub fast_retransmits: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Windows reduced for a mark.
    pub ecn_reductions: u64,
}

impl Sender {
    /// A sender whose first packets are ready: the handshake is over.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            config: config.clone(),
            board: Scoreboard::default(),
            window: Window::new(config),
            rto: Rto::new(config.initial_rto, config.min_rto, config.clock_granularity),
            phase: Phase::Open,
            timer: None,
            timed: None,
            dup_acks: 0,
            recover: None,
            resend_first: false,
            window_limited: false,
            timed_out: None,
            cwr: false,
            reduced_at: None,
            counters: Counters::default(),
        })
    }

    /// An acknowledgement arrived. One of what was never sent is ignored, and so is one that is older
    /// than another that has arrived.
    pub fn handle_ack(&mut self, now: Instant, ack: Ack) {
        if ack.next < self.board.una() || ack.next > self.board.next() {
            return;
        }
        let acked = self.board.advance(ack.next);
        let sack = self.config.variant.uses_sack();
        let sacked_new = sack && self.board.sack(&ack);
        if let Some((packet, sent)) = self.timed
            && packet < self.board.una()
        {
            self.rto.sample(sent, now);
            self.timed = None;
        }
        if acked > 0 {
            if self.config.ends_backoff {
                self.rto.end_backoff();
            }
            self.on_new_ack(now, acked, ack.ece);
        } else if self.board.outstanding() > 0 && (sacked_new || !sack) {
            self.on_dup_ack();
        }
        if self.phase == Phase::Open && self.sees_loss() {
            self.start_recovery(now);
        } else if ack.ece && self.phase == Phase::Open && self.config.ecn {
            self.on_ecn_echo();
        }
    }

    /// The instant that [`poll_timeout`](Self::poll_timeout) gave has come. Harmless if early.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.timer.is_none_or(|at| at > now) {
            return;
        }
        self.counters.timeouts += 1;
        let una = self.board.una();
        if self.timed_out != Some(una) {
            self.on_loss();
            self.timed_out = Some(una);
        }
        self.rto.back_off();
        self.window.on_timeout();
        self.resend_all();
        self.timer = Some(self.rto.expiry(now));
    }

    /// The next segment that leaves now.
    // Called, this and `segment` would leave it in memory piece by piece, to be read as a whole at once, for
    // which a processor waits.
    #[inline(always)]
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Segment> {
        let (packet, is_resent) = self.next_packet()?;
        Some(self.segment(now, packet, is_resent))
    }

    /// When to call [`handle_timeout`](Self::handle_timeout): when the retransmission timer expires.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.timer
    }

    /// The congestion window in packets, at least 1; in fast recovery without SACK it counts the
    /// packets that left the network too.
    pub fn cwnd(&self) -> f64 {
        self.window.cwnd()
    }

    /// The slow-start threshold in packets; infinite before the first congestion.
    pub fn ssthresh(&self) -> f64 {
        self.window.ssthresh()
    }

    /// Packets thought to be in the network.
    pub fn in_flight(&self) -> u64 {
        self.board.pipe()
    }

    /// The smoothed round-trip time.
    pub fn srtt(&self) -> Option<Duration> {
        self.rto.srtt()
    }

    /// Data that is acknowledged.
    pub fn acknowledged(&self) -> Bytes {
        self.config.data(self.board.una())
    }

    /// True when a flow of finite length is acknowledged in full.
    pub fn is_done(&self) -> bool {
        self.board.una() == self.config.packets()
    }

    /// What it did so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    fn on_new_ack(&mut self, now: Instant, acked: u64, ece: bool) {
        self.dup_acks = 0;
        self.resend_first = false;
        let passed = self
            .recover
            .is_none_or(|recover| self.board.una() >= recover);
        let mut restart = true;
        match &mut self.phase {
            Phase::Recovery { .. } if passed || self.config.variant == Variant::Reno => {
                self.phase = Phase::Open;
                let mut left = self.window.ssthresh();
                if self.config.variant == Variant::NewReno {
                    // RFC 6582 §3.2 step 3, option 1: no burst of what the inflated window allowed.
                    left = left.min(self.board.outstanding().max(1) as f64 + 1.0);
                }
                self.window.set(left);
            }
            Phase::Recovery { timer_held, .. } => {
                if self.config.variant == Variant::NewReno {
                    restart = !std::mem::replace(timer_held, true);
                    self.window.set(self.window.cwnd() - acked as f64 + 1.0);
                    self.resend_first = true;
                }
            }
            Phase::Loss | Phase::Open => {
                if passed {
                    self.phase = Phase::Open;
                }
                if self.window_limited && !(ece && self.config.ecn) {
                    self.window
                        .grow(now, acked, self.rto.srtt().unwrap_or_default());
                }
            }
        }
        if self.board.outstanding() == 0 {
            self.timer = None;
        } else if restart {
            self.timer = Some(self.rto.expiry(now));
        }
    }

    fn on_dup_ack(&mut self) {
        self.dup_acks += 1;
        // A packet has left the network, which without SACK only the window can tell.
        if matches!(self.phase, Phase::Recovery { .. }) && !self.config.variant.uses_sack() {
            self.window.set(self.window.cwnd() + 1.0);
        }
    }

    /// True if a recovery should start.
    fn sees_loss(&self) -> bool {
        let una = self.board.una();
        let sack = self.config.variant.uses_sack();
        // Without SACK strictly above: what was sent again without need causes duplicates of its own.
        let eligible = self
            .recover
            .is_none_or(|recover| una > recover || sack && una == recover);
        eligible && (self.dup_acks >= DUP_THRESH || self.board.first_is_lost())
    }

    fn start_recovery(&mut self, now: Instant) {
        self.counters.fast_retransmits += 1;
        self.on_loss();
        self.timer = Some(self.rto.expiry(now));
        let ssthresh = self.window.ssthresh();
        match self.config.variant {
            Variant::Tahoe => {
                self.window.set(1.0);
                self.resend_all();
                return;
            }
            // The three packets that the duplicates tell of have left the network.
            Variant::Reno | Variant::NewReno => self.window.set(ssthresh + DUP_THRESH as f64),
            Variant::Sack | Variant::Cubic | Variant::Binomial(_) => {
                self.window.set(ssthresh);
                self.board.restart();
            }
        }
        // Reno recovers again at once from a second loss of the same window.
        if self.config.variant != Variant::Reno {
            self.recover = Some(self.board.next());
        }
        self.phase = Phase::Recovery {
            timer_held: false,
            rescued: false,
        };
        self.resend_first = true;
        self.timed = None;
    }

    fn resend_all(&mut self) {
        self.board.lose_all();
        self.phase = Phase::Loss;
        self.recover = Some(self.board.next());
        self.resend_first = false;
        self.dup_acks = 0;
        self.timed = None;
    }

    /// Lowers the threshold after the loss of a packet.
    fn on_loss(&mut self) {
        // RFC 5681 §3.2 leaves out what limited transmit sent beyond the window.
        self.reduce((self.board.outstanding() as f64).min(self.window.cwnd()));
    }

    /// Lowers the threshold, and gives what is left of `flight`.
    fn reduce(&mut self, flight: f64) -> f64 {
        self.cwr = self.config.ecn;
        self.reduced_at = Some(self.board.next());
        self.window.on_congestion(flight)
    }

    fn on_ecn_echo(&mut self) {
        if self.reduced_at.is_none_or(|at| self.board.una() >= at) {
            self.counters.ecn_reductions += 1;
            // Down to one packet (RFC 9438 §4.6). RFC 3168 §6.1.2 would have that one wait for the
            // timer at the next mark, which stacks do not do.
            let left = self.reduce(self.window.cwnd());
            self.window.set(left);
        }
    }

    #[inline(always)]
    fn segment(&mut self, now: Instant, number: u64, is_resent: bool) -> Segment {
        self.counters.sent += 1;
        self.counters.resent += u64::from(is_resent);
        if self.timer.is_none() {
            self.timer = Some(self.rto.expiry(now));
        }
        // During fast recovery acknowledgements wait for what is missing, and would measure that.
        if !is_resent && self.timed.is_none() && !matches!(self.phase, Phase::Recovery { .. }) {
            self.timed = Some((number, now));
        }
        let data = self.config.data(number + 1) - self.config.data(number);
        Segment {
            number,
            size: data + self.config.header,
            // RFC 3168 §6.1.5: what is sent again is not offered for marking.
            ecn: if self.config.ecn && !is_resent {
                Ecn::Ect0
            } else {
                Ecn::NotEct
            },
            cwr: !is_resent && std::mem::take(&mut self.cwr),
            connection: Connection::default(),
        }
    }
}
