//! What a receiver inherits from the one before it at the same host, which it may be under another name: its lies, what
//! the path bore, and whether it keeps marks.

use std::net::IpAddr;

use tfrc::equation;
use tfrc::loss::{MAX_PAST, Past};
use tfrc::time::{Duration, Instant};
use tfrc::units::{LossEventRate, Rate};
use tfrc::{ReceiverConfig, Suspicions};

use super::super::event::Lie;
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
    /// By what a receiver there was caught.
    pub(super) lie: Option<Lie>,
    /// Marks of ours do not come back from there.
    pub(super) loses_marks: bool,
    /// What is counted before it comes to that.
    pub(super) suspicions: Suspicions,
    /// The least R that a reception report may tell for the initial rate; without it none counts.
    pub(super) least_told: Option<Duration>,
    /// Loss intervals of the receivers before the present one.
    past: Past,
    /// When feedback last came.
    heard: Instant,
}

impl Known {
    /// Of a stranger's.
    pub(super) fn nothing() -> Self {
        Self {
            lie: None,
            loses_marks: false,
            suspicions: Suspicions::default(),
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
        if from != to {
            self.learn();
            self.hosts.keep(from, self.known);
            self.known = self.hosts.take(to).unwrap_or(Known::nothing());
            self.has_feedback = false;
            self.begin(now);
        } else if !self.has_caught_a_lie() {
            self.restart(now);
        }
    }

    /// Takes in what the receiver leaves that is about to be forgotten.
    pub(super) fn learn(&mut self) {
        self.known.suspicions = match &self.departures {
            Some(departures) => departures.suspicions(),
            None => self.receivable.suspicions(),
        };
        // What cannot be checked gives no second flight above what was checked: a receiver may go and come back as
        // often as it likes.
        if self.has_feedback {
            self.known.least_told = self.rtt();
        } else if self.reception.rtt().is_some() {
            self.known.least_told = None;
        }
        self.learn_path();
    }

    /// What it said of the path. That it stopped saying it is a loss event, as all is of which no report spoke (RFC 8888
    /// §5): who leaves when it misses a packet gains nothing by it.
    fn learn_path(&mut self) {
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
mod tests;
