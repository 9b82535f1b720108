//! What a receiver inherits from the one before it at the same host, which it may be under another name: its lies, and
//! what the path bore.

use std::net::IpAddr;

use tfrc::ReceiverConfig;
use tfrc::equation;
use tfrc::loss::{MAX_PAST, Past};
use tfrc::sender::Receivable;
use tfrc::time::{Duration, Instant};
use tfrc::units::{LossEventRate, Rate};

use super::{Control, Outbound};

/// So long after the last feedback what it said of the path is out of date: five minutes, as RFC 7661 has it for a
/// congestion window that is not used. Who waits as long for another slow start (3/p packets) has less than one that stays
/// (1.2/√p a round trip), but where a path of 100 ms loses less than one packet in a million.
const MEMORY: Duration = Duration::from_secs(300);
/// No receiver makes the initial rate more than an initial window in this time, 3.5 Mb/s: what a reception
/// report says of its own delay cannot be checked.
const LEAST_TOLD_ROUND_TRIP: Duration = Duration::from_millis(10);

/// What is known of the host that the receiver is at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    /// A receiver there reported what was never sent.
    pub(super) has_lied: bool,
    /// The least R that a reception report may tell for the initial rate; without it none counts.
    pub(super) least_told: Option<Duration>,
    /// Loss intervals of the receivers before the present one.
    past: Past,
    /// When feedback last came.
    heard: Instant,
}

impl Known {
    /// Of a stranger's.
    pub(super) const fn nothing() -> Self {
        Self {
            has_lied: false,
            least_told: Some(LEAST_TOLD_ROUND_TRIP),
            past: Past::NONE,
            heard: Instant::ZERO,
        }
    }

    pub(super) fn handle_feedback(&mut self, now: Instant) {
        self.heard = now;
    }
}

impl Outbound {
    /// Another receiver takes over at the host `to`, where the last one was at `from`. One that was caught stays at the
    /// nofeedback rate.
    pub(in crate::session) fn replace_receiver(&mut self, now: Instant, from: IpAddr, to: IpAddr) {
        if from == to {
            // What cannot be checked gives no second flight above what was checked: a receiver may go and come
            // back as often as it likes.
            self.known.least_told = self.rtt().filter(|_| self.has_feedback);
            if self.known.has_lied {
                return;
            }
        } else {
            self.learn();
            self.hosts.keep(from, self.known);
            self.known = self.hosts.take(to).unwrap_or(Known::nothing());
            self.has_feedback = false;
            (self.departures, self.receivable) = (None, Receivable::default());
        }
        self.restart(now);
    }

    /// Takes in what the receiver said of the path that is about to be forgotten. That it stopped saying it is a loss
    /// event, as all is of which no report spoke (RFC 8888 §5): who leaves when it misses a packet gains nothing by it.
    pub(super) fn learn(&mut self) {
        let Control::Tfrc(sender) = &self.control else {
            return;
        };
        if !self.has_feedback || !self.config.verify {
            return;
        }
        if let Some(departures) = &self.departures {
            self.known.past = departures.receiver().past();
            return;
        }
        let told = self
            .last_echo
            .map_or(LossEventRate::ZERO, |(_, last)| last.p());
        self.known.past = if told > self.inherited() {
            Past::of(told, MAX_PAST)
        } else if self.known.past.is_empty() {
            // RFC 5348 §6.3.1, of the rate that was told last; the first report tells none.
            let rtt = sender.rtt().unwrap_or_default();
            let received = sender.receive_rate();
            let rate = if received > Rate::ZERO {
                received
            } else {
                sender.allowed_rate()
            };
            let p = equation::loss_event_rate(sender.segment_size(), rtt, rate);
            Past::of(p, 1)
        } else {
            self.known.past.and(self.reported)
        };
    }

    /// Forgets what is out of date.
    pub(super) fn forget(&mut self, now: Instant) {
        if now.saturating_since(self.known.heard) > MEMORY {
            self.known.past = Past::NONE;
        }
    }

    /// True if the path is known from an earlier receiver.
    pub(super) const fn has_past(&self) -> bool {
        !self.known.past.is_empty()
    }

    /// How p is computed here for the present receiver.
    pub(super) fn estimator(&self) -> ReceiverConfig {
        ReceiverConfig {
            past: self.known.past,
            ..self.config.estimator.clone()
        }
    }

    /// The least p that is believed of a receiver that computes it: what the ones before it left, as long as it has not
    /// outlived that.
    pub(super) fn inherited(&self) -> LossEventRate {
        if !self.has_past() {
            return LossEventRate::ZERO;
        }
        self.known.past.loss_event_rate(self.reported)
    }

    /// A report came about what left a round trip ago: of what is under way nobody knows yet.
    pub(super) fn note_reported(&mut self) {
        let path = self.path();
        let under_way = path.allowed_rate * path.rtt.unwrap_or_default();
        let under_way = under_way.get() / self.config.packet_size.get().max(1);
        let sent = u64::from(self.transport.wrapping_sub(self.first));
        self.reported = self.reported.max(sent.saturating_sub(under_way));
    }
}

#[cfg(test)]
mod tests {
    use tfrc::units::Bytes;

    use super::super::super::config::SendConfig;
    use super::super::super::random::Random;
    use super::*;
    use crate::rtcp::TfrcFeedback;

    const A: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const B: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));
    const RTT: Duration = Duration::from_millis(100);

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    /// A sender that has heard this p.
    fn told(p: f64) -> Outbound {
        let config = SendConfig::new(96);
        let mut outbound = Outbound::new(at(0), config, false, &mut Random::new(1, "a"));
        send(&mut outbound, at(1_000));
        tell(&mut outbound, at(1_000), p);
        outbound
    }

    fn send(outbound: &mut Outbound, now: Instant) {
        outbound.handle_sent(now, 1_200, 1_100, true);
    }

    fn tell(outbound: &mut Outbound, sent_at: Instant, p: f64) {
        let rate = Rate::from_bits_per_sec(1e6);
        let timestamp = sent_at.as_micros() as u32;
        let feedback = TfrcFeedback::new(timestamp, Duration::ZERO, rate, LossEventRate::new(p));
        let now = sent_at + RTT;
        outbound
            .handle_feedback(now, now, feedback)
            .expect("it is believed");
    }

    #[test]
    fn another_host_begins_clean_and_the_first_finds_what_it_left() {
        let mut outbound = told(0.01);
        outbound.replace_receiver(at(2_000), A, B);
        assert!(!outbound.has_past());
        outbound.replace_receiver(at(3_000), B, A);
        let p = outbound.inherited().get();
        assert!((p / 0.01 - 1.0).abs() < 1e-3, "{p}");
    }

    #[test]
    fn a_lie_stays_with_its_host() {
        let mut outbound = told(0.01);
        outbound.note_lie(at(2_000));
        outbound.replace_receiver(at(2_000), A, B);
        assert!(!outbound.has_caught_a_lie());
        outbound.replace_receiver(at(3_000), B, A);
        assert!(outbound.has_caught_a_lie());
    }

    #[test]
    fn a_receiver_that_computes_p_is_believed_no_less_than_was_known_before_it() {
        let mut outbound = told(0.01);
        outbound.replace_receiver(at(2_000), A, A);
        send(&mut outbound, at(2_000));
        tell(&mut outbound, at(2_000), 0.0);
        let p = outbound.path().loss_event_rate.get();
        assert!((p / 0.01 - 1.0).abs() < 1e-3, "{p}");
        send(&mut outbound, at(2_200));
        tell(&mut outbound, at(2_200), 0.02);
        assert!(outbound.path().loss_event_rate.get() > 0.019);
    }

    /// The path bore a megabit a second when the receiver left that had told of no loss.
    #[test]
    fn who_left_without_a_loss_comes_back_to_the_rate_that_it_had() {
        let mut outbound = told(0.0);
        outbound.replace_receiver(at(2_000), A, A);
        let p = outbound.inherited();
        let rate = equation::rate(Bytes::new(1_200), RTT, p).bits_per_sec();
        assert!((rate / 1e6 - 1.0).abs() < 1e-3, "{rate}");
    }

    #[test]
    fn nobody_inherits_from_one_that_never_reported() {
        let mut outbound = told(0.0);
        for ms in [2_000, 3_000, 4_000] {
            outbound.replace_receiver(at(ms), A, A);
        }
        assert_eq!(outbound.known.past.and(1), {
            let mut once = told(0.0);
            once.replace_receiver(at(2_000), A, A);
            once.known.past.and(1)
        });
    }

    #[test]
    fn a_sender_that_believes_inherits_nothing() {
        let mut outbound = told(0.01);
        outbound.config.verify = false;
        outbound.replace_receiver(at(2_000), A, A);
        assert!(!outbound.has_past());
    }
}
